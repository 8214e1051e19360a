//! `loadgen run`: one load test of one URL.

mod args;

use std::process::ExitCode;

pub use args::Args;

/// Runs the load test and prints its result.
///
/// # Errors
/// What kept the run from starting, in one line.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _ = args;
    anyhow::bail!("run is not there yet")
}
