//! A comparison that is ended keeps what was measured, and nothing that it started.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::bench::{Bench, HELLO, contender, processes_named_in};
use serde_json::Value;

fn bench() -> Bench {
    Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])])
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until two trials are stored and the third contender runs.
fn until_third_trial(bench: &Bench) {
    let stored = || std::fs::read_to_string(bench.out().join("trials.jsonl")).unwrap_or_default();
    until("two trials", || stored().lines().count() >= 2 && bench.noted_pids().len() >= 3);
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

#[test]
fn a_signal_keeps_the_trials_and_ends_the_contender() {
    for name in ["-INT", "-TERM"] {
        let bench = bench();
        let child = bench.start(&["--trials", "200"]);
        until_third_trial(&bench);
        signal(&child, name);
        let outcome = bench.outcome(child);
        assert_eq!(outcome.status, Some(130), "{outcome:?}");
        let result = outcome.result();
        assert_eq!(result["interrupted"], true);
        assert!(result["trials"].as_array().unwrap().len() >= 2);
        assert!(result["cells"][0]["rate_per_s"].as_f64().unwrap() > 0.0);
        assert!(outcome.stdout.contains("requests/s"), "{outcome:?}");
        assert_eq!(processes_named_in(&bench.noted_pids()), Vec::<u32>::new());
    }
}

#[test]
fn after_kill_9_the_trials_are_on_disk_and_the_contender_is_gone() {
    let bench = bench();
    let child = bench.start(&["--trials", "200"]);
    until_third_trial(&bench);
    signal(&child, "-KILL");
    bench.outcome(child);
    let stored = std::fs::read_to_string(bench.out().join("trials.jsonl")).unwrap();
    for line in stored.lines() {
        let trial: Value = serde_json::from_str(line).unwrap();
        assert!(trial["load"]["rate_per_s"].as_f64().unwrap() > 0.0, "{trial}");
    }
    let pids = bench.noted_pids();
    until("the contender dies with the harness", || processes_named_in(&pids).is_empty());
}
