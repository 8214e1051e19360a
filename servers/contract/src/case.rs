//! Named cases of a contract: all are run, and one error tells every difference.

use std::fmt::Write as _;

use anyhow::{Result, bail};

/// Collects the outcome of every case of one contract.
#[derive(Debug, Default)]
pub struct Cases {
    run: usize,
    differences: Vec<String>,
}

impl Cases {
    /// Runs one case and keeps its error, so that later cases are asked all the same.
    pub fn case(&mut self, name: &str, run: impl FnOnce() -> Result<()>) {
        self.run += 1;
        if let Err(error) = run() {
            self.differences.push(format!("{name}: {error:#}"));
        }
    }

    /// Ends the contract.
    ///
    /// # Errors
    /// When a case differed: one line for each, with what `program` wrote to its stderr.
    pub fn finish(self, program: &crate::Running) -> Result<()> {
        if self.differences.is_empty() {
            return Ok(());
        }
        let mut text =
            format!("{} of {} cases differ from the contract", self.differences.len(), self.run);
        for difference in &self.differences {
            let _ = write!(text, "\n  {difference}");
        }
        let stderr = program.stderr();
        if !stderr.is_empty() {
            let _ = write!(text, "\nstderr of the program:\n{stderr}");
        }
        bail!(text)
    }
}
