//! Checks the content of a sample of the responses, off the path of the requests.
//!
//! A worker captures at most one exchange per interval and hands it over without waiting; where
//! the checker is behind, the sample is left out. A wrong one moves its request from completed to
//! failed, and out of the histogram of successes.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use hdrhistogram::Histogram;

use super::clock::{Nanos, nanos};
use super::recorder::histogram;
use super::result::SampleCounts;
use super::spec::{Exchange, SampleCheck, Sampling};

/// Exchanges waiting for the checker at most, per worker.
const QUEUE: usize = 2;

/// A captured exchange and what the recorder knows of it.
pub(crate) struct Sample {
    pub(crate) exchange: Box<Exchange>,
    pub(crate) service_time: Nanos,
    pub(crate) response_time: Option<Nanos>,
    pub(crate) measured: bool,
}

/// One worker's side.
pub(crate) struct Sampler {
    interval: Nanos,
    next: Nanos,
    queue: SyncSender<Sample>,
    spare: Receiver<Box<Exchange>>,
    /// Exchanges in use or waiting, so that memory is bounded.
    made: usize,
}

/// The checker's side.
pub(crate) struct Checker {
    check: SampleCheck,
    queue: Receiver<Sample>,
    spare: Vec<SyncSender<Box<Exchange>>>,
}

/// What the checker found.
pub(crate) struct Verdicts {
    pub(crate) counts: SampleCounts,
    /// Wrong ones of the measured window.
    pub(crate) wrong_measured: u64,
    pub(crate) wrong_service_time: Histogram<u64>,
    pub(crate) wrong_response_time: Histogram<u64>,
    pub(crate) example: String,
}

/// A checker and the samplers of `workers` workers.
pub(crate) fn pair(sampling: &Sampling, workers: usize) -> (Checker, Vec<Sampler>) {
    let (queue, samples) = sync_channel(QUEUE * workers);
    let mut spare = Vec::new();
    let samplers = (0..workers)
        .map(|_| {
            let (back, receiver) = sync_channel(QUEUE + 1);
            spare.push(back);
            let interval = nanos(sampling.interval).max(1);
            Sampler { interval, next: 0, queue: queue.clone(), spare: receiver, made: 0 }
        })
        .collect();
    (Checker { check: sampling.check.clone(), queue: samples, spare }, samplers)
}

impl Sampler {
    /// A buffer to capture the request that begins now, if a sample is due.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<Box<Exchange>> {
        if now < self.next { None } else { self.take(now) }
    }

    #[cold]
    fn take(&mut self, now: Nanos) -> Option<Box<Exchange>> {
        self.next = now.saturating_add(self.interval);
        if let Ok(mut exchange) = self.spare.try_recv() {
            exchange.request.clear();
            exchange.status = 0;
            exchange.response_head.clear();
            exchange.response_body.clear();
            return Some(exchange);
        }
        (self.made <= QUEUE).then(|| {
            self.made += 1;
            Box::default()
        })
    }

    /// A captured exchange was lost with its request; another may be made.
    pub(crate) fn lost(&mut self) {
        self.made = self.made.saturating_sub(1);
    }

    /// Hands a complete exchange over; it is left out when the checker is behind.
    pub(crate) fn submit(&mut self, sample: Sample) {
        match self.queue.try_send(sample) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.lost(),
        }
    }
}

impl Checker {
    /// Checks until every sampler is gone.
    pub(crate) fn run(self) -> Verdicts {
        let mut verdicts = Verdicts {
            counts: SampleCounts::default(),
            wrong_measured: 0,
            wrong_service_time: histogram(),
            wrong_response_time: histogram(),
            example: String::new(),
        };
        while let Ok(sample) = self.queue.recv() {
            verdicts.counts.checked += 1;
            if let Err(what) = (self.check)(&sample.exchange) {
                verdicts.wrong(&sample, what);
            }
            // Any worker can use the buffer; one that is gone cannot.
            let mut exchange = Some(sample.exchange);
            for back in &self.spare {
                match exchange.take().map(|buffer| back.try_send(buffer)) {
                    Some(Err(TrySendError::Full(kept) | TrySendError::Disconnected(kept))) => {
                        exchange = Some(kept);
                    }
                    _ => break,
                }
            }
        }
        verdicts
    }
}

impl Verdicts {
    fn wrong(&mut self, sample: &Sample, what: String) {
        self.counts.wrong += 1;
        if self.example.is_empty() {
            self.example = what;
        }
        if sample.measured {
            self.wrong_measured += 1;
            self.wrong_service_time.saturating_record(sample.service_time);
            if let Some(response_time) = sample.response_time {
                self.wrong_response_time.saturating_record(response_time);
            }
        }
    }
}
