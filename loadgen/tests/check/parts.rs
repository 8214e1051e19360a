//! Each part of a check, and all of them together.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::check;

fn finding<'a>(findings: &'a Value, name: &str) -> &'a Value {
    let found = findings.as_array().unwrap().iter().find(|finding| finding["name"] == name);
    found.unwrap_or_else(|| panic!("no line {name:?}: {findings:#}"))
}

#[test]
fn the_machine_is_looked_at_line_by_line() {
    let outcome = check(&["--quick", "--part", "machine", "--json"], None);
    let json = outcome.json();
    for name in [
        "build",
        "cores",
        "pinning",
        "governor",
        "virtualisation",
        "background load",
        "clock",
        "timer",
        "open files",
        "ports",
        "listen queue",
        "loopback",
        "congestion control",
        "steal",
        "pressure",
    ] {
        let finding = finding(&json["machine"], name);
        let good = finding["grade"] == "good";
        assert_eq!(finding["advice"].is_null(), good, "what to do: {finding:#}");
    }
    assert!(json["ceiling"].is_null() && json["noise"].is_null(), "only what was asked for");
    let clock = finding(&json["machine"], "clock")["figures"]["ns_per_read"].as_f64().unwrap();
    assert!(clock > 0.0);
    if cfg!(debug_assertions) {
        assert_eq!(finding(&json["machine"], "build")["grade"], "bad");
        assert!(json["objections"].to_string().contains("debug build"), "{json:#}");
    }
    assert!(outcome.stderr.contains("Not kept"), "{outcome:?}");
}

#[test]
fn the_generators_ceiling_is_measured_with_its_cost() {
    let json = check(&["--quick", "--part", "ceiling", "--json"], None).json();
    let loads = json["ceiling"]["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 12, "HTTP and HTTPS, two sizes, three numbers of connections");
    for load in loads {
        assert!(load["rate_per_s"].as_f64().unwrap() > 0.0, "{load}");
        let cost = load["generator_cpu_us_per_request"].as_f64().unwrap();
        assert!(cost > 0.1 && cost < 10_000.0, "{load}");
    }
    let sum = |tls: bool| -> f64 {
        let of = loads.iter().filter(|load| load["tls"] == tls);
        of.map(|load| load["generator_cpu_us_per_request"].as_f64().unwrap()).sum()
    };
    assert!(sum(true) > sum(false), "encryption costs something");
}

#[test]
fn reports_are_true_to_a_server_with_known_delays() {
    let json = check(&["--quick", "--part", "truth", "--json"], None).json();
    let cases = json["truth"]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 6, "three servers, closed loop and fixed rate");
    for case in cases {
        assert_eq!(case["requests_sent"], case["requests_served"], "{case:#}");
        assert_eq!(case["requests_sent"], case["requests_completed"], "{case:#}");
        let fixed_rate = !case["rate_per_s"].is_null();
        assert_eq!(case["response_time_us"].is_array(), fixed_rate, "{case:#}");
        let empty = Vec::new();
        let response = case["response_time_us"].as_array().unwrap_or(&empty);
        for figure in case["service_time_us"].as_array().unwrap().iter().chain(response) {
            let (computed, reported) =
                (figure["computed"].as_f64().unwrap(), figure["reported"].as_f64().unwrap());
            // A busy machine makes times longer, never shorter.
            assert!(reported >= computed * 0.999 - 1.0, "{figure} in {case:#}");
        }
        if case["name"].as_str().unwrap().contains("stall") {
            let longest = |times: &Value| {
                let times = times.as_array().unwrap();
                times.iter().find(|f| f["figure"] == "max").unwrap()["reported"].as_f64().unwrap()
            };
            assert!(longest(&case["service_time_us"]) >= 1e6, "{case:#}");
            // Many requests were due in the stall; in a closed loop only one was sent in it.
            if fixed_rate {
                let response = case["response_time_us"].as_array().unwrap();
                let p75 = response.iter().find(|f| f["figure"] == "p75").unwrap();
                assert!(p75["reported"].as_f64().unwrap() > 100_000.0, "{case:#}");
            }
        }
    }
}

#[test]
fn noise_is_what_the_same_contender_differs_by() {
    let json = check(&["--quick", "--part", "noise", "--json"], None).json();
    let noise = &json["noise"];
    assert_eq!(noise["rates_per_s"].as_array().unwrap().len(), 6);
    assert_eq!(noise["cpu_us_per_request"].as_array().unwrap().len(), 6);
    let spread = noise["ratio_spread"].as_f64().unwrap();
    let trials = noise["usual_trials"].as_f64().unwrap();
    let least = (1.96 * (std::f64::consts::FRAC_PI_2 / trials).sqrt() * spread).max(0.02) * 100.0;
    let told = noise["smallest_difference_percent"].as_f64().unwrap();
    assert!((told / least - 1.0).abs() < 1e-9, "{told}, not {least}");
    let value = noise["finding"]["value"].as_str().unwrap();
    assert!(value.contains(&format!("differences under {least:.1} % are noise")), "{value}");
}

/// A program that prints what a tool would, and what it was asked for on its standard error.
fn tool(folder: &Path, name: &str, output: &str) {
    let script = format!("#!/bin/sh\n/bin/sleep 0.1\n/bin/cat <<'END'\n{output}\nEND\n");
    let file = folder.join(name);
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn other_generators_are_asked_for_the_same_load_and_differences_are_told() {
    let tools = tempfile::tempdir().unwrap();
    // Not the rate of any server: a difference that nothing explains.
    let json =
        r#"{"result":{"req2xx":7,"timeTakenSeconds":1.0,"latency":{"percentiles":{"50":9}}}}"#;
    tool(tools.path(), "bombardier", json);
    tool(tools.path(), "wrk", "unable to connect");
    // No real tools: beside other tests they may differ by anything.
    let json = check(&["--quick", "--part", "agreement", "--json"], Some(tools.path())).json();
    let agreement = &json["agreement"];
    let figures = agreement["figures"].as_array().unwrap();
    let of = |tool: &str, load: &str| {
        let found = figures.iter().find(|f| f["tool"] == tool && f["load"] == load);
        found.unwrap_or_else(|| panic!("no {tool} {load}: {agreement:#}"))
    };
    let ours = of("loadgen", "delayed");
    let rate = ours["rate_per_s"].as_f64().unwrap();
    assert!(rate > 100.0 && rate < 5_000.0, "ten connections, 2 ms: {ours}");
    assert!(ours["p50_us"].as_f64().unwrap() >= 2_000.0, "{ours}");
    let wrong = of("bombardier", "delayed");
    assert_eq!((&wrong["grade"], &wrong["rate_per_s"]), (&"bad".into(), &7.0.into()));
    let broken = of("wrk", "delayed");
    assert!(broken["rate_per_s"].is_null(), "{broken}");
    assert!(broken["note"].as_str().unwrap().contains("is not understood"), "{broken}");
    let objections = json["objections"].to_string();
    assert!(objections.contains("bombardier and loadgen differ"), "{objections}");
}

#[test]
fn without_other_generators_nothing_is_wrong() {
    let empty = tempfile::tempdir().unwrap();
    let outcome = check(&["--quick", "--part", "agreement"], Some(empty.path()));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("not compared: none of wrk, oha"), "{outcome:?}");
}

#[test]
fn ctrl_c_ends_a_check_and_shows_what_was_measured() {
    let state = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_loadgen"))
        .args(["check", "--quick"])
        .env("XDG_STATE_HOME", state.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("what the generator can reach")), "the second part");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text} {rest:?}");
    assert!(text.contains("Machine\n") && text.contains("Ended early"), "{text}");
    assert!(!text.contains("can be published"), "{text}");
    assert!(rest.iter().any(|line| line.starts_with("Not kept")), "{rest:?}");
}

#[test]
fn cpus_that_are_shared_or_not_there_are_told() {
    let args = ["--quick", "--part", "machine", "--server-cpus", "0", "--generator-cpus", "0"];
    let outcome = check(&args, None);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("bad        pinning"), "{outcome:?}");
    assert!(outcome.stdout.contains("share CPU [0]"), "{outcome:?}");
    assert!(outcome.stdout.contains("should not be published"), "{outcome:?}");
    let outcome = check(&["--server-cpus", "4000"], None);
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{outcome:?}");
}
