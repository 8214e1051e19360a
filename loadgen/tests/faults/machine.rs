//! CPUs that generator and server share, and strangers that take them.

use std::process::Command;

use crate::bench::{Bench, HELLO, contender, spawn as spawn_piped};
use crate::means::{Process, Stub, cpus, through};
use crate::support::{check, loadgen, start, until};

#[test]
fn a_generator_on_the_servers_cpu_is_told() {
    let (cpu, allowed) = cpus();
    let stub = Stub::start("right", &["taskset", "-c", &cpu]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.args(["run", "--format", "json", "-n", "200", "-c", "4", &stub.url]);
    let outcome = start(&mut through(&["taskset", "-c", &cpu], &command), b"").wait();
    check(&outcome);
    let notes = outcome.get("notes").to_string();
    assert!(notes.contains(&format!("share CPU [{cpu}]")), "{outcome:#?}");
    assert!(notes.contains("--cpus"), "the remedy: {outcome:#?}");
    // With a CPU for each there is nothing to tell.
    if allowed > 1 {
        let outcome = loadgen(&["-n", "200", "-c", "4", "-t", "1", &stub.url]);
        assert!(!outcome.get("notes").to_string().contains("share"), "{outcome:#?}");
    }
}

#[test]
fn a_comparison_on_one_cpu_is_told() {
    let (cpu, _) = cpus();
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[])]);
    let mut command = through(&["taskset", "-c", &cpu], &bench.command(&[]));
    let outcome = bench.outcome(spawn_piped(&mut command));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let words = format!("server and generator share CPU [{cpu}]");
    assert!(outcome.stderr.contains(&format!("Warning: {words}")), "{outcome:?}");
    let warning = &outcome.result()["manifest"]["pins"]["warning"];
    assert!(warning.as_str().unwrap().contains(&words), "{warning}");
    assert!(
        outcome.report().contains(&words.replace('[', "\\[").replace(']', "\\]"))
            || outcome.report().contains(&words)
    );
    let page = std::fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(page.contains(&words));
    assert!(outcome.reason("one").contains("shared CPUs"), "{}", outcome.reason("one"));
}

#[test]
fn strangers_on_the_cpus_make_a_trial_noisy() {
    let (_, allowed) = cpus();
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])]);
    let child = bench.start(&["--duration", "2s"]);
    until(|| !bench.noted_pids().is_empty());
    let spin = || Process::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    let strangers: Vec<Process> = (0..2 * allowed).map(|_| spin()).collect();
    let outcome = bench.outcome(child);
    drop(strangers);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let cell = outcome.cell("one");
    assert_eq!((&cell["verdict"], &cell["rank"]), (&"host-noisy".into(), &serde_json::Value::Null));
    let reason = outcome.reason("one");
    assert!(reason.contains("other processes took") || reason.contains("hypervisor"), "{reason}");
}
