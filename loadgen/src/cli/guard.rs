//! `loadgen guard`: ends what a comparison left behind that was killed; started by `compare`.

use std::process::ExitCode;

use super::EXIT_OK;
use crate::experiment::guard;

/// Arguments of `loadgen guard`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Process id of the comparison, whose end is the end of standard input
    harness: u32,
}

/// Waits for the end of the comparison.
///
/// # Errors
/// None.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    guard::watch(args.harness, std::io::stdin());
    Ok(ExitCode::from(EXIT_OK))
}
