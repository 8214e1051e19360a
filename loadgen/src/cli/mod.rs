//! The command line: arguments in, exit status out.

pub mod compare;
pub mod diff;
pub mod interrupt;
pub mod merge;
pub mod output;
pub mod report;
pub mod run;
pub mod units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// All measured requests completed and were right.
pub const EXIT_OK: u8 = 0;
/// The run was measured, and some requests failed or the result could not be written.
pub const EXIT_FAILURES: u8 = 1;
/// Nothing was sent: bad arguments, an unreadable file, an unknown host, a limit of this machine.
pub const EXIT_USAGE: u8 = 2;
/// The run ended and not one request completed.
pub const EXIT_NOTHING_COMPLETED: u8 = 3;
/// Ended at once by a second Ctrl-C (128 + SIGINT).
pub const EXIT_INTERRUPTED: u8 = 130;

/// Load generator for HTTP/1.1 servers that says what limited every figure.
#[derive(Debug, Parser)]
#[command(
    name = "loadgen",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = "Load one URL and report what was measured")]
    Run(Box<run::Args>),
    /// Measure the Rust servers beside Node.js, Deno and Bun
    Compare(compare::Args),
    /// Make the report of a comparison again, from its result.json
    Report(report::Args),
    /// Compare two comparisons cell by cell; exit status 1 on a regression
    Diff(diff::Args),
    /// Merge JSON results of `loadgen run` from several generators into one
    Merge(merge::Args),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Merge(args) => merge::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(EXIT_USAGE)
    })
}
