//! `loadgen report` and `loadgen diff` through the real binary, on comparisons made by hand.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod browser;
mod claims;
mod diff;
mod files;
mod fixture;

use std::path::Path;
use std::process::{Command, Output};

use loadgen::experiment::record::Comparison;
use tempfile::TempDir;

/// A folder with this result.
fn folder(comparison: &Comparison) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let json = serde_json::to_vec_pretty(comparison).unwrap();
    std::fs::write(folder.path().join("result.json"), json).unwrap();
    folder
}

/// `loadgen ARGS`.
fn loadgen(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadgen")).args(args).output().unwrap()
}

/// `loadgen report FOLDER`, which must work.
fn report(folder: &Path) {
    let output = loadgen(&["report", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
}

/// Standard output as text.
fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error as text.
fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
