//! `loadgen merge`: several results of one load, measured by several generators, as one.

use std::path::PathBuf;
use std::process::ExitCode;

use super::output::Output;

/// Arguments of `loadgen merge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results written by `loadgen run --format json`
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Merges the results and prints the sum.
///
/// # Errors
/// A file that cannot be read or is not a result; results that do not belong together.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _ = (&args.files, &args.output);
    anyhow::bail!("merge is not there yet")
}
