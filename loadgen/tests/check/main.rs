//! `loadgen check` through the real binary, and what comparisons take from it.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

#[path = "../compare/bench.rs"]
#[expect(dead_code, reason = "the tests of `compare` use more of it")]
mod bench;
mod kept;
mod parts;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a check left behind.
#[derive(Debug)]
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    /// `XDG_STATE_HOME` of the check.
    state: TempDir,
}

impl Outcome {
    /// The result, which follows its schema and says what its exit status says.
    fn json(&self) -> Value {
        let json: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let schema = include_str!("../../schema/check.schema.json");
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "against the schema: {errors:#?}\n{self:?}");
        let status = if json["publishable"] == true { 0 } else { 1 };
        assert_eq!(self.status, Some(status), "{self:?}");
        assert_eq!(json["objections"].as_array().unwrap().is_empty(), status == 0);
        json
    }
}

/// `loadgen check ARGS`, with `path` as PATH where one is given.
fn check(args: &[&str], path: Option<&Path>) -> Outcome {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.arg("check").args(args).env("XDG_STATE_HOME", state.path()).stdin(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(!stderr.contains("panicked"), "{stderr}");
    Outcome { status: output.status.code(), stdout, stderr, state }
}
