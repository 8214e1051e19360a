//! `loadgen report`: the files of a comparison again, from its result alone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};

use super::EXIT_OK;
use crate::experiment::record::{Comparison, SCHEMA};
use crate::report::compare;
use crate::schema;

/// Arguments of `loadgen report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of a comparison, with its result.json
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Makes report.html, report.md, cells.csv, trials.csv and the charts again.
///
/// # Errors
/// No result there, or one that cannot be read; files that cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (result, folder) = locate(&args.folder)?;
    let comparison = read(&result)?;
    for path in compare::write(&comparison, &folder)? {
        // A reader that went away has seen enough; the files are written.
        let _ =
            std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", path.display()));
    }
    Ok(ExitCode::from(EXIT_OK))
}

/// The result.json that `path` names, itself or as its folder; and the folder.
fn locate(path: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    if path.is_dir() {
        let result = path.join("result.json");
        if !result.is_file() {
            bail!("{} has no result.json: name a folder that `compare` made", path.display());
        }
        return Ok((result, path.to_owned()));
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((path.to_owned(), folder.unwrap_or(Path::new(".")).to_owned()))
}

/// The comparison in a result.json, or in the folder that has it.
///
/// # Errors
/// What is wrong with it, in one line.
pub(super) fn read(path: &Path) -> anyhow::Result<Comparison> {
    let (path, folder) = locate(path)?;
    let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    schema::read(&text, SCHEMA).map_err(|what| {
        let file = path.display();
        if what.starts_with("is cut off") && folder.join("trials.jsonl").is_file() {
            let folder = folder.display();
            anyhow!("{file} {what}; `loadgen compare --resume {folder}` makes it again")
        } else {
            anyhow!("{file} {what}")
        }
    })
}
