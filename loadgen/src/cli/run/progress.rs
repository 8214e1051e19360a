//! Live progress on a terminal; nothing anywhere else.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::screen::Screen;
use crate::engine::{Live, Observer, RunSpec, Stage, Stop};
use crate::report::units;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Shows rate, failures and the time left on standard error.
pub(super) struct Progress {
    /// None unless standard error is a terminal that can redraw.
    screen: Option<Screen<Live>>,
}

impl Progress {
    /// The progress of the run `spec`.
    pub(super) fn new(spec: &RunSpec) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let seen = std::io::stderr().is_terminal() && !dumb;
        // A run without a thread to draw on is still a run.
        let screen = seen.then(|| {
            let mut shown = Shown::new(spec.stop);
            Screen::start(1, move |live| match live {
                Some(live) => shown.draw(&live),
                None => shown.bar.finish_and_clear(),
            })
        });
        Self { screen: screen.and_then(Result::ok) }
    }

    /// Removes the bar; `printed`: the result is printed on the terminal next.
    pub(super) fn finish(self, printed: bool) {
        if let Some(screen) = self.screen {
            screen.finish(printed);
        }
    }
}

impl Observer for Progress {
    fn wants_latency(&self) -> bool {
        self.screen.is_some()
    }

    fn progress(&mut self, live: &Live) {
        if let Some(screen) = &self.screen {
            screen.show(*live);
        }
    }
}

/// What is on the terminal.
struct Shown {
    bar: ProgressBar,
    stop: Stop,
    /// What was drawn last.
    last: Option<Live>,
}

impl Shown {
    fn new(stop: Stop) -> Self {
        let bar =
            ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, stop, last: None }
    }

    fn draw(&mut self, live: &Live) {
        let rate = self.rate(live).map_or_else(|| "-".into(), units::rate);
        let p50 = live.service_time_p50.map(|p50| p50.as_secs_f64() * 1e6);
        let mut message = format!(
            "{rate} requests/s, p50 {}, {} failed, {}",
            units::time_us_or_dash(p50),
            units::count(live.failed),
            units::counted(live.open, "connection")
        );
        match live.stage {
            Stage::Connecting => message.push_str(", connecting"),
            Stage::WarmUp => message.push_str(", warming up"),
            Stage::Window => {
                let (share, left) = self.done(live);
                self.bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
                if let Some(left) = left {
                    message.push_str(&format!(", {} s left", left.as_secs_f64().ceil()));
                }
            }
        }
        self.bar.set_message(message);
        self.last = Some(*live);
    }

    fn rate(&self, live: &Live) -> Option<f64> {
        let last = self.last.filter(|last| last.stage == live.stage)?;
        let seconds = live.elapsed.checked_sub(last.elapsed)?.as_secs_f64();
        let completed = live.completed.saturating_sub(last.completed);
        Some(completed as f64 / seconds).filter(|rate| rate.is_finite())
    }

    /// Share of the window that is done, and the time left.
    fn done(&self, live: &Live) -> (f64, Option<Duration>) {
        let elapsed = live.elapsed;
        match self.stop {
            Stop::Duration(all) => {
                (elapsed.as_secs_f64() / all.as_secs_f64(), Some(all.saturating_sub(elapsed)))
            }
            Stop::Requests(all) => {
                let share = (live.completed + live.failed) as f64 / all.get() as f64;
                let left = elapsed.as_secs_f64() * (1.0 - share) / share;
                (share, Duration::try_from_secs_f64(left).ok())
            }
        }
    }
}
