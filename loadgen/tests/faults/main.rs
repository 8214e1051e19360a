//! What goes wrong on machines, done on purpose to the real binary: nothing hangs, nothing measured is
//! lost, and every message names the cause and the remedy.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

#[path = "../compare/bench.rs"]
#[allow(dead_code, reason = "shared with the tests of the comparison, which use more of it")]
mod bench;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the tests of run, which use more of it")]
mod support;

mod certificates;
mod clock;
mod disk;
mod machine;
mod means;
mod processes;
mod results;
mod runtimes;
mod terminal;
