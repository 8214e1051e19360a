//! `loadgen diff`: two comparisons cell by cell, for people and for CI.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use super::report::read;
use super::{EXIT_FAILURES, EXIT_NOTHING_COMPLETED, EXIT_OK};
use crate::report::diff;

/// Arguments of `loadgen diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 no regression shown, 1 a regression, 2 cannot be compared, \
                        3 not one figure was comparable."
)]
pub struct Args {
    /// Comparison from before: its folder, or its result.json
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Comparison from after
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Smallest change worth showing: the whole interval must be beyond it
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    threshold: f64,
    /// Compare even if machine, settings or scenarios differ
    #[arg(long)]
    force: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Forms of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Tables for people
    Text,
    /// Everything, one JSON object
    Json,
}

/// Compares two results.
///
/// # Errors
/// A result that cannot be read; results of different machines or scenarios without `--force`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (base, new) = (read(&args.base)?, read(&args.new)?);
    let differences = diff::differences(&base, &new);
    if !differences.is_empty() && !args.force {
        bail!("not the same experiment (--force compares anyway): {}", differences.join("; "));
    }
    let diff = diff::diff(&base, &new, args.threshold, differences);
    let text = match args.format {
        Format::Text => diff::text(&diff),
        Format::Json => serde_json::to_string_pretty(&diff)? + "\n",
    };
    // A reader that went away (`| head`) has seen enough; the exit status still says it.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::from(if diff.cells.iter().any(diff::CellDiff::is_regression) {
        EXIT_FAILURES
    } else if diff.compares_anything() {
        EXIT_OK
    } else {
        EXIT_NOTHING_COMPLETED
    }))
}

/// Parses `5%` or `5` as the share 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    number
        .parse::<f64>()
        .ok()
        .filter(|percent| (0.0..=1000.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected percent, from 0 to 1000, such as 5% or 2.5".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_with_and_without_its_sign() {
        assert_eq!(percent("5%").map(f64::to_bits), Ok(0.05_f64.to_bits()));
        assert_eq!(percent("250").map(f64::to_bits), Ok(2.5_f64.to_bits()));
        for wrong in ["", "%", "-1", "NaN", "inf", "1001", "five"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
