//! Result files that are cut off, of a newer version, or of another kind.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, HELLO, contender};
use crate::support::{Next, Outcome, Server, loadgen, loadgen_raw, ok, start};

/// Expects one line on standard error with `words`, and status 2.
#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let outcome = loadgen_raw(arguments);
    assert_refused(&outcome, words);
}

#[track_caller]
fn assert_refused(outcome: &Outcome, words: &[&str]) {
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:#?}");
    for word in words {
        assert!(outcome.stderr.contains(word), "no {word:?}: {outcome:#?}");
    }
}

/// The first half of a file, and the file with its schema `kind/99`.
fn spoilt(text: &str, kind: &str) -> [String; 2] {
    let newer = text.replacen(&format!("\"{kind}/1\""), &format!("\"{kind}/99\""), 1);
    assert_ne!(newer, text);
    [text[..text.len() / 2].to_owned(), newer]
}

#[test]
fn a_comparison_that_cannot_be_read_says_what_it_is() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[])]);
    assert_eq!(bench.compare(&[]).status, Some(0));
    let folder = bench.out();
    let dir = folder.to_str().unwrap();
    let file = folder.join("result.json");
    let good = std::fs::read_to_string(&file).unwrap();
    let [cut, newer] = spoilt(&good, "loadgen-compare");
    for command in [&["report", dir][..], &["diff", dir, dir]] {
        std::fs::write(&file, &cut).unwrap();
        refused(command, &["result.json is cut off after", "compare --resume", "makes it again"]);
        std::fs::write(&file, &newer).unwrap();
        refused(command, &["\"loadgen-compare/99\" of a newer loadgen", "use the newer one"]);
        std::fs::write(&file, "").unwrap();
        refused(command, &["result.json is cut off after 0 bytes"]);
    }
    // The remedy that was named.
    let resumed = bench.resume();
    assert_eq!(resumed.status, Some(0), "{resumed:?}");
    let again: Value = resumed.result();
    let before: Value = serde_json::from_str(&good).unwrap();
    assert_eq!(again["trials"], before["trials"]);
    resume_refuses(&folder, "plan.json", "loadgen-plan");
    let trials = folder.join("trials.jsonl");
    let line = std::fs::read_to_string(&trials).unwrap();
    std::fs::write(&trials, format!("{line}{{\"scenario\":\n{line}")).unwrap();
    refused(&["compare", "--resume", dir], &["trials.jsonl:2: ", "without that line"]);
}

fn resume_refuses(folder: &Path, name: &str, kind: &str) {
    let dir = folder.to_str().unwrap();
    let file = folder.join(name);
    let good = std::fs::read_to_string(&file).unwrap();
    let [cut, newer] = spoilt(&good, kind);
    for (text, words) in [(cut, "is cut off after"), (newer, "of a newer loadgen")] {
        std::fs::write(&file, text).unwrap();
        refused(&["compare", "--resume", dir], &[name, words, "start a new comparison"]);
    }
    std::fs::write(&file, good).unwrap();
}

#[test]
fn a_run_that_cannot_be_read_says_what_it_is() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let good = loadgen(&["-n", "20", "-c", "2", &server.url("/")]).stdout;
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one.json"), dir.path().join("other.json"));
    std::fs::write(&one, &good).unwrap();
    let [cut, newer] = spoilt(&good, "loadgen-run");
    let arguments = ["merge", one.to_str().unwrap(), other.to_str().unwrap()];
    for (text, words) in [
        (cut, "other.json is cut off after"),
        (newer, "\"loadgen-run/99\" of a newer loadgen"),
        ("{\"schema\":\"loadgen-compare/1\"}".into(), "this reads \"loadgen-run/1\""),
        ("{\"schema\":\"loadgen-run/1\"}".into(), "other.json is damaged: missing field"),
        ("text".into(), "other.json is not JSON"),
    ] {
        std::fs::write(&other, text).unwrap();
        refused(&arguments, &[words]);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.args(["merge", one.to_str().unwrap(), dir.path().to_str().unwrap()]);
    assert_refused(&start(&mut command, b"").wait(), &["cannot read", "directory"]);
}
