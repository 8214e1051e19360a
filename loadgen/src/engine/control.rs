//! What the coordinating thread and the workers tell each other; nothing of it is touched for a
//! request.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hdrhistogram::Histogram;

use super::StopFlag;
use super::clock::{NEVER, Nanos};

/// Told by a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Each of its connections has been attempted.
    Ready {
        /// Every connection that failed, failed in TLS.
        only_tls_failures: bool,
    },
    /// It sends nothing more.
    SendingDone,
}

/// Told by the coordinator, looked at once in each turn of a worker's loop.
#[derive(Debug)]
pub(crate) struct Control<'a> {
    start: AtomicU64,
    abort: AtomicBool,
    stop: &'a StopFlag,
}

impl<'a> Control<'a> {
    pub(crate) fn new(stop: &'a StopFlag) -> Self {
        Self { start: AtomicU64::new(NEVER), abort: AtomicBool::new(false), stop }
    }

    /// The load begins at `at`.
    pub(crate) fn start(&self, at: Nanos) {
        self.start.store(at, Ordering::Release);
    }

    /// When the load began, if it did.
    pub(crate) fn started(&self) -> Option<Nanos> {
        Some(self.start.load(Ordering::Acquire)).filter(|&at| at != NEVER)
    }

    /// The run ends at once.
    pub(crate) fn abort(&self) {
        self.abort.store(true, Ordering::Release);
    }

    pub(crate) fn aborted(&self) -> bool {
        self.abort.load(Ordering::Acquire)
    }

    /// The user wants the run to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.stop.is_raised()
    }
}

/// One worker's counts, as it publishes them a few times a second; on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    completed: AtomicU64,
    failed: AtomicU64,
    open: AtomicU64,
    established: AtomicU64,
    latency_wanted: AtomicBool,
    service_time: Mutex<Option<Histogram<u64>>>,
}

/// A reading of a [`Slot`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) open: u64,
    pub(crate) established: u64,
}

impl Slot {
    /// New counts, and where the last copy was taken, a copy of the service times.
    pub(crate) fn publish(&self, reading: &Reading, service_time: &Histogram<u64>) {
        self.completed.store(reading.completed, Ordering::Relaxed);
        self.failed.store(reading.failed, Ordering::Relaxed);
        self.open.store(reading.open, Ordering::Relaxed);
        self.established.store(reading.established, Ordering::Relaxed);
        if self.latency_wanted.load(Ordering::Relaxed)
            && let Ok(mut place) = self.service_time.try_lock()
        {
            *place = Some(service_time.clone());
            self.latency_wanted.store(false, Ordering::Relaxed);
        }
    }

    /// Adds the service times published last to `all`, and asks for new ones.
    pub(crate) fn add_service_time(&self, all: &mut Histogram<u64>) {
        if let Ok(place) = self.service_time.lock()
            && let Some(part) = &*place
        {
            // The bounds of all histograms of a run are the same, so everything fits.
            let _ = all.add(part);
        }
        self.latency_wanted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Reading {
        Reading {
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            open: self.open.load(Ordering::Relaxed),
            established: self.established.load(Ordering::Relaxed),
        }
    }
}
