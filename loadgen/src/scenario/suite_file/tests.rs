//! Suites in TOML: what is read, and what is refused where.

use super::*;
use crate::scenario::Contender;

fn message(text: &str) -> String {
    parse("my.toml", text, Path::new(".")).unwrap_err().to_string()
}

const HELLO: &str = "[[scenario]]\nname = \"hello\"\nanswer = { content = { text = \"hi\" } }\n";

#[test]
fn the_built_in_suite_has_every_scenario_and_its_ceiling() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("data");
    let suite = Suite::load(None, &data).unwrap();
    let names: Vec<&str> = suite.scenarios.iter().map(|s| s.name.as_str()).collect();
    assert!(names.starts_with(&["hello", "https", "json", "png", "qr", "fib"]));
    for name in names {
        let plays = |c: &&Contender| c.name == suite.ceiling && c.scenarios.contains(&name.into());
        assert_eq!(suite.contenders.iter().filter(plays).count(), 1, "{name}");
    }
    let uploaded: Vec<u64> = suite.scenarios.iter().filter_map(Scenario::uploaded_bytes).collect();
    assert_eq!(uploaded, server_kit::data::UPLOAD_SIZES);
}

#[test]
fn a_contender_of_any_language_is_six_lines() {
    let text = format!(
        "{HELLO}[[contender]]\nname = \"python\"\nscenarios = [\"hello\"]\n\
         command = [\"/usr/bin/python3\", \"hello.py\", \"--port={{port}}\"]\n"
    );
    let suite = parse("my.toml", &text, Path::new(".")).unwrap();
    assert_eq!(suite.contenders[0].command[2], "--port={port}");
    assert_eq!(suite.scenarios[0].connections_in("quick"), [50]);
    assert_eq!(suite.profiles["smoke"].trials, 1);
}

#[test]
fn errors_point_at_their_line() {
    assert!(message("[[scenario]\n").starts_with("my.toml:1: "));
    let unknown_key = message(&format!("{HELLO}nmae = \"x\"\n"));
    assert!(unknown_key.starts_with("my.toml:4: unknown field `nmae`"), "{unknown_key}");
    let unknown_scenario = message(&format!(
        "{HELLO}[[contender]]\nname = \"a\"\nscenarios = [\"helo\"]\ncommand = [\"a\"]\n"
    ));
    assert_eq!(unknown_scenario, "my.toml:6: no scenario \"helo\"; there are: hello");
    let placeholder = message(&format!(
        "{HELLO}[[contender]]\nname = \"a\"\nscenarios = [\"hello\"]\ncommand = [\"{{nod}}\"]\n"
    ));
    assert!(placeholder.starts_with("my.toml:7: no placeholder {nod}; there are: bun,"));
    let shorter = "trials = 1\nwarmup = \"2s\"\nwarmup_max = \"1s\"\nduration = \"1s\"\n";
    let shorter = message(&format!("[profiles.mine]\n{shorter}"));
    assert_eq!(shorter, "my.toml:4: warmup_max must not be shorter than warmup");
    let time = message("[profiles.mine]\ntrials = 1\nwarmup = \"1h30\"\nduration = \"1s\"\n");
    assert!(time.starts_with("my.toml:3: "), "{time}");
}

#[test]
fn a_request_that_cannot_be_sent_is_refused_at_its_line() {
    for (line, words) in [
        ("path = \"/a b\"", "path \"/a b\" holds ' '"),
        ("path = \"/{rand:0}\"", "{rand:0} at byte 1 is not a placeholder"),
        ("body = \"{rand:99999999999}\"", "is not a placeholder"),
        ("method = \"GET /\"", "expected a method"),
        ("headers = { \"a b\" = \"c\" }", "\"a b\" is not a header name"),
        ("headers = { A = \"b\\r\\nC: d\" }", "the value of header A holds '\\r'"),
        ("headers = { content-length = \"5\" }", "follows from the body"),
    ] {
        let text = message(&format!("{HELLO}{line}\n"));
        assert!(text.starts_with("my.toml:4: ") && text.contains(words), "{text}");
    }
}

#[test]
fn the_same_name_twice_is_refused() {
    let contender = "[[contender]]\nname = \"a\"\nscenarios = [\"hello\"]\ncommand = [\"a\"]\n";
    let text = message(&format!("{HELLO}{contender}{contender}"));
    assert_eq!(text, "my.toml:9: contender \"a\" is there twice in scenario \"hello\"");
    assert!(message(&format!("{HELLO}{HELLO}")).contains("scenario \"hello\" is there twice"));
}

#[test]
fn what_makes_no_sense_for_clients_is_refused() {
    let client = "[[scenario]]\nname = \"up\"\nrole = \"client\"\nanswer = { status = 204 }\n";
    let needs = "my.toml:2: a scenario with role = \"client\" needs upload_bytes: ";
    assert!(message(client).starts_with(needs));
    let whole = format!("{client}upload_bytes = 1095\n");
    assert!(message(&format!("{whole}tls = true\n")).contains("cannot have tls"));
    let counted = message(&format!("{whole}requests = {{ quick = 5 }}\n"));
    assert!(counted.contains("its window is a time"), "{counted}");
    assert!(message(&format!("{whole}connections = {{ a = [1] }}\n")).contains("opens its own"));
    let contender = "[[contender]]\nname = \"a\"\ncommand = [\"a\"]\nsink = [\"--x\"]\n";
    let server = message(&format!("{HELLO}{contender}scenarios = [\"hello\"]\n"));
    assert_eq!(server, "my.toml:7: sink is for scenarios with role = \"client\"");
    let text = format!("{whole}{contender}scenarios = [\"up\"]\n");
    let suite = parse("my.toml", &text, Path::new(".")).unwrap();
    assert_eq!(suite.scenarios[0].connections_in("quick"), [1]);
    assert_eq!(suite.contenders[0].sink, ["--x"]);
}
