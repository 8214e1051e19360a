//! The folder of one comparison: the plan, then trials appended as they end, then results, written
//! whole. What was killed in between can be gone on with.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::Cell;
use super::record::{Host, Manifest, Trial};

/// Name of the file with the [`StoredPlan`].
const PLAN: &str = "plan.json";

/// What is measured, as stored before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPlan {
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
        let path = folder.join("trials.jsonl");
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
        let path = folder.join("trials.jsonl");
        let name = |path: &Path, error: &dyn std::fmt::Display| {
            io::Error::other(format!("{}: {error}", path.display()))
        };
        let plan_path = folder.join(PLAN);
        let plan = fs::read(&plan_path).map_err(|error| name(&plan_path, &error))?;
        let plan = serde_json::from_slice(&plan).map_err(|error| name(&plan_path, &error))?;
        let trials = OpenOptions::new().append(true).read(true).open(&path);
        let file = trials.map_err(|error| name(&path, &error))?;
        file.try_lock().map_err(|_| name(&path, &"another loadgen is writing it"))?;
        let text = fs::read(&path).map_err(|error| name(&path, &error))?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let done = lines.map(serde_json::from_slice).collect::<Result<Vec<Trial>, _>>();
        let done = done.map_err(|error| name(&path, &error))?;
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
        self.trials.write_all(&line)?;
        self.trials.sync_data()
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
        let temporary = self.folder.join(format!(".{name}.tmp"));
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&temporary, self.folder.join(name))
    }

    /// Removes what is empty when the run is over.
    pub fn tidy(&self) {
        // Fails when contenders left output there, and then it stays.
        let _ = fs::remove_dir(self.logs());
    }
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
