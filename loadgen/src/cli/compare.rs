//! `loadgen compare`: every scenario on every contender.

use std::process::ExitCode;

/// Arguments of `loadgen compare`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the comparison.
///
/// # Errors
/// What kept it from starting, in one line.
pub fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("compare is not there yet")
}
