//! `loadgen run`: one load test of one URL.

mod args;
mod overlap;
mod progress;
mod request;
mod spec;
mod url;

use std::process::ExitCode;
use std::time::SystemTime;

pub use args::Args;

use super::interrupt;
use crate::engine;
use crate::report::run::RunReport;

/// Runs the load test and prints its result.
///
/// # Errors
/// What kept the run from starting, in one line.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = spec::plan(args)?;
    let sink = args.output.open()?;
    let stop = interrupt::install()?;
    let overlap = overlap::note(&plan.spec);
    let mut progress = progress::Progress::new(&plan.spec);
    let started = SystemTime::now();
    let result = engine::run(&plan.spec, stop, &mut progress);
    progress.finish(sink.is_terminal());
    let mut report = RunReport::new(&plan.spec, &result?, started, plan.seeded);
    report.notes.extend(overlap);
    args.output.finish(sink, &report)
}
