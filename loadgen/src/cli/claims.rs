//! `loadgen claims`: the published claims, tested on the result of a comparison.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::EXIT_OK;
use super::report::read;
use crate::report::claims::{self, Claims, Judgement};

/// Arguments of `loadgen claims`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Outcomes: `holds` and `no longer holds` where the whole 95 % interval of the ratio is \
                  inside or outside of what was claimed, else `not separable here`; `not measured` \
                  where the result lacks one side.\nExit status: 0 whatever the outcomes are, 2 a file \
                  cannot be read."
)]
pub struct Args {
    /// Comparison, made by `loadgen compare`, best with --profile article: its folder, or its
    /// result.json
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Claims to test instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// Form of the outcome
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Forms of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// Everything, one JSON object
    Json,
    /// The page docs/articles.md: what was run, what had to change, what was found
    Page,
}

/// Judges the claims.
///
/// # Errors
/// A result or a file of claims that cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let claims = args.claims.as_deref().map_or_else(Claims::built_in, Claims::load)?;
    let comparison = read(&args.result)?;
    let judgement = Judgement::new(&claims, &comparison);
    let text = match args.format {
        Format::Text => claims::text(&judgement),
        Format::Json => serde_json::to_string_pretty(&judgement)? + "\n",
        Format::Page => claims::page(&judgement, &comparison),
    };
    // A reader that went away (`| head`) has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::from(EXIT_OK))
}
