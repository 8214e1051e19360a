//! Counters that each worker has to itself, and a reader sums.

use std::{
    cell::OnceCell,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

thread_local! {
    /// The counters of this worker, made at its first request.
    static OWN: OnceCell<Arc<WorkerCounts>> = const { OnceCell::new() };
}

/// The counters of one worker, on a cache line (and its prefetched neighbour) of their own.
#[derive(Default)]
#[repr(align(128))]
struct WorkerCounts {
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// The completed requests of a process and their bytes. There is one per process.
#[derive(Default)]
pub(crate) struct Counts {
    /// Locked when a worker meets its first request, and by readers.
    workers: Mutex<Vec<Arc<WorkerCounts>>>,
}

impl Counts {
    /// Counts one completed request.
    pub(crate) fn add(&self, bytes: u64) {
        OWN.with(|own| {
            let own = own.get_or_init(|| self.register());
            own.requests.fetch_add(1, Ordering::Relaxed);
            own.bytes.fetch_add(bytes, Ordering::Relaxed);
        });
    }

    fn register(&self) -> Arc<WorkerCounts> {
        let counts = Arc::new(WorkerCounts::default());
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counts));
        counts
    }

    /// Requests and bytes of all workers.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.iter().fold((0, 0), |(requests, bytes), worker| {
            (
                requests + worker.requests.load(Ordering::Relaxed),
                bytes + worker.bytes.load(Ordering::Relaxed),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_the_sum_over_threads() {
        let counts = Counts::default();
        std::thread::scope(|scope| {
            for bytes in 1..=4 {
                let counts = &counts;
                scope.spawn(move || (0..100).for_each(|_| counts.add(bytes)));
            }
        });
        assert_eq!(counts.totals(), (400, 1000));
    }
}
