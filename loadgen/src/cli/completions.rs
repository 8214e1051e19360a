//! `loadgen completions` and `loadgen man`: made from the arguments themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::EXIT_OK;
use super::say::say;

/// Arguments of `loadgen completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell: `loadgen completions bash > ~/.local/share/bash-completion/completions/loadgen`
    shell: clap_complete::Shell,
}

/// Arguments of `loadgen man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Where the pages go: `loadgen man ~/.local/share/man/man1`
    folder: PathBuf,
}

/// Prints the completions of `command`.
///
/// # Errors
/// None.
pub fn run(args: &Args, command: &mut clap::Command) -> anyhow::Result<ExitCode> {
    use std::io::Write as _;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "loadgen", &mut script);
    // A reader that went away has seen enough.
    let _ = std::io::stdout().write_all(&script);
    Ok(ExitCode::from(EXIT_OK))
}

/// Writes a page for `command` and each of its subcommands.
///
/// # Errors
/// The folder cannot be written.
pub fn man(args: &ManArgs, command: clap::Command) -> anyhow::Result<ExitCode> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .with_context(|| folder.display().to_string())?;
    say(format_args!("Manual pages are in {}: man -l {0}/loadgen.1", folder.display()));
    Ok(ExitCode::from(EXIT_OK))
}
