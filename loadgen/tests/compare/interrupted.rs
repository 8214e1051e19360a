//! A comparison that is ended keeps what was measured, and nothing that it started.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::bench::{Bench, HELLO, contender, processes_named_in};
use serde_json::Value;

fn bench() -> Bench {
    Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])])
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < end, "not within 120 s: {what}");
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

/// The trials of a result: which cell and block each is of.
fn trials(result: &Value) -> Vec<(String, u64)> {
    let all = result["trials"].as_array().expect("trials");
    let name = |trial: &Value| trial["contender"].as_str().expect("a name").to_owned();
    all.iter().map(|t| (name(t), t["block"].as_u64().expect("a block"))).collect()
}

#[test]
fn after_kill_9_the_rest_is_measured_with_resume() {
    let bench = bench();
    let child = bench.start(&["--trials", "6", "--seed", "7"]);
    until_third_trial(&bench);
    signal(&child, "-KILL");
    bench.outcome(child);
    let stored = bench.out().join("trials.jsonl");
    let before = std::fs::read_to_string(&stored).unwrap();
    // As if it had been killed while it wrote a trial.
    std::fs::write(&stored, format!("{before}{{\"scenario\":\"hel")).unwrap();
    let outcome = bench.resume();
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    let expected: Vec<_> = (0..6).map(|block| ("one".to_owned(), block)).collect();
    assert_eq!(trials(&result), expected);
    assert_eq!((&result["interrupted"], &result["manifest"]["seed"]), (&false.into(), &7.into()));
    assert_eq!(result["manifest"]["resumed_at"].as_array().unwrap().len(), 1);
    assert_eq!(result["cells"][0]["trials"]["run"], 6);
    let after = std::fs::read_to_string(&stored).unwrap();
    assert!(after.starts_with(&before), "what was measured is kept as it was");
    // And nothing is left to do.
    let again = bench.resume();
    assert_eq!((again.status, trials(&again.result()).len()), (Some(0), 6), "{again:?}");
}

#[test]
fn another_suite_or_machine_is_not_gone_on_with() {
    let bench = bench();
    assert_eq!(bench.compare(&[]).status, Some(0));
    let plan = bench.out().join("plan.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["host"]["cpu_model"] = "Another CPU".into();
    std::fs::write(&plan, other.to_string()).unwrap();
    let refused = bench.resume();
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("the CPU was \"Another CPU\" and is"), "{refused:?}");
    std::fs::write(&plan, text).unwrap();
    let suite = std::fs::read_to_string(bench.suite()).unwrap();
    std::fs::write(bench.suite(), format!("{suite}# changed\n")).unwrap();
    let refused = bench.resume();
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("the suite has changed"), "{refused:?}");
}

#[test]
fn what_was_asked_for_cannot_be_changed_when_it_is_gone_on_with() {
    let bench = bench();
    assert_eq!(bench.compare(&[]).status, Some(0));
    let stored = || std::fs::read_to_string(bench.out().join("trials.jsonl")).unwrap();
    let before = stored();
    for other in [
        ["--duration", "1s"],
        ["--trials", "9"],
        ["--scale", "0.5"],
        ["--profile", "smoke"],
        ["--config", "other.toml"],
        ["-c", "8"],
    ] {
        let refused = bench.resume_with(&other);
        assert_eq!(refused.status, Some(2), "{refused:?}");
        let line = "error: --resume goes on with a comparison as it was asked for, and takes no \
                    other option; for other windows, contenders or settings start a new comparison\n";
        assert_eq!(refused.stderr, line, "{other:?}");
    }
    assert_eq!(stored(), before);
}

#[test]
fn a_ceiling_that_was_cut_off_is_measured_when_the_comparison_is_gone_on_with() {
    let bench = bench();
    let mut child = bench.start(&[]);
    // One load is measured, for a second; what comes next on standard error is not read.
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("what the generator itself can reach (1 load)") {
        line.clear();
        assert!(said.read_line(&mut line).expect("text") > 0, "it ended before its ceilings");
    }
    signal(&child, "-INT");
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let outcome = bench.outcome(child);
    assert_eq!(outcome.status, Some(130), "{outcome:?}");
    let result = outcome.result();
    assert_eq!(result["manifest"]["generator_ceilings"], serde_json::json!([]), "cut off");
    assert_eq!(
        (result["trials"].as_array().unwrap().len(), &result["skipped"]),
        (0, &serde_json::json!([]))
    );
    let outcome = bench.resume();
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    let ceilings = result["manifest"]["generator_ceilings"].as_array().unwrap();
    assert_eq!(ceilings.len(), 1, "{ceilings:?}");
    assert_eq!(result["trials"][0]["generator_ceiling_per_s"], ceilings[0]["rate_per_s"]);
}

#[test]
fn a_folder_without_a_comparison_is_not_gone_on_with() {
    let bench = bench();
    let refused = bench.resume();
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("cannot go on with"), "{refused:?}");
}
