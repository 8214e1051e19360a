//! The schedule of an open loop: when each request is due, in closed form.

use super::clock::{NEVER, Nanos};

/// Due moments of one worker's requests: request `m` of the run is due at `m / rate` seconds after
/// the start, and worker `w` of `W` sends those with `m mod W = w`.
///
/// The worker's connections take turns, so with `N` connections over all workers, connection `i`
/// sends at `(k + i/N) · N/rate`: each with its own phase, no bursts, no drift, and right for any
/// rate, below the number of threads or below one a second.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Nanoseconds between two requests of the run, times 2^32.
    interval: u128,
    start: Nanos,
    /// Requests with a number below this are sent.
    limit: u64,
    next: u64,
    workers: u64,
}

impl Pacer {
    /// The schedule of worker `worker` of `workers`, not started.
    pub(crate) fn new(per_second: f64, worker: u64, workers: u64) -> Self {
        let interval = (1e9 / per_second * 4_294_967_296.0).round().clamp(1.0, 1e30) as u128;
        Self { interval, start: NEVER, limit: u64::MAX, next: worker, workers }
    }

    /// Starts over at `start`, for the first `limit` requests of the run.
    pub(crate) fn start(&mut self, start: Nanos, limit: u64) {
        self.start = start;
        self.limit = limit;
        self.next %= self.workers;
    }

    /// When this worker's next request is due; [`NEVER`] before the start and after the last.
    pub(crate) fn next_due(&self) -> Nanos {
        if self.start == NEVER || self.next >= self.limit {
            return NEVER;
        }
        let after_start = (u128::from(self.next) * self.interval) >> 32;
        u64::try_from(after_start).map_or(NEVER, |after| self.start.saturating_add(after))
    }

    /// The next request was sent.
    pub(crate) fn sent(&mut self) {
        self.next += self.workers;
    }

    /// How many of this worker's requests are due before `moment`, sent or not.
    pub(crate) fn due_before(&self, moment: Nanos, worker: u64) -> u64 {
        let Some(span) = moment.checked_sub(self.start).filter(|_| self.start != NEVER) else {
            return 0;
        };
        // Requests m with floor(m * interval / 2^32) < span.
        let all = (u128::from(span) << 32).div_ceil(self.interval);
        let all = u64::try_from(all).unwrap_or(u64::MAX).min(self.limit);
        all.saturating_sub(worker).div_ceil(self.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Send moments of one worker up to `until`, when everything is sent on time.
    fn moments(pacer: &mut Pacer, until: Nanos) -> Vec<Nanos> {
        std::iter::from_fn(|| {
            let due = pacer.next_due();
            (due < until).then(|| {
                pacer.sent();
                due
            })
        })
        .collect()
    }

    #[test]
    fn all_workers_together_keep_the_rate_without_bursts() {
        for (rate, workers) in [(10.0, 4), (1.0, 8), (0.5, 2), (999.9, 3), (1e6, 2)] {
            let mut all = Vec::new();
            let until = 10_000_000_000;
            for worker in 0..workers {
                let mut pacer = Pacer::new(rate, worker, workers);
                pacer.start(5, u64::MAX);
                let own = moments(&mut pacer, 5 + until);
                assert_eq!(own.len() as u64, pacer.due_before(5 + until, worker));
                all.extend(own);
            }
            all.sort_unstable();
            assert_eq!(all.len(), (rate * 10.0).ceil() as usize, "rate {rate}");
            let gap = 1e9 / rate;
            for pair in all.windows(2) {
                assert!(((pair[1] - pair[0]) as f64 - gap).abs() < 2.0, "rate {rate}: {pair:?}");
            }
        }
    }

    #[test]
    fn a_limit_is_split_exactly() {
        for limit in [1, 2, 7, 200, 201] {
            let mut sent = 0;
            for worker in 0..3 {
                let mut pacer = Pacer::new(1000.0, worker, 3);
                pacer.start(0, limit);
                sent += moments(&mut pacer, NEVER).len() as u64;
            }
            assert_eq!(sent, limit);
        }
    }

    #[test]
    fn nothing_is_due_before_the_start() {
        let mut pacer = Pacer::new(1000.0, 0, 1);
        assert_eq!(pacer.next_due(), NEVER);
        assert_eq!(pacer.due_before(100, 0), 0);
        pacer.start(50, 10);
        assert_eq!(pacer.next_due(), 50);
        assert_eq!(pacer.due_before(50, 0), 0);
        assert_eq!(pacer.due_before(51, 0), 1);
    }

    #[test]
    fn no_drift_after_a_year() {
        let mut pacer = Pacer::new(3.0, 0, 1);
        pacer.start(0, u64::MAX);
        let year = 365 * 86_400 * 3;
        pacer.next = year;
        assert!(pacer.next_due().abs_diff(year / 3 * 1_000_000_000) < 100);
    }
}
