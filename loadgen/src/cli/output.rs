//! Where a result is written, and in which form.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use anyhow::Context;

use crate::report::run::{self, RunReport};

/// Options that say where the result goes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the result to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Forms of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Summary for people
    Text,
    /// Everything, one JSON object (its schema is loadgen/schema/run.schema.json)
    Json,
    /// A line of names and a line of values
    Csv,
    /// Table to paste into an issue
    Markdown,
}

/// An open place for a result.
#[derive(Debug)]
pub enum Sink {
    /// Standard output.
    Stdout,
    /// A file; what it held is replaced when the result is written, not before.
    File(File, PathBuf),
}

impl Output {
    /// The result in the form asked for.
    ///
    /// # Errors
    /// As [`RunReport::json`].
    pub fn render(&self, report: &RunReport) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Text => run::text(report),
            Format::Json => report.json()?,
            Format::Csv => run::csv(report),
            Format::Markdown => run::markdown(report),
        })
    }

    /// Opens the place of the result, so that a mistake is known before the run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(&self) -> anyhow::Result<Sink> {
        let Some(path) = &self.output else { return Ok(Sink::Stdout) };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("cannot write to {}", path.display()))?;
        Ok(Sink::File(file, path.clone()))
    }
}

impl Sink {
    /// Writes the whole result. A reader that went away (`| head -1`) is not an error.
    ///
    /// # Errors
    /// The bytes could not be written.
    pub fn write(self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                    other => other.context("cannot write to standard output"),
                }
            }
            Self::File(mut file, path) => {
                if file.metadata().is_ok_and(|meta| meta.is_file()) {
                    file.set_len(0).with_context(|| format!("cannot empty {}", path.display()))?;
                }
                file.write_all(text.as_bytes())
                    .with_context(|| format!("cannot write to {}", path.display()))
            }
        }
    }
}
