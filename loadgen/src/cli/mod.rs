//! The command line: arguments in, exit status out.

pub mod check;
pub mod claims;
pub mod compare;
pub mod completions;
pub mod diff;
pub mod guard;
pub mod interrupt;
pub mod list;
pub mod merge;
pub mod null_server;
pub mod output;
pub mod report;
pub mod run;
mod say;
mod screen;
pub mod units;

use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};

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
    Compare(Box<compare::Args>),
    /// Check this machine and this program: what limits them, and whether figures can be published
    Check(check::Args),
    /// Make the report of a comparison again, from its result.json
    Report(report::Args),
    /// Compare two comparisons cell by cell; exit status 1 on a regression
    Diff(diff::Args),
    /// Say which claims of the published comparisons hold in the result of a comparison made here
    Claims(claims::Args),
    /// Merge JSON results of `loadgen run` from several generators into one
    Merge(merge::Args),
    /// List profiles, scenarios and contenders, installed or not, with their versions
    List(list::Args),
    /// Print the completions for a shell
    Completions(completions::Args),
    /// Write the manual pages into a folder
    Man(completions::ManArgs),
    /// Answer as fast as this program can: what `compare` measures the generator's ceiling on
    #[command(hide = true)]
    NullServer(null_server::Args),
    /// End what a comparison left behind that was killed
    #[command(hide = true)]
    Guard(guard::Args),
}

/// The arguments of a `loadgen compare` command line.
///
/// # Errors
/// It is none.
fn parse_compare(command_line: &[String]) -> anyhow::Result<compare::Args> {
    match Cli::try_parse_from(command_line)?.command {
        Command::Compare(args) => Ok(*args),
        _ => anyhow::bail!("not a `loadgen compare`"),
    }
}

/// The command line of this process; ends it where that is none.
fn parsed() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        let about = error.get(ContextKind::InvalidArg).map(ToString::to_string);
        let is_resume = |argument: String| argument.starts_with("--resume");
        if error.kind() == ErrorKind::ArgumentConflict && about.is_some_and(is_resume) {
            say::say(
                "error: --resume goes on with a comparison as it was asked for, and takes no other \
                 option; for other windows, contenders or settings start a new comparison",
            );
            std::process::exit(EXIT_USAGE.into());
        }
        error.exit()
    })
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let outcome = match parsed().command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Claims(args) => claims::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::List(args) => list::run(&args),
        Command::Completions(args) => completions::run(&args, &mut Cli::command()),
        Command::Man(args) => completions::man(&args, Cli::command()),
        Command::NullServer(args) => null_server::run(&args),
        Command::Guard(args) => guard::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        say::say(format_args!("error: {error:#}"));
        ExitCode::from(EXIT_USAGE)
    })
}
