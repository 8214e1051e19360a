//! Disks that are full when a result is written.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, HELLO, Outcome, contender, spawn as spawn_piped};
use crate::means::through;
use crate::support::{Next, Server, loadgen_raw, ok, start};

fn bench() -> Bench {
    Bench::new(&[HELLO, &contender("one", "hello", &[])])
}

/// What must hold when no room was left after some trials.
fn assert_kept(outcome: &Outcome, folder: &Path, cause: &str) {
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot be stored"), "{outcome:?}");
    assert!(outcome.stderr.contains("trials.jsonl: "), "{outcome:?}");
    assert!(outcome.stderr.contains(cause), "{outcome:?}");
    assert!(outcome.stderr.contains("go on with `loadgen compare --resume"), "{outcome:?}");
    assert!(outcome.stdout.contains("requests/s"), "the tables are all there is: {outcome:?}");
    let stored = std::fs::read_to_string(folder.join("trials.jsonl")).unwrap();
    assert!(stored.lines().count() >= 1, "{outcome:?}");
    assert!(stored.ends_with('\n'), "no half trial");
    for line in stored.lines() {
        let trial: Value = serde_json::from_str(line).unwrap();
        assert!(trial["load"]["rate_per_s"].as_f64().unwrap() > 0.0, "{trial}");
    }
}

#[test]
fn a_limit_of_file_sizes_ends_the_comparison_and_keeps_its_trials() {
    let bench = bench();
    // Blocks of 512 bytes: room for the plan and for a few trials.
    let limited = ["sh", "-c", r#"ulimit -f 32; exec "$@""#, "sh"];
    let mut command = through(&limited, &bench.command(&["--trials", "60"]));
    let outcome = bench.outcome(spawn_piped(&mut command));
    assert_kept(&outcome, &bench.out(), "File too large");
}

#[test]
fn a_full_disk_ends_the_comparison_and_keeps_its_trials() {
    let bench = bench();
    std::fs::create_dir(bench.out()).unwrap();
    let copy = tempfile::tempdir().unwrap();
    // A disk of its own, seen by nobody else, that has room for the plan and for a few trials.
    let script = r#"mount -t tmpfs -o size=96k tmpfs "$OUT" || exit 99
        "$@"; status=$?
        cp "$OUT"/new/trials.jsonl "$COPY"; exit $status"#;
    let mut command = bench.command(&["--trials", "60"]);
    command.arg("--out").arg(bench.out().join("new"));
    for mount in [&["unshare", "-m"][..], &["unshare", "-rm"]] {
        let wrapper = [mount, &["sh", "-c", script, "sh"]].concat();
        let mut command = through(&wrapper, &command);
        command.env("OUT", bench.out()).env("COPY", copy.path());
        let outcome = bench.outcome(spawn_piped(&mut command));
        if copy.path().join("trials.jsonl").exists() {
            return assert_kept(&outcome, copy.path(), "No space left on device");
        }
        eprintln!("no disk of its own by {mount:?}: {}", outcome.stderr);
    }
    eprintln!("skipped: nothing can be mounted here");
}

#[test]
fn a_result_that_a_full_disk_does_not_take_is_shown() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let url = server.url("/");
    let args = ["run", "-n", "20", "--format", "json", "-o", "/dev/full", &url];
    let outcome = loadgen_raw(&args);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert_eq!(outcome.count("requests.completed"), 20);
    assert!(outcome.stderr.contains("/dev/full, so the result is on standard output: No space"));

    let mut command = Command::new("sh");
    let script = r#"exec "$0" run -n 20 "$1" >/dev/full"#;
    command.args(["-c", script, env!("CARGO_BIN_EXE_loadgen"), &url]);
    let outcome = start(&mut command, b"").wait();
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.stderr.contains("20 completed") || outcome.stderr.contains("requests/s"));
    assert!(outcome.stderr.contains("cannot write to standard output"), "{outcome:#?}");
}
