//! The folder of one comparison: trials are appended as they end, results written whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::record::Trial;

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
        Ok(Self { folder: folder.to_owned(), trials })
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
