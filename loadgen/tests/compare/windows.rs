//! Windows by count and by time, profiles that leave things out, quotas of a scenario, and `--scale`.

use serde_json::Value;

use crate::bench::{Bench, HELLO, contender};

/// A scenario of this name with more keys.
fn scenario(name: &str, keys: &str) -> String {
    format!("{}{keys}\n", HELLO.replace("\"hello\"", &format!("{name:?}")))
}

fn trial<'a>(result: &'a Value, scenario: &str, contender: &str) -> &'a Value {
    let trials = result["trials"].as_array().expect("trials");
    let found = trials.iter().find(|t| t["scenario"] == scenario && t["contender"] == contender);
    found.unwrap_or_else(|| panic!("no trial of {scenario}/{contender}: {trials:?}"))
}

#[test]
fn a_window_by_count_sends_exactly_so_many_requests() {
    let own = contender("few", "hello", &[]) + "requests = { test = 30 }\n";
    let bench = Bench::new(&[
        &scenario("hello", "requests = { test = 400 }\ntypical_rate = 1000"),
        &scenario("timed", "duration = { test = \"300ms\" }"),
        &contender("one", "hello", &[]),
        &own,
        &contender("one", "timed", &[]),
    ]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    for (name, sent) in [("one", 400), ("few", 30)] {
        let requests = &trial(&result, "hello", name)["load"]["requests"];
        assert_eq!((&requests["sent"], &requests["completed"]), (&sent.into(), &sent.into()));
    }
    let elapsed = trial(&result, "timed", "one")["load"]["elapsed_s"].as_f64().unwrap();
    assert!(elapsed >= 0.3, "{elapsed}");
    let windows = result["manifest"]["windows"].as_array().unwrap();
    let timed = windows.iter().find(|window| window["scenario"] == "timed").unwrap();
    assert_eq!(timed["duration_s"], 0.3, "not the profile's 600 ms");
    assert_eq!((windows.len(), &windows[0]["duration_s"]), (3, &0.4.into()), "{windows:?}");
    assert!(outcome.stdout.contains("hello: 400 requests (few 30 requests)"), "{outcome:?}");
    assert!(outcome.report().contains("Each trial: 0.3 s."), "{}", outcome.report());
}

#[test]
fn a_scaled_run_is_shorter_and_says_so() {
    let bench = Bench::new(&[
        &scenario("hello", "requests = { test = 5000 }"),
        &contender("one", "hello", &[]),
    ]);
    let outcome = bench.compare(&["--scale", "0.01"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    assert_eq!(result["manifest"]["scale"], 0.01);
    assert_eq!(trial(&result, "hello", "one")["load"]["requests"]["sent"], 50);
    let sentence = "Scaled: numbers of requests and lengths are 1.00 % of the profile's.";
    assert!(outcome.stdout.contains(sentence), "{outcome:?}");
    assert!(outcome.report().contains(sentence));
    let page = std::fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(page.contains(sentence));
    let refused = bench.compare(&["--scale", "0.5", "--duration", "1s"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
}

#[test]
fn what_belongs_to_another_profile_is_measured_only_when_named() {
    let other = "[profiles.other]\ntrials = 1\nwarmup = \"50ms\"\nduration = \"1h\"\n";
    let control = contender("control", "hello", &[]) + "profiles = [\"other\"]\n";
    let bench = Bench::new(&[
        other,
        &scenario("hello", ""),
        &scenario("rare", "profiles = [\"other\"]"),
        &contender("one", "hello", &[]),
        &contender("one", "rare", &[]),
        &control,
    ]);
    let names = |arguments: &[&str]| {
        let _ = std::fs::remove_dir_all(bench.out());
        let outcome = bench.compare(arguments);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let cells = outcome.result()["cells"].as_array().unwrap().clone();
        let name = |cell: &Value| {
            let part = |key: &str| cell[key].as_str().unwrap().to_owned();
            format!("{}/{}", part("scenario"), part("contender"))
        };
        cells.iter().map(name).collect::<Vec<String>>()
    };
    assert_eq!(names(&[]), ["hello/one"]);
    assert_eq!(names(&["--contender", "control"]), ["hello/control"]);
    assert_eq!(names(&["--scenario", "rare"]), ["rare/one"]);
    let listing: Value = serde_json::from_str(&bench.list(&["--format", "json"]).stdout).unwrap();
    let profiles = listing["profiles"].as_array().unwrap();
    let of = |name: &str| profiles.iter().find(|p| p["name"] == name).unwrap();
    assert_eq!((&of("test")["cells"], &of("other")["cells"]), (&1.into(), &3.into()));
    assert!(of("other")["duration_s"].as_u64().unwrap() > 3 * 3600);
    assert!(bench.list(&[]).stdout.contains("other  3 cells, 1 trial of each: about 3 h 0 min"));
}

#[test]
fn the_quota_of_a_scenario_is_put_in_force_or_the_scenario_is_left_out() {
    let bench = Bench::new(&[
        &scenario("limited", "cpu_quota = { test = 0.5 }"),
        &contender("one", "limited", &[("SPIN_MS", "2")]),
        &scenario("free", ""),
        &contender("one", "free", &[]),
    ]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    let trials = result["trials"].as_array().unwrap();
    let Some(limited) = trials.iter().find(|trial| trial["scenario"] == "limited") else {
        assert!(result["skipped"].to_string().contains("its CPU quota of 0.5 cannot be put in"));
        return;
    };
    assert!(limited["server"]["throttling"]["periods"].as_u64().unwrap() > 0, "{limited}");
    assert_eq!(trial(&result, "free", "one")["server"]["throttling"], Value::Null);
}

#[test]
fn bad_windows_point_at_their_line() {
    let line = |keys: &str| {
        let bench = Bench::new(&[&scenario("hello", keys), &contender("one", "hello", &[])]);
        let outcome = bench.compare(&[]);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        let text = outcome.stderr;
        text.split_once("suite.toml:").unwrap_or_else(|| panic!("{text}")).1.to_owned()
    };
    assert_eq!(
        line("requests = { huge = 5 }").trim(),
        "10: no profile \"huge\"; there are: quick, smoke, test"
    );
    assert!(line("requests = { test = 0 }").contains("requests must be 1 or more"));
    assert!(line("duration = { test = \"0s\" }").contains("must be more than zero"));
    assert!(line("cpu_quota = { test = 0.001 }").contains("expected a number of CPUs"));
    assert!(line("typical_rate = -1.0").contains("typical_rate must be requests per second"));
    let both = "requests = { test = 5 }\nduration = { test = \"1s\" }";
    assert!(line(both).contains("11: requests and duration exclude each other in \"test\""));
}

#[test]
fn what_each_request_must_print_is_drained_and_counted() {
    let bench = Bench::new(&[
        &scenario("hello", "output_lines = 100"),
        &contender("talks", "hello", &[("LINES", "100")]),
        &contender("mumbles", "hello", &[("LINES", "50")]),
    ]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert_ne!(outcome.cell("talks")["verdict"], "invalid", "{}", outcome.reason("talks"));
    let reason = outcome.reason("mumbles");
    assert!(reason.starts_with("printed ") && reason.contains(" lines, not the "), "{reason}");
}
