//! The monotonic clock of a run, in nanoseconds since the run began.

use std::time::{Duration, Instant};

/// Nanoseconds since the run began; 584 years fit.
pub(crate) type Nanos = u64;

/// Never reached.
pub(crate) const NEVER: Nanos = u64::MAX;

/// Counts from the moment it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starts at zero.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Now.
    #[inline]
    pub(crate) fn now(self) -> Nanos {
        nanos(self.0.elapsed())
    }
}

/// A duration in nanoseconds, at most [`NEVER`] minus one.
#[inline]
pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER - 1)
}
