//! What one worker measures: plain counters and preallocated histograms, merged after the run.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::clock::{NEVER, Nanos, nanos};
use super::failure::Failure;
use super::result::{ConnectionCounts, ErrorKind, ErrorTally, TIMELINE_STEP};

/// Longest time a histogram can hold: one hour; longer ones are recorded as that.
const LONGEST: u64 = 3_600_000_000_000;
/// Significant decimal digits of every histogram.
const DIGITS: u8 = 3;
/// Bars of the timeline at most: one hour of them. A longer run keeps its first hour.
const MAX_BARS: usize = 36_000;

/// An empty histogram of nanoseconds with the bounds of all histograms of a run.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).unwrap_or_else(|_| unreachable!("fixed bounds"))
}

/// Where requests of one phase ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
}

/// One request as the recorder sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Sent in the measured window.
    pub(crate) measured: bool,
    /// When it was due, at a fixed rate.
    pub(crate) due: Option<Nanos>,
    /// When its first byte was handed to the kernel.
    pub(crate) started: Nanos,
    /// When it ended.
    pub(crate) ended: Nanos,
}

/// The measurements of one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) warmup: Counts,
    pub(crate) window: Counts,
    pub(crate) connections: ConnectionCounts,
    pub(crate) service_time: Histogram<u64>,
    pub(crate) response_time: Option<Histogram<u64>>,
    pub(crate) lag: Option<Histogram<u64>>,
    pub(crate) failed_time: Histogram<u64>,
    pub(crate) connect_time: Histogram<u64>,
    pub(crate) handshake_time: Histogram<u64>,
    status: Box<[u64; 1000]>,
    pub(crate) errors: BTreeMap<ErrorKind, ErrorTally>,
    pub(crate) received_body: u64,
    pub(crate) timeline: Vec<u64>,
    bar: u64,
    bar_ends: Nanos,
    window_ends: Nanos,
    /// When the last measured request ended.
    pub(crate) last_end: Nanos,
}

impl Recorder {
    /// Empty; `paced` at a fixed rate.
    pub(crate) fn new(paced: bool) -> Self {
        Self {
            warmup: Counts::default(),
            window: Counts::default(),
            connections: ConnectionCounts::default(),
            service_time: histogram(),
            response_time: paced.then(histogram),
            lag: paced.then(histogram),
            failed_time: histogram(),
            connect_time: histogram(),
            handshake_time: histogram(),
            status: Box::new([0; 1000]),
            errors: BTreeMap::new(),
            received_body: 0,
            timeline: Vec::with_capacity(1024),
            bar: 0,
            bar_ends: NEVER,
            window_ends: NEVER,
            last_end: 0,
        }
    }

    /// The measured window begins.
    pub(crate) fn open_window(&mut self, start: Nanos, end: Nanos) {
        self.bar_ends = start.saturating_add(nanos(TIMELINE_STEP));
        self.window_ends = end;
        self.last_end = start;
    }

    /// The measured window ends: what ends later was in flight.
    pub(crate) fn close_window(&mut self, end: Nanos) {
        if self.bar_ends == NEVER {
            return;
        }
        self.window_ends = self.window_ends.min(end);
        self.next_bars(end);
        if self.bar > 0 && self.timeline.len() < MAX_BARS {
            self.timeline.push(self.bar);
        }
        self.bar = 0;
    }

    /// A request was handed to the kernel.
    #[inline]
    pub(crate) fn sent(&mut self, measured: bool, due: Option<Nanos>, now: Nanos) {
        if !measured {
            self.warmup.sent += 1;
            return;
        }
        self.window.sent += 1;
        if let (Some(lag), Some(due)) = (&mut self.lag, due) {
            lag.saturating_record(now.saturating_sub(due));
        }
    }

    /// A request in flight as the window opened belongs to the window.
    pub(crate) fn carry_into_window(&mut self) {
        self.warmup.sent -= 1;
        self.window.sent += 1;
    }

    /// Whether a request that ended then is one of the measured window's results.
    #[inline]
    fn counts(&self, timing: &Timing) -> bool {
        timing.measured && timing.ended <= self.window_ends
    }

    /// The final response had this status, right or not.
    #[inline]
    pub(crate) fn response(&mut self, timing: &Timing, status: u16, body: u64) {
        if self.counts(timing) {
            self.status[usize::from(status).min(999)] += 1;
            self.received_body += body;
        }
    }

    /// A right response was complete.
    #[inline]
    pub(crate) fn completed(&mut self, timing: &Timing) {
        if !timing.measured {
            self.warmup.completed += 1;
            return;
        }
        if timing.ended > self.window_ends {
            return;
        }
        self.window.completed += 1;
        self.last_end = timing.ended;
        self.service_time.saturating_record(timing.ended.saturating_sub(timing.started));
        if let (Some(histogram), Some(due)) = (&mut self.response_time, timing.due) {
            histogram.saturating_record(timing.ended.saturating_sub(due));
        }
        if timing.ended >= self.bar_ends {
            self.next_bars(timing.ended);
        }
        self.bar += 1;
    }

    /// A request ended without a right response.
    pub(crate) fn failed(&mut self, timing: &Timing, failure: &Failure) {
        if !timing.measured {
            self.warmup.failed += 1;
            return;
        }
        if timing.ended > self.window_ends {
            return;
        }
        match failure.kind() {
            ErrorKind::Timeout => self.window.timed_out += 1,
            _ => self.window.failed += 1,
        }
        self.last_end = timing.ended;
        self.failed_time.saturating_record(timing.ended.saturating_sub(timing.started));
        self.error(failure);
    }

    /// Counts a failure, of a request or of a connection, by its kind.
    pub(crate) fn error(&mut self, failure: &Failure) {
        let tally = self.errors.entry(failure.kind()).or_default();
        if tally.count == 0 {
            tally.example = failure.to_string();
        }
        tally.count += 1;
    }

    /// Final responses by status code.
    pub(crate) fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        (0_u16..).zip(self.status.iter().copied()).filter(|&(_, count)| count > 0)
    }

    #[cold]
    fn next_bars(&mut self, now: Nanos) {
        while now >= self.bar_ends && self.timeline.len() < MAX_BARS {
            self.timeline.push(self.bar);
            self.bar = 0;
            self.bar_ends = self.bar_ends.saturating_add(nanos(TIMELINE_STEP));
        }
        if self.timeline.len() == MAX_BARS {
            self.bar_ends = NEVER - 1;
        }
    }
}
