//! What `loadgen compare` says to bad input: one clear line, exit status 2, nothing started.

use crate::bench::{Bench, HELLO, Outcome, contender};

fn refused(bench: &Bench, arguments: &[&str]) -> String {
    let outcome: Outcome = bench.compare(arguments);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(!bench.out().join("trials.jsonl").exists(), "nothing is measured");
    outcome.stderr
}

fn bench() -> Bench {
    Bench::new(&[HELLO, &contender("one", "hello", &[])])
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    let bench = bench();
    let text = refused(&bench, &["--scenario", "helo"]);
    assert_eq!(text, "error: no scenario \"helo\"; there are: hello\n");
    let text = refused(&bench, &["--contender", "two"]);
    assert_eq!(text, "error: no contender \"two\"; there are: one\n");
    let text = refused(&bench, &["--profile", "huge"]);
    assert_eq!(text, "error: no profile \"huge\"; there are: quick, smoke, test\n");
}

#[test]
fn an_error_in_the_suite_points_at_its_line() {
    let bench = Bench::new(&[HELLO, "[[contender]]\nname = \"one\"\nscenarios = [\"nothing\"]\n"]);
    let text = refused(&bench, &[]);
    assert!(text.contains("suite.toml:"), "{text}");
    assert!(text.lines().count() == 1, "{text}");
}

#[test]
fn cpus_that_may_not_be_used_are_refused() {
    let text = refused(&bench(), &["--server-cpus", "1023"]);
    assert!(text.contains("--server-cpus: CPU 1023 may not be used here"), "{text}");
}

#[test]
fn a_folder_with_a_result_is_not_written_over() {
    let bench = bench();
    assert_eq!(bench.compare(&[]).status, Some(0));
    let again = bench.compare(&[]);
    assert_eq!(again.status, Some(2), "{again:?}");
    assert!(again.stderr.contains("has a comparison already"), "{again:?}");
}
