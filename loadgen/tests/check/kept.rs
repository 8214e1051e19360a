//! What is kept of a check, and what comparisons make of it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::bench::{Bench, HELLO, Outcome, contender};
use crate::check;

/// A real check of this machine by this program, which stands for a whole one. Without other
/// generators, to be quicker.
fn whole(change: impl Fn(&mut Value)) -> Value {
    static CHECK: OnceLock<Value> = OnceLock::new();
    let made = || check(&["--quick", "--json"], Some(Path::new("/nowhere"))).json();
    let mut check = CHECK.get_or_init(made).clone();
    check["quick"] = false.into();
    // What the machine is like at this moment is not what is tested.
    check["objections"] = json!([]);
    change(&mut check);
    check
}

fn compare(bench: &Bench, kept: &[u8]) -> Outcome {
    let file = bench.state().join("loadgen/check.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, kept).unwrap();
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    outcome
}

fn bench() -> Bench {
    Bench::new(&[HELLO, &contender("one", "hello", &[])])
}

#[test]
fn a_comparison_names_the_check_and_uses_it() {
    let check = whole(|check| check["noise"]["ratio_spread"] = 0.08.into());
    let bench = bench();
    let outcome = compare(&bench, check.to_string().as_bytes());
    let kept = outcome.result()["manifest"]["check"].clone();
    assert_eq!(kept["started_at"], check["started_at"]);
    assert!(kept["file"].as_str().unwrap().ends_with("loadgen/check.json"), "{kept}");
    // One trial in this profile.
    let least = 1.96 * std::f64::consts::FRAC_PI_2.sqrt() * 8.0;
    let told = kept["smallest_difference_percent"].as_f64().unwrap();
    assert!((told / least - 1.0).abs() < 1e-9, "{told}, not {least}");
    assert_eq!(kept["generator_ceilings"].as_array().unwrap().len(), 12);
    assert!(outcome.stderr.contains("This machine was checked"), "{outcome:?}");
    assert!(outcome.report().contains("- checked "), "{}", outcome.report());
}

#[test]
fn an_unfit_machine_is_told_in_the_result() {
    let unfit = whole(|check| {
        check["objections"] = json!(["noise: differences under 40.0 % are noise here"]);
        check["publishable"] = false.into();
    });
    let bench = bench();
    let outcome = compare(&bench, unfit.to_string().as_bytes());
    let warnings = outcome.result()["warnings"].to_string();
    assert!(warnings.contains("found unfit for figures to publish: noise:"), "{warnings}");
}

#[test]
fn stale_foreign_and_damaged_checks_are_ignored_in_one_line() {
    let check = whole(|_| {});
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut check = check.clone();
        change(&mut check);
        check.to_string()
    };
    let text = check.to_string();
    let cases = [
        (changed(&|c| c["started_at"] = "2020-01-01T00:00:00Z".into()), "days old"),
        (changed(&|c| c["host"]["cpu_model"] = "Other".into()), "another machine (Other"),
        (changed(&|c| c["host"]["kernel"] = "0.1".into()), "another kernel (0.1)"),
        (changed(&|c| c["identity"]["program_sha256"] = Value::Null), "another build"),
        (changed(&|c| c["schema"] = "loadgen-check/2".into()), "loadgen-check/2"),
        (changed(&|c| c["truth"] = Value::Null), "parts of it are missing"),
        (text[..text.len() / 2].to_owned(), "damaged"),
        (String::new(), "damaged"),
    ];
    for (kept, reason) in cases {
        let bench = bench();
        let outcome = compare(&bench, kept.as_bytes());
        let lines: Vec<&str> =
            outcome.stderr.lines().filter(|line| line.starts_with("Note: ")).collect();
        assert_eq!(lines.len(), 1, "{reason}: {outcome:?}");
        assert!(lines[0].contains(reason) && lines[0].contains("not used"), "{}", lines[0]);
        assert_eq!(outcome.result()["manifest"]["check"], Value::Null, "{reason}");
    }
}

#[test]
fn without_a_check_a_comparison_says_how_to_make_one() {
    let bench = bench();
    let outcome = bench.compare(&[]);
    assert!(outcome.stderr.contains("this machine has no check: `loadgen check`"), "{outcome:?}");
    assert_eq!(outcome.result()["manifest"]["check"], Value::Null);
}

#[test]
fn a_shorter_check_is_not_kept_and_says_so() {
    let outcome = check(&["--quick", "--part", "ceiling"], None);
    assert!(outcome.stderr.contains("Not kept for comparisons"), "{outcome:?}");
    assert!(!Path::new(outcome.state.path()).join("loadgen").exists());
}
