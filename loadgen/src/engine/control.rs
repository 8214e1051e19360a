//! What the coordinating thread and the workers tell each other; nothing of it is touched for a
//! request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    service_time_ns: AtomicU64,
}

/// A reading of a [`Slot`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) open: u64,
    pub(crate) established: u64,
    /// Sum over the completed requests of the measured window.
    pub(crate) service_time_ns: u64,
}

impl Slot {
    pub(crate) fn publish(&self, reading: &Reading) {
        self.completed.store(reading.completed, Ordering::Relaxed);
        self.failed.store(reading.failed, Ordering::Relaxed);
        self.open.store(reading.open, Ordering::Relaxed);
        self.established.store(reading.established, Ordering::Relaxed);
        self.service_time_ns.store(reading.service_time_ns, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Reading {
        Reading {
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            open: self.open.load(Ordering::Relaxed),
            established: self.established.load(Ordering::Relaxed),
            service_time_ns: self.service_time_ns.load(Ordering::Relaxed),
        }
    }
}
