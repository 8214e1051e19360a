//! What runs now and how long is left: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::say::say;
use crate::cli::screen::Screen;
use crate::experiment::plan::PlannedTrial;
use crate::experiment::record::Trial;
use crate::experiment::run::Progress;
use crate::experiment::verdict::Verdict;
use crate::report::compare::minutes;
use crate::report::units;

/// Frames that may wait to be drawn: more than most comparisons have.
const WAITING: usize = 10_000;

/// Progress on standard error.
pub(super) struct ShownProgress {
    screen: Option<Screen<Frame>>,
    on_terminal: bool,
    position: String,
}

/// A change of what is shown.
enum Frame {
    /// A line above the bar, or of a log.
    Line(String),
    /// What the bar says, and how many trials are done.
    Bar(u64, String),
}

impl ShownProgress {
    /// The progress of a comparison of so many trials.
    pub(super) fn new(trials: usize) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = on_terminal.then(|| {
            let bar = ProgressBar::new(trials as u64);
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let screen = Screen::start(WAITING, move |frame| match (frame, &bar) {
            (Some(Frame::Line(line)), Some(bar)) => bar.suspend(|| say(line)),
            (Some(Frame::Line(line)), None) => say(line),
            (Some(Frame::Bar(position, message)), Some(bar)) => {
                bar.set_position(position);
                bar.set_message(message);
            }
            (None, Some(bar)) => bar.finish_and_clear(),
            (Some(Frame::Bar(..)) | None, None) => {}
        });
        // A comparison without a thread to draw on is still a comparison.
        Self { screen: screen.ok(), on_terminal, position: String::new() }
    }

    /// Removes the bar; `printed`: the tables are printed on the terminal next.
    pub(super) fn finish(self, printed: bool) {
        if let Some(screen) = self.screen {
            screen.finish(printed);
        }
    }

    fn show(&self, frame: Frame) {
        if let Some(screen) = &self.screen {
            screen.show(frame);
        }
    }

    fn line(&self, line: String) {
        self.show(Frame::Line(line));
    }
}

impl Progress for ShownProgress {
    fn measuring_ceilings(&mut self, count: usize) {
        let loads = units::counted(count as u64, "load");
        let message = format!("measuring what the generator itself can reach ({loads})");
        if self.on_terminal {
            self.show(Frame::Bar(0, message));
        } else {
            self.line(format!("First {message}."));
        }
    }

    fn started(&mut self, planned: &PlannedTrial, number: usize, total: usize, left: Duration) {
        let left = minutes(left);
        if self.on_terminal {
            let message = format!("{}, about {left} left", name(planned));
            self.show(Frame::Bar(number as u64 - 1, message));
        } else {
            self.position = format!("[{number}/{total}, about {left} left]");
        }
    }

    fn ended(&mut self, trial: &Trial) {
        let name = name(&trial.planned);
        if trial.verdict == Verdict::Invalid {
            self.line(format!("{name} is invalid: {}", trial.reason));
            for line in trial.output.iter().flat_map(|output| output.lines()) {
                self.line(format!("    {line}"));
            }
        } else if !self.on_terminal
            && let Some(load) = &trial.load
        {
            let rate = units::rate(load.rate_per_s);
            let what = if trial.sink.is_some() { "uploads" } else { "requests" };
            let verdict = trial.verdict.name();
            self.line(format!("{} {name}: {rate} {what}/s, {verdict}", self.position));
        }
    }
}

fn name(planned: &PlannedTrial) -> String {
    let cell = &planned.cell;
    let connections = units::counted(cell.connections.into(), "connection");
    format!("{}/{} at {connections}", cell.scenario, cell.contender)
}
