//! Where a result is written, and in which form.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::say::say;
use super::{EXIT_FAILURES, EXIT_NOTHING_COMPLETED, EXIT_OK};
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
    /// Renders and writes a result, and gives the exit status that `--help` promises for it.
    ///
    /// # Errors
    /// As [`RunReport::json`].
    pub fn finish(&self, sink: Sink, report: &RunReport) -> anyhow::Result<ExitCode> {
        let status = match sink.write(&self.render(report)?) {
            Ok(()) => exit_status(report),
            Err(error) => {
                say(format_args!("error: {error:#}"));
                EXIT_FAILURES
            }
        };
        Ok(ExitCode::from(status))
    }

    /// The result in the form asked for.
    ///
    /// # Errors
    /// As [`RunReport::json`].
    fn render(&self, report: &RunReport) -> anyhow::Result<String> {
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
    /// Whether people see the result as it is written.
    pub(super) fn is_terminal(&self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::File(file, _) => file.is_terminal(),
        }
    }

    /// Writes the whole result; one that a file does not take goes to standard output, and one that
    /// this does not take to standard error, so that it is not lost. A reader that went away
    /// (`| head -1`) is not an error.
    ///
    /// # Errors
    /// The bytes could not be written where they were wanted.
    pub fn write(self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Stdout => or_stderr(text),
            Self::File(file, path) => write_file(file, text).or_else(|error| {
                or_stderr(text)?;
                let path = path.display();
                Err(error).with_context(|| {
                    format!("cannot write to {path}, so the result is on standard output")
                })
            }),
        }
    }
}

/// To standard output, or where that fails to standard error.
fn or_stderr(text: &str) -> anyhow::Result<()> {
    write_stdout(text).or_else(|error| {
        // Whoever reads neither cannot be told anything.
        let _ = io::stderr().write_all(text.as_bytes());
        Err(error).context("cannot write to standard output, so the result is here")
    })
}

fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn write_file(mut file: File, text: &str) -> io::Result<()> {
    // A device or a pipe has no length to set.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes()).inspect_err(|_| {
        // Half a result would be taken for one; a device has no length to set.
        let _ = file.set_len(0);
    })
}

fn exit_status(report: &RunReport) -> u8 {
    if report.requests.completed == 0 {
        EXIT_NOTHING_COMPLETED
    } else if report.has_failures() {
        EXIT_FAILURES
    } else {
        EXIT_OK
    }
}
