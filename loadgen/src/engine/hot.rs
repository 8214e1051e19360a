//! The steps that every request goes through, one by one, for benches and fuzzing only.

use super::clock::Nanos;
use super::recorder::{Recorder, Timing};
use super::request::RequestPlan;
use super::response::{Progress, ResponseParser};
use super::spec::RunSpec;
use super::template::Values;

/// The response parser.
pub struct Parser(ResponseParser);

impl Default for Parser {
    fn default() -> Self {
        Self(ResponseParser::new(false))
    }
}

impl Parser {
    /// Parses one response given in pieces; its status and how many body bytes it had, or `None`
    /// when it is incomplete or wrong.
    pub fn response(&mut self, pieces: &[&[u8]]) -> Option<(u16, u64)> {
        self.0.start();
        for piece in pieces {
            match self.0.advance(piece, &mut ()).ok()? {
                Progress::Complete(_) => return Some((self.0.status(), self.0.body_len())),
                Progress::Partial => {}
            }
        }
        None
    }
}

/// The recorder of a worker whose window is open.
pub struct Recording(Recorder);

impl Default for Recording {
    fn default() -> Self {
        let mut recorder = Recorder::new(false);
        recorder.open_window(0, Nanos::MAX);
        Self(recorder)
    }
}

impl Recording {
    /// Records one right response.
    pub fn completed(&mut self, started: Nanos, ended: Nanos) {
        let timing = Timing { measured: true, due: None, started, ended };
        self.0.sent(true, None, started);
        self.0.response(&timing, 200, 12);
        self.0.completed(&timing);
    }
}

/// The request writer.
pub struct Writer {
    plan: RequestPlan,
    values: Values,
    expanded: Vec<u8>,
}

impl Writer {
    /// Writes the request of `spec`.
    pub fn new(spec: &RunSpec) -> Self {
        let values = Values::new(1, 0, 1);
        Self { plan: RequestPlan::new(spec), values, expanded: Vec::new() }
    }

    /// The bytes of the next request, but for a large body.
    pub fn request(&mut self) -> &[u8] {
        self.plan.expand(&mut self.values, &mut self.expanded);
        self.plan.unwritten(&self.expanded, 0)
    }
}
