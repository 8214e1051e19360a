//! The folder of one comparison: the plan, then trials appended as they end, then results, written
//! whole. What was killed in between can be gone on with.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::Cell;
use super::record::{Host, Manifest, Trial};
use crate::schema;

/// Name of the file with the [`StoredPlan`].
const PLAN: &str = "plan.json";
/// Value of [`StoredPlan::schema`].
pub const PLAN_SCHEMA: &str = "loadgen-plan/1";
/// Name of the file with a line for each [`Trial`].
const TRIALS: &str = "trials.jsonl";

/// What is measured, as stored before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPlan {
    /// Always [`PLAN_SCHEMA`].
    pub schema: String,
    /// How it was asked for; its `order` is what runs.
    pub manifest: Manifest,
    /// The machine.
    pub host: Host,
    /// What is measured, in the order of the tables.
    pub cells: Vec<Cell>,
    /// What is not measured, and how to get it.
    pub skipped: Vec<String>,
    /// Where it was asked for: relative paths of the command line begin here.
    pub directory: PathBuf,
}

/// An open result folder.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    trials: File,
}

impl Store {
    /// Makes `folder` for a new comparison.
    ///
    /// # Errors
    /// It cannot be written, or has a comparison already.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder.join("logs"))?;
        let path = folder.join(TRIALS);
        let trials = OpenOptions::new().append(true).create_new(true).open(&path);
        let trials = trials.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::new(
                error.kind(),
                format!("{} has a comparison already; name another folder", folder.display()),
            ),
            _ => error,
        })?;
        trials.try_lock().map_err(io::Error::from)?;
        Ok(Self { folder: folder.to_owned(), trials })
    }

    /// Opens `folder` to go on with the comparison that was begun there: its plan, and the trials
    /// that ended. One that was being written when the process was killed is cut off.
    ///
    /// # Errors
    /// There is no comparison that can be gone on with, or it runs at this moment.
    pub fn resume(folder: &Path) -> io::Result<(Self, StoredPlan, Vec<Trial>)> {
        let path = folder.join(TRIALS);
        let plan_path = folder.join(PLAN);
        let plan = fs::read(&plan_path).map_err(|error| name(&plan_path, &error))?;
        let plan = schema::read(&plan, PLAN_SCHEMA).map_err(|what| {
            io::Error::other(format!("{} {what}; start a new comparison", plan_path.display()))
        })?;
        let trials = OpenOptions::new().append(true).read(true).open(&path);
        let file = trials.map_err(|error| name(&path, &error))?;
        file.try_lock().map_err(|_| name(&path, &"another loadgen is writing it"))?;
        let text = fs::read(&path).map_err(|error| name(&path, &error))?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let done = trials_in(&text[..whole]).map_err(|(line, error)| {
            let place = format!("{}:{line}", path.display());
            io::Error::other(format!("{place}: {error}; without that line it is measured again"))
        })?;
        file.set_len(whole as u64)?;
        fs::create_dir_all(folder.join("logs"))?;
        Ok((Self { folder: folder.to_owned(), trials: file }, plan, done))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where contenders' output goes.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// Appends a trial; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk is full, or gone.
    pub fn append(&mut self, trial: &Trial) -> io::Result<()> {
        let mut line = serde_json::to_vec(trial)?;
        line.push(b'\n');
        let path = self.folder.join(TRIALS);
        let before = self.trials.metadata().map_err(|error| name(&path, &error))?.len();
        self.trials.write_all(&line).and_then(|()| self.trials.sync_data()).map_err(|error| {
            // Half a line would be cut off when the run is gone on with; it need not stay till then.
            let _ = self.trials.set_len(before);
            name(&path, &error)
        })
    }

    /// Writes `value` as JSON under `name`: whole, or not at all.
    ///
    /// # Errors
    /// The disk is full, or gone.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.write(name, &text)
    }

    /// Writes a file under `name`: whole, or not at all.
    ///
    /// # Errors
    /// The disk is full, or gone.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        let temporary = self.folder.join(format!(".{name}.tmp"));
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| {
            // Gives back the room it took on a full disk.
            let _ = fs::remove_file(&temporary);
            self::name(&path, &error)
        })
    }

    /// Removes what is empty when the run is over.
    pub fn tidy(&self) {
        // Fails when contenders left output there, and then it stays.
        let _ = fs::remove_dir(self.logs());
    }
}

/// The trials in the whole lines `text`; or the number of a line that is none, and why.
fn trials_in(text: &[u8]) -> Result<Vec<Trial>, (usize, serde_json::Error)> {
    let lines = text.split(|&byte| byte == b'\n').zip(1..);
    let parse = |(line, number)| serde_json::from_slice(line).map_err(|error| (number, error));
    lines.filter(|(line, _)| !line.is_empty()).map(parse).collect()
}

/// `error` with the file it is about.
fn name(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_comparison_cannot_be_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let message = Store::resume(dir.path()).unwrap_err().to_string();
        assert!(message.contains("plan.json: No such file"), "{message}");
    }

    #[test]
    fn a_folder_with_a_comparison_is_not_written_to_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        let store = Store::create(&folder).unwrap();
        store.write("report.md", b"x").unwrap();
        assert_eq!(fs::read(folder.join("report.md")).unwrap(), b"x");
        let message = Store::create(&folder).unwrap_err().to_string();
        assert!(message.contains("has a comparison already"), "{message}");
    }
}
