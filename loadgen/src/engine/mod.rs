//! The load engine: sends requests, reads every byte of the responses, and measures.
//!
//! It knows nothing of contenders or reports: a [`RunSpec`] goes in, a [`RunResult`] comes out.

mod assemble;
mod clock;
mod conn;
mod control;
mod coordinator;
mod failure;
#[doc(hidden)]
pub mod hot;
mod limits;
mod pacer;
mod recorder;
mod request;
mod response;
mod result;
mod sampler;
mod socket;
mod spec;
mod tap;
mod template;
mod tls;
mod worker;

pub use result::*;
pub use spec::*;
pub use template::{Template, TemplateError};

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Called by the thread that coordinates a run, never by its workers.
pub trait Observer {
    /// The measured window begins now.
    fn window_opened(&mut self) {}
    /// The measured window ended just now.
    fn window_closed(&mut self) {}
    /// Called a few times a second with what happened so far.
    fn progress(&mut self, _live: &Live) {}
    /// Whether [`Live::service_time_p50`] is to be worked out for [`Observer::progress`].
    fn wants_latency(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
impl Observer for () {}

/// Where a run in progress is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Connections are being opened.
    Connecting,
    /// Load that does not count.
    WarmUp,
    /// The measured window.
    Window,
}

/// Counts of a run in progress.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Where the run is.
    pub stage: Stage,
    /// Since that stage began.
    pub elapsed: Duration,
    /// Completed in the stage.
    pub completed: u64,
    /// Failed or timed out in the stage.
    pub failed: u64,
    /// Connections open now.
    pub open: u64,
    /// Median service time of the measured window so far, if it was wanted.
    pub service_time_p50: Option<Duration>,
}

/// Tells a run to end early; shared with signal handlers.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicU8);

impl StopFlag {
    /// A flag not yet raised; usable in a `static`.
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }
    /// Ask the run to end now; what was measured is kept.
    pub fn raise(&self) {
        self.0.store(1, Ordering::Relaxed);
    }
    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A file named in the spec cannot be used.
    #[error("{0}")]
    Input(String),
    /// The operating system refused something the run needs.
    #[error("{context}: {source}")]
    Os {
        /// What was tried.
        context: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Does the run that `spec` describes and returns what was measured.
///
/// # Errors
/// Only what keeps a run from starting is an error; a server that fails is a result.
pub fn run(
    spec: &RunSpec,
    stop: &StopFlag,
    observer: &mut dyn Observer,
) -> Result<RunResult, EngineError> {
    coordinator::run(spec, stop, observer)
}
