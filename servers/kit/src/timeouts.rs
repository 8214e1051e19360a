//! Time limits on what a client does, without a timer per request.
//!
//! A worker has one coarse clock. Connections stamp what they are doing with its ticks (a store
//! each), and a sweep over all connections at every tick finds those over their limit. The rule,
//! [`due`], is a function of the stamps and the time alone.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// The resolution of the clock: limits are kept to within two ticks, and never fall short.
pub(crate) const TICK: Duration = Duration::from_millis(250);

/// A point in time: ticks since the worker started.
pub(crate) type Tick = u32;

/// The clock of a worker, and what else all its connections look at.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    now: Cell<Tick>,
    stopping: Cell<Option<Tick>>,
    crowded: Cell<bool>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            now: Cell::new(0),
            stopping: Cell::new(None),
            crowded: Cell::new(false),
        }
    }

    /// The current tick, as of the last sweep.
    #[inline]
    pub(crate) fn now(&self) -> Tick {
        self.now.get()
    }

    /// Looks at the real time.
    pub(crate) fn advance(&self) {
        let ticks = self.started.elapsed().as_millis() / TICK.as_millis();
        self.now.set(Tick::try_from(ticks).unwrap_or(Tick::MAX));
    }

    /// Whether there are more connections than should keep their buffers while idle.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded.get()
    }

    pub(crate) fn set_crowded(&self, crowded: bool) {
        self.crowded.set(crowded);
    }

    /// When the stop signal came, if it did.
    #[inline]
    pub(crate) fn stopping(&self) -> Option<Tick> {
        self.stopping.get()
    }

    /// The stop signal has come.
    pub(crate) fn stop(&self) {
        self.advance();
        self.stopping.set(Some(self.now()));
    }

    #[cfg(test)]
    pub(crate) fn set(&self, now: Tick) {
        self.now.set(now);
    }
}

/// How long a client may take.
#[derive(Clone, Debug)]
pub(crate) struct Timeouts {
    /// For the TLS handshake.
    pub(crate) handshake: Duration,
    /// From the first byte of a request to the end of its head.
    pub(crate) head: Duration,
    /// Between two requests, and before the first.
    pub(crate) idle: Duration,
    /// Without a byte, in the middle of a request body or of an answer.
    pub(crate) stall: Duration,
    /// Before the least rate of a body or an answer counts.
    pub(crate) grace: Duration,
    /// The least rate of a body or a blocked answer, in bytes per second: what Kestrel calls
    /// `MinRequestBodyDataRate` and `MinResponseDataRate`, with its defaults.
    pub(crate) least_rate: u64,
    /// After the last answer of a closing connection, for the client to take it and to close; the
    /// limits of a body hold as well for what it still sends.
    pub(crate) linger: Duration,
    /// Of idleness, until hyper's buffers are given back.
    pub(crate) rest: Duration,
    /// For idle connections after a stop signal, so that a request on its way is answered.
    pub(crate) stop_grace: Duration,
    /// For requests in flight after a stop signal.
    pub(crate) stop: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            stall: Duration::from_secs(10),
            grace: Duration::from_secs(5),
            least_rate: 240,
            linger: Duration::from_secs(30),
            rest: Duration::from_secs(1),
            stop_grace: Duration::from_millis(500),
            stop: Duration::from_secs(10),
        }
    }
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The TLS handshake.
    Handshake,
    /// Waiting for a request, without buffers.
    Resting,
    /// Waiting for a request.
    Idle,
    /// Part of a request's head has come.
    Head,
    /// The server is at work; the client owes nothing.
    Answering,
    /// The server waits for the request's body.
    Body,
    /// The answer is being written.
    Responding,
    /// The last answer was given; the client may still be sending.
    Lingering,
}

/// A flow of bytes under observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// When it began.
    pub(crate) since: Tick,
    /// When the last byte moved.
    pub(crate) progress: Tick,
    /// Bytes moved since it began.
    pub(crate) bytes: u64,
}

impl Flow {
    pub(crate) const fn starting(now: Tick) -> Self {
        Self { since: now, progress: now, bytes: 0 }
    }

    pub(crate) const fn moved(self, now: Tick, bytes: u64) -> Self {
        Self { since: self.since, progress: now, bytes: self.bytes + bytes }
    }

    fn too_slow(&self, now: Tick, limits: &Timeouts) -> bool {
        over(self.progress, now, limits.stall)
            || (over(self.since, now, limits.grace)
                && self.bytes < limits.least_rate * seconds(self.since, now))
    }
}

/// The stamps of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    pub(crate) phase: Phase,
    /// When the phase began, and for the phases of reading what was read.
    pub(crate) reading: Flow,
    /// A write the client does not take, if there is one.
    pub(crate) blocked_write: Option<Flow>,
}

/// What is to be done about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing is owed either way: close.
    Close,
    /// Give the buffers back until the next request.
    Rest,
    /// The head did not come: answer 408 and close.
    HeadTimeout,
    /// The body did not come: let the handler know, which answers 408.
    BodyTimeout,
    /// The client takes nothing or owes a handshake: drop it.
    Abort,
}

/// What is due at `now` for a connection with these stamps. `stopping` is when the stop signal
/// came, if it did.
pub(crate) fn due(
    stamps: &Stamps,
    now: Tick,
    stopping: Option<Tick>,
    limits: &Timeouts,
) -> Option<Verdict> {
    if stamps.blocked_write.is_some_and(|write| write.too_slow(now, limits)) {
        return Some(Verdict::Abort);
    }
    let since = stamps.reading.since;
    match stamps.phase {
        Phase::Handshake => over(since, now, limits.handshake).then_some(Verdict::Abort),
        Phase::Resting | Phase::Idle => {
            if over(since, now, limits.idle)
                || stopping.is_some_and(|stop| over(since.max(stop), now, limits.stop_grace))
            {
                Some(Verdict::Close)
            } else if stamps.phase == Phase::Idle && over(since, now, limits.rest) {
                Some(Verdict::Rest)
            } else {
                None
            }
        }
        Phase::Head => over(since, now, limits.head).then_some(Verdict::HeadTimeout),
        Phase::Body => stamps.reading.too_slow(now, limits).then_some(Verdict::BodyTimeout),
        Phase::Answering | Phase::Responding => None,
        Phase::Lingering => (over(since, now, limits.linger)
            || stamps.reading.too_slow(now, limits))
        .then_some(Verdict::Abort),
    }
}

/// Whether more than `limit` has certainly passed between two ticks: a stamp may be a tick old.
pub(crate) fn over(since: Tick, now: Tick, limit: Duration) -> bool {
    let ticks = limit.as_millis().div_ceil(TICK.as_millis());
    u128::from(now.saturating_sub(since)) > ticks
}

/// Whole seconds between two ticks.
fn seconds(since: Tick, now: Tick) -> u64 {
    (TICK * now.saturating_sub(since)).as_secs()
}

#[cfg(test)]
mod tests;
