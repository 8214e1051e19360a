//! `loadgen merge`: several results of one load, measured by several generators, as one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};

use super::output::Output;
use crate::report::run::{self, RunReport};
use crate::schema;

/// Arguments of `loadgen merge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results of generators that loaded one server at the same time, from `run --format json`
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Merges the results and prints the sum: counts, connections and CPU are added, the window is the
/// longest, and times come from the added histograms, so that percentiles are exact.
///
/// # Errors
/// A file that cannot be read or is not a result; results that do not belong together.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let reports =
        args.files.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<RunReport>>>()?;
    let sink = args.output.open()?;
    let sum = run::merge(&reports)?;
    args.output.finish(sink, &sum)
}

fn read(path: &Path) -> anyhow::Result<RunReport> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    schema::read(&text, run::SCHEMA).map_err(|what| anyhow!("{} {what}", path.display()))
}
