//! What would make a comparison unfair, and how the result tells it: a generator at its limit, more
//! workers for one than for another, loads that count though they should not, unequal bytes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bench::{Bench, HELLO, Outcome, contender};

/// A scenario in which every answer is right.
const ANY: &str = "[[scenario]]\nname = \"any\"\nanswer = {}\nconnections = { test = [4] }\n";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn a_generator_at_its_limit_is_told_and_nobody_wins() {
    // Random bytes cost the generator more than reading them costs a server that does nothing else.
    let costly = ANY.replace("answer", "method = \"POST\"\nbody = \"{rand:65536}\"\nanswer");
    let exe = env!("CARGO_BIN_EXE_loadgen");
    let server = |name: &str| {
        format!(
            "[[contender]]\nname = {name:?}\nscenarios = [\"any\"]\ncommand = [{exe:?}, \
             \"null-server\", \"--port\", \"{{port}}\", \"--response-bytes\", \"12\"]\n"
        )
    };
    let bench = Bench::new(&[&costly, &server("one"), &server("other")]);
    let outcome = bench.compare(&["--trials", "3", "-c", "16"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for trial in outcome.result()["trials"].as_array().unwrap() {
        let load = &trial["load"];
        let cpu = number(&load["generator_cpu_user_s"]) + number(&load["generator_cpu_system_s"]);
        assert!(cpu > 0.0 && number(&load["generator_busy_fraction"]) > 0.0, "{load}");
        assert!(number(&trial["generator_ceiling_per_s"]) > 0.0, "{trial}");
    }
    for name in ["one", "other"] {
        let cell = outcome.cell(name);
        let (verdict, reason) = (&cell["verdict"], outcome.reason(name));
        // The tests beside this one may take the CPUs, but it is never the server's limit.
        assert!(*verdict == "client-bound" || *verdict == "host-noisy", "{cell}");
        assert_eq!(cell["rank"], Value::Null, "{cell}");
        if *verdict == "client-bound" {
            assert!(reason.contains("the generator was "), "{reason}");
            assert!(reason.contains("give the generator more cores"), "{reason}");
            let note = format!("{name} at 16 connections: client-bound: {reason}");
            assert!(outcome.stdout.contains(&note), "{note}: {outcome:?}");
        }
    }
}

#[test]
fn the_number_of_workers_is_equal_measured_and_printed() {
    let of = |name: &str, mode: &str| contender(name, "hello", &[("MODE", mode), ("SPIN_MS", "1")]);
    let suite = [HELLO, &of("cluster", "cluster"), &of("single", "right")].concat();
    // Unasked, everybody has one.
    let bench = Bench::new(&[&suite]);
    let outcome = bench.compare(&["--duration", "500ms", "-c", "32"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for name in ["cluster", "single"] {
        assert_eq!(outcome.cell(name)["working_threads"], 1, "{}", outcome.cell(name));
    }
    assert!(!outcome.result()["warnings"].to_string().contains("worker(s)"), "{outcome:?}");
    let bench = Bench::new(&[&suite]);
    let outcome = bench.compare(&["--duration", "500ms", "-c", "32", "--workers", "2"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(outcome.cell("cluster")["working_threads"], 2, "{}", outcome.cell("cluster"));
    assert_eq!(outcome.cell("single")["working_threads"], 1, "{}", outcome.cell("single"));
    let sentence = "hello: asked for 2 worker(s), threads that did the work: 1 single; 2 cluster";
    assert!(outcome.stdout.contains(sentence), "{outcome:?}");
    assert!(outcome.report().contains(sentence), "{}", outcome.report());
}

/// How many requests the contender answered in all, to ten.
fn answered(bench: &Bench) -> u64 {
    let notes = bench.notes();
    let counts = notes.lines().filter_map(|line| line.strip_prefix("answered ")?.parse().ok());
    counts.max().unwrap_or_default()
}

#[test]
fn requests_of_the_warm_up_count_nowhere() {
    let counted = format!("{HELLO}requests = {{ test = 400 }}\n");
    let measured = |warmup: &str| {
        let stub = contender("one", "hello", &[("COUNT", "1"), ("NOTES", "{notes}")]);
        let bench = Bench::new(&[&counted, &stub]);
        let outcome = bench.compare(&["--warmup", warmup]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let load = outcome.result()["trials"][0]["load"].clone();
        let requests = &load["requests"];
        assert_eq!((&requests["sent"], &requests["completed"]), (&400.into(), &400.into()));
        assert_eq!(
            (&load["status"]["200"], &outcome.cell("one")["requests"]),
            (&400.into(), &400.into())
        );
        assert_eq!(load["service_time_us"]["count"], 400, "{load}");
        answered(&bench)
    };
    let (cold, warm) = (measured("0s"), measured("1s"));
    // A few more than 400: it was asked before and after, too.
    assert!((400..450).contains(&cold), "{cold}");
    assert!(warm >= 450, "the warm-up was not sent: {warm}");
}

#[test]
fn the_same_contender_twice_has_no_winner_without_warm_up_either() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[("DELAY_MS", "5")])]);
    let outcome =
        bench.compare(&["--aa", "--trials", "5", "--warmup", "0s", "--duration", "500ms"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let (one, again) = (outcome.cell("one"), outcome.cell("one-again"));
    let unranked = one["rank"].is_null() || again["rank"].is_null();
    assert!(unranked || one["rank"] == again["rank"], "a winner: {one} {again}");
    for cell in [&one, &again] {
        let interval = &cell["rate_interval"];
        assert!(number(&interval["low"]) <= number(&interval["high"]), "{cell}");
    }
    let shown = outcome.stdout.lines().find(|line| line.trim_start().starts_with("one-again "));
    assert!(shown.is_some_and(|line| line.contains('±')), "the spread is shown: {outcome:?}");
}

/// Header names that the contender was sent.
fn headers_sent(bench: &Bench) -> BTreeSet<String> {
    let notes = bench.notes();
    notes.lines().filter_map(|line| Some(line.strip_prefix("header ")?.to_owned())).collect()
}

fn shape(outcome: &Outcome, contender: &str) -> Value {
    let trials = outcome.result()["trials"].as_array().expect("trials").clone();
    let found = trials.into_iter().find(|trial| trial["contender"] == contender);
    found.map_or(Value::Null, |trial| trial["answer"].clone())
}

#[test]
fn unequal_bytes_are_told_and_no_encoding_is_asked_for() {
    let picture = "[[scenario]]\nname = \"picture\"\npath = \"/picture\"\n\
        answer = { media_type = \"image/png\", content = { file = \"{data}/logo.png\" } }\n";
    let file = ("PICTURE", "{data}/logo.png");
    let bench = Bench::new(&[
        ANY,
        picture,
        &contender("plain", "any", &[("NOTE_HEADERS", "1"), ("NOTES", "{notes}")]),
        &contender("packed", "any", &[("MODE", "gzip")]),
        &contender("packed-picture", "picture", &[("MODE", "gzip"), file]),
    ]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    let (plain, packed) = (shape(&outcome, "plain"), shape(&outcome, "packed"));
    assert_eq!(plain["headers"], serde_json::json!(["content-length", "content-type", "date"]));
    assert!(packed["headers"].to_string().contains("content-encoding"), "{packed}");
    for bytes in ["head_bytes", "body_bytes"] {
        assert_ne!(number(&plain[bytes]), number(&packed[bytes]), "{bytes}");
    }
    for warning in [
        "any/packed: Content-Encoding gzip, which was not asked for",
        "any: response heads differ in size: ",
    ] {
        assert!(outcome.stdout.contains(warning), "{warning}: {outcome:?}");
    }
    let reason = outcome.reason("packed-picture");
    assert!(reason.contains("body differs at byte") || reason.contains("bytes, not"), "{reason}");
    let sent = headers_sent(&bench);
    assert!(sent.contains("host") && !sent.contains("accept-encoding"), "{sent:?}");
}
