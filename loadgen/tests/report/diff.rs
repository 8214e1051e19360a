//! `loadgen diff`: what it says, what it refuses, and its exit status.

use loadgen::experiment::record::Comparison;
use loadgen::experiment::verdict::Verdict;
use serde_json::Value;
use tempfile::TempDir;

use super::fixture::comparison;
use super::{folder, loadgen, stderr, stdout};

/// A second run of the same code: every trial a little different.
fn again() -> Comparison {
    comparison(|scenario, contender| {
        1.0 + 0.004 * (scenario.len() as f64 - contender.len() as f64) / 20.0
    })
}

fn slower_node() -> Comparison {
    comparison(|scenario, who| if (scenario, who) == ("hello", "node") { 0.85 } else { 1.0 })
}

fn diff(base: &TempDir, new: &TempDir, more: &[&str]) -> std::process::Output {
    let paths = [base.path().to_str().unwrap(), new.path().to_str().unwrap()];
    let mut args = vec!["diff"];
    args.extend(paths);
    args.extend(more);
    loadgen(&args)
}

#[test]
fn two_runs_of_the_same_code_show_no_change() {
    let output = diff(&folder(&comparison(|_, _| 1.0)), &folder(&again()), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    assert!(text.contains("0 figures faster, 0 slower"), "{text}");
    assert!(!text.contains("Regression"), "{text}");
}

#[test]
fn a_slowed_contender_is_a_regression_in_every_figure_and_nothing_else_is() {
    let (base, new) = (folder(&comparison(|_, _| 1.0)), folder(&slower_node()));
    let output = diff(&base, &new, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        let slowed = cell["scenario"] == "hello" && cell["contender"] == "node";
        for figure in ["rate_per_s", "cpu_us_per_request", "p99_us"] {
            assert_eq!(cell[figure]["outcome"] == "slower", slowed, "{cell}");
            assert_ne!(cell[figure]["outcome"], "faster", "{cell}");
        }
    }
    let text = stdout(&diff(&base, &new, &[]));
    assert!(text.contains("Regression: hello node at 50 connections: requests/s "), "{text}");
    // The other way round it is faster, which is no regression; nor is it beyond a wide threshold.
    assert_eq!(diff(&new, &base, &[]).status.code(), Some(0));
    assert_eq!(diff(&base, &new, &["--threshold", "30%"]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let base = folder(&comparison(|_, _| 1.0));
    let text = stdout(&diff(&base, &folder(&again()), &[]));
    for reason in [
        "rust at 100 connections: limited by the generator in BASE (requests/s, p99)",
        "bad at 50 connections: invalid in BASE: the answer's body",
        "rust at 25 connections: host-noisy in BASE: other processes took 23.0 %",
    ] {
        assert!(text.contains(reason), "{reason} in {text}");
    }
    // The CPU time per request of a client-bound cell still can.
    let rust = text.lines().find(|line| line.starts_with("  rust") && line.contains(" 100 "));
    assert!(rust.unwrap().contains("no change shown"), "{text}");
}

#[test]
fn a_contender_that_broke_is_a_regression() {
    let mut broken = comparison(|_, _| 1.0);
    for cell in broken.cells.iter_mut().filter(|cell| cell.contender == "deno") {
        cell.verdict = Some(Verdict::Invalid);
        cell.rate_per_s = None;
        cell.reason = "status is 500, not 200".into();
    }
    let output = diff(&folder(&comparison(|_, _| 1.0)), &folder(&broken), &[]);
    assert_eq!(output.status.code(), Some(1));
    let line = "Regression: hello deno at 10 connections: invalid in NEW: status is 500, not 200";
    assert!(stdout(&output).contains(line), "{output:?}");
}

#[test]
fn another_machine_or_scenario_is_refused_unless_forced() {
    let base = folder(&comparison(|_, _| 1.0));
    let mut other = comparison(|_, _| 1.0);
    other.host.cpu_model = "Other CPU".into();
    other.cells.retain(|cell| cell.scenario != "fib");
    other.manifest.requests.insert("hello".into(), "GET http://HOST/other".into());
    let other = folder(&other);
    let refused = diff(&base, &other, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let message = stderr(&refused);
    for part in ["Other CPU in NEW", "\"fib\" is only in BASE", "GET http://HOST/other", "--force"]
    {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert_eq!(message.lines().count(), 1);
    let forced = diff(&base, &other, &["--force"]);
    assert_eq!(forced.status.code(), Some(0), "{forced:?}");
    let text = stdout(&forced);
    assert!(text.contains("Forced: processor:") && text.contains("not in NEW"), "{text}");
}

#[test]
fn single_trials_compare_nothing_and_the_status_says_so() {
    let mut smoke = comparison(|_, _| 1.0);
    smoke.trials.retain(|trial| trial.planned.block == 0);
    let smoke = folder(&smoke);
    let result = smoke.path().join("result.json");
    let output = loadgen(&["diff", result.to_str().unwrap(), smoke.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(stdout(&output).contains("Nothing could be compared"), "{output:?}");
}

#[test]
fn a_bad_threshold_is_explained() {
    let output = loadgen(&["diff", "a", "b", "--threshold", "few"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("such as 5%"), "{output:?}");
}
