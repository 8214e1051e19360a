//! What runs now and how long is left: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::say::say;
use crate::experiment::plan::PlannedTrial;
use crate::experiment::record::Trial;
use crate::experiment::run::Progress;
use crate::experiment::verdict::Verdict;
use crate::report::compare::minutes;
use crate::report::units;

/// Progress on standard error.
pub(super) struct ShownProgress {
    bar: Option<ProgressBar>,
    position: String,
}

impl ShownProgress {
    pub(super) fn new(trials: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(trials as u64);
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, position: String::new() }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(line)),
            None => say(line),
        }
    }
}

impl Progress for ShownProgress {
    fn measuring_ceilings(&mut self, count: usize) {
        let loads = units::counted(count as u64, "load");
        let message = format!("measuring what the generator itself can reach ({loads})");
        match &self.bar {
            Some(bar) => bar.set_message(message),
            None => say(format_args!("First {message}.")),
        }
    }

    fn started(&mut self, planned: &PlannedTrial, number: usize, total: usize, left: Duration) {
        let left = minutes(left);
        if let Some(bar) = &self.bar {
            bar.set_position(number as u64 - 1);
            bar.set_message(format!("{}, about {left} left", name(planned)));
        } else {
            self.position = format!("[{number}/{total}, about {left} left]");
        }
    }

    fn ended(&mut self, trial: &Trial) {
        let name = name(&trial.planned);
        if trial.verdict == Verdict::Invalid {
            self.say(&format!("{name} is invalid: {}", trial.reason));
            for line in trial.output.iter().flat_map(|output| output.lines()) {
                self.say(&format!("    {line}"));
            }
        } else if self.bar.is_none()
            && let Some(load) = &trial.load
        {
            let rate = units::rate(load.rate_per_s);
            let what = if trial.sink.is_some() { "uploads" } else { "requests" };
            let verdict = trial.verdict.name();
            self.say(&format!("{} {name}: {rate} {what}/s, {verdict}", self.position));
        }
    }
}

fn name(planned: &PlannedTrial) -> String {
    let cell = &planned.cell;
    let connections = units::counted(cell.connections.into(), "connection");
    format!("{}/{} at {connections}", cell.scenario, cell.contender)
}
