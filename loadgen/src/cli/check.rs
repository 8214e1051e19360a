//! `loadgen check`: this machine and this program, in about a minute.

use std::process::ExitCode;

use anyhow::Context as _;

use super::interrupt;
use super::output::Sink;
use super::say::say;
use super::units::{CpuList, cpu_list};
use super::{EXIT_FAILURES, EXIT_INTERRUPTED, EXIT_OK};
use crate::check::{self, Asked, Check, Part, kept};
use crate::experiment::{pins, prepare, probe};
use crate::report;

/// Arguments of `loadgen check`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "The result of a whole check is kept in $XDG_STATE_HOME/loadgen/check.json \
    (~/.local/state/loadgen/check.json), and used by comparisons on this machine.\n\n\
    Exit status: 0 figures from this machine can be published, 1 they should not be (the reasons are \
    at the end), 2 the check could not begin, 130 ended by Ctrl-C."
)]
pub struct Args {
    /// Print everything as one JSON object (its schema is loadgen/schema/check.schema.json)
    #[arg(long)]
    json: bool,
    /// Take about twenty seconds; less precise, and not kept
    #[arg(long)]
    quick: bool,
    /// Only these parts, separated by commas; not kept
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    part: Vec<Part>,
    /// CPUs of the servers, as for `compare` [default: the first half]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    server_cpus: Option<CpuList>,
    /// CPUs of the load generator [default: the others]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    generator_cpus: Option<CpuList>,
}

/// Runs the check and prints its result.
///
/// # Errors
/// What kept it from starting, in one line.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let stop = interrupt::install().context("cannot watch for signals")?;
    let allowed = pins::allowed_cpus().context("which CPUs may be used")?;
    let list = |list: &Option<CpuList>| list.as_ref().map(|list| list.0.clone());
    let (server, generator) = (list(&args.server_cpus), list(&args.generator_cpus));
    let pins = pins::split(&allowed, pins::siblings, server.as_deref(), generator.as_deref())
        .map_err(anyhow::Error::msg)?;
    let places = prepare::places(1)?;
    let client_tls = probe::tls_config(&places.cert).context("the certificate cannot be used")?;
    let parts = if args.part.is_empty() { Part::ALL.to_vec() } else { args.part.clone() };
    let asked = Asked {
        parts: &parts,
        quick: args.quick,
        places: &places,
        pins,
        cpus_allowed: allowed,
        client_tls,
        stop,
    };
    say(format_args!(
        "Checking this machine and this program, about {} seconds. Leave the machine alone meanwhile.",
        if args.quick { 20 } else { 60 }
    ));
    let check = check::run(asked, |part| say(format_args!("  {} …", words(part))));
    let text = if args.json {
        serde_json::to_string_pretty(&check)? + "\n"
    } else {
        report::check::text(&check)
    };
    let written = Sink::Stdout.write(&text);
    keep(&check);
    if let Err(error) = written {
        say(format_args!("error: {error:#}"));
        return Ok(ExitCode::from(EXIT_FAILURES));
    }
    Ok(ExitCode::from(if check.interrupted {
        EXIT_INTERRUPTED
    } else if check.publishable {
        EXIT_OK
    } else {
        EXIT_FAILURES
    }))
}

fn words(part: Part) -> &'static str {
    match part {
        Part::Machine => "the machine",
        Part::Ceiling => "what the generator can reach",
        Part::Truth => "reports beside a server with known delays",
        Part::Noise => "the same contender again and again",
        Part::Agreement => "other load generators on the same server",
    }
}

/// Keeps a whole check for comparisons; without that they go on as if there were none.
fn keep(check: &Check) {
    if !check.is_whole() {
        say("Not kept for comparisons: only a whole check is (without --quick and --part).");
        return;
    }
    let Some(file) = kept::path() else {
        say("Not kept for comparisons: HOME and XDG_STATE_HOME name no folder.");
        return;
    };
    match kept::keep(check, &file) {
        Ok(()) => say(format_args!("Kept in {} for comparisons on this machine.", file.display())),
        Err(error) => say(format_args!("Not kept for comparisons: {}: {error}", file.display())),
    }
}
