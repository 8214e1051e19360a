//! `loadgen list`, the completions and the manual pages.

use std::process::{Command, Output};

use serde_json::Value;

use crate::bench::{Bench, HELLO, contender};

fn loadgen(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadgen")).args(arguments).output().expect("loadgen runs")
}

#[test]
fn contenders_are_listed_with_what_they_lack() {
    let bench = Bench::new(&[
        HELLO,
        &contender("here", "hello", &[]),
        "[[contender]]\nname = \"gone\"\nscenarios = [\"hello\"]\ncommand = [\"/nowhere/at/all\"]\n",
    ]);
    let outcome = bench.list(&["--format", "json"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let listing: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(listing["scenarios"][0]["contenders"], serde_json::json!(["here", "gone"]));
    let (here, gone) = (&listing["contenders"][0], &listing["contenders"][1]);
    assert_eq!((&here["installed"], &gone["installed"]), (&true.into(), &false.into()));
    assert_eq!(gone["missing"], "there is no program /nowhere/at/all");
    let text = bench.list(&[]).stdout;
    assert!(text.contains("gone  not installed: there is no program /nowhere/at/all"), "{text}");
}

#[test]
fn the_built_in_suite_is_listed() {
    let output = loadgen(&["list"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["hello", "upload", "rust", "node-fastify", "bun-all"] {
        assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
    }
}

#[test]
fn completions_and_manual_pages_know_the_commands() {
    let output = loadgen(&["completions", "bash"]);
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(script.contains("--cpu-quota") && script.contains("loadgen"), "{script}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man1");
    assert!(loadgen(&["man", path.to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(path.join("loadgen-compare.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("resume"), "{page}");
    assert!(!path.join("loadgen-null-server.1").exists(), "what is hidden has no page");
}
