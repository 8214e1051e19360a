//! One run from start to end: starts the workers, opens and closes the measured window, tells the
//! observer, and puts the parts together.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Duration;

use super::assemble::assemble;
use super::clock::{Clock, Nanos, nanos};
use super::control::{Control, Message, Reading, Slot};
use super::limits;
use super::recorder::histogram;
use super::request::RequestPlan;
use super::sampler::{self, Checker, Sampler, Verdicts};
use super::spec::{Pacing, RunSpec, Stop};
use super::tls::TlsSetup;
use super::worker::{Worker, WorkerParts, WorkerResult};
use super::{EngineError, Live, Observer, RunResult, Stage, StopFlag};

/// Time between two calls of [`Observer::progress`].
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// How long a server that refuses every connection is tried again before the run is given up.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(1);

/// See [`super::run`].
pub(crate) fn run(
    spec: &RunSpec,
    stop: &StopFlag,
    observer: &mut dyn Observer,
) -> Result<RunResult, EngineError> {
    check(spec)?;
    let connections = connection_count(spec);
    let threads = spec.threads.get().min(connections as usize);
    limits::allow_descriptors(connections, threads as u64)?;
    let tls = spec.target.tls.as_ref().map(TlsSetup::new).transpose()?;
    let plan = RequestPlan::new(spec);
    let clock = Clock::start();
    let control = Control::new(stop);
    let slots: Vec<Slot> = (0..threads).map(|_| Slot::default()).collect();
    let (checker, samplers) = spec.sampling.as_ref().map_or_else(
        || (None, (0..threads).map(|_| None).collect()),
        |sampling| {
            let (checker, samplers) = sampler::pair(sampling, threads);
            (Some(checker), samplers.into_iter().map(Some).collect::<Vec<Option<Sampler>>>())
        },
    );
    let (messages, told) = channel();
    let workers: Vec<WorkerParts<'_>> = (0_u64..)
        .zip(&slots)
        .zip(samplers)
        .map(|((index, slot), sampler)| WorkerParts {
            spec,
            plan: plan.clone(),
            tls: tls.clone(),
            sampler,
            clock,
            index,
            workers: threads as u64,
            connections,
            control: &control,
            slot,
            messages: messages.clone(),
        })
        .collect();
    drop(messages);
    let mut course = Course {
        spec,
        clock,
        control: &control,
        slots: &slots,
        told,
        observer,
        sending_done: 0,
        stage: Stage::Connecting,
        stage_began: 0,
    };
    let (results, verdicts) = std::thread::scope(|scope| {
        let checker = checker.map(|checker: Checker| scope.spawn(|| checker.run()));
        let mut handles = Vec::new();
        for (index, parts) in workers.into_iter().enumerate() {
            let cpu = spec.cpus.get(index % spec.cpus.len().max(1)).copied();
            let control = &control;
            let work = move || {
                let mut watch = Watch { control, ended_well: false };
                cpu.map_or(Ok(()), limits::pin_to)?;
                limits::sharpen_timers();
                limits::own_descriptors();
                let result = Worker::new(parts)?.run()?;
                watch.ended_well = true;
                Ok(result)
            };
            let started = Builder::new().name(format!("worker {index}")).spawn_scoped(scope, work);
            handles.push(started.map_err(|source| {
                control.abort();
                EngineError::Os { context: format!("starting thread {}", index + 1), source }
            })?);
        }
        course.follow(threads);
        let results = handles.into_iter().map(join).collect::<Result<Vec<_>, _>>();
        let verdicts = checker.map(join_checker).transpose();
        Ok::<_, EngineError>((results?, verdicts?))
    })?;
    Ok(assemble(spec, results, verdicts, clock.now(), stop.is_raised()))
}

/// Combinations no schedule can be made of.
fn check(spec: &RunSpec) -> Result<(), EngineError> {
    if let Pacing::Rate { per_second } = spec.pacing
        && !(per_second.is_finite() && per_second > 0.0)
    {
        return Err(EngineError::Input(format!(
            "a rate of {per_second} requests a second: must be positive and finite"
        )));
    }
    if super::socket::address_count(&spec.target.addresses) == 0 {
        return Err(EngineError::Input(format!("{}: no address to connect to", spec.target.url)));
    }
    Ok(())
}

/// Connections beyond the number of requests would never send one.
fn connection_count(spec: &RunSpec) -> u64 {
    let asked = u64::from(spec.connections.get());
    match spec.stop {
        Stop::Requests(requests) if spec.warmup.is_zero() => asked.min(requests.get()),
        _ => asked,
    }
}

fn join(
    handle: ScopedJoinHandle<'_, Result<WorkerResult, EngineError>>,
) -> Result<WorkerResult, EngineError> {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn join_checker(handle: ScopedJoinHandle<'_, Verdicts>) -> Result<Verdicts, EngineError> {
    handle.join().map_err(|_| EngineError::Input("the content check of a sample panicked".into()))
}

/// Ends the whole run when its worker ends by an error or a panic, so that nobody waits for it.
struct Watch<'a> {
    control: &'a Control<'a>,
    ended_well: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.ended_well {
            self.control.abort();
        }
    }
}

/// The coordinator's view of a run in progress.
struct Course<'a> {
    spec: &'a RunSpec,
    clock: Clock,
    control: &'a Control<'a>,
    slots: &'a [Slot],
    told: Receiver<Message>,
    observer: &'a mut dyn Observer,
    sending_done: usize,
    stage: Stage,
    stage_began: Nanos,
}

/// Why a wait ended.
#[derive(Debug, PartialEq, Eq)]
enum Waited {
    Time,
    Message(Message),
    WorkersGone,
}

impl Course<'_> {
    /// Leads the workers through set-up, warm-up and window, and returns when they send no more.
    fn follow(&mut self, workers: usize) {
        if !self.set_up(workers) {
            self.control.abort();
            return;
        }
        let warmup = nanos(self.spec.warmup);
        let opens = if warmup == 0 {
            self.observer.window_opened();
            let now = self.clock.now();
            self.control.start(now);
            now
        } else {
            let now = self.clock.now();
            self.control.start(now);
            (self.stage, self.stage_began) = (Stage::WarmUp, now);
            if !self.wait_sending(now + warmup, workers) {
                return;
            }
            self.observer.window_opened();
            now + warmup
        };
        (self.stage, self.stage_began) = (Stage::Window, opens);
        let closes = match self.spec.stop {
            Stop::Duration(duration) => opens.saturating_add(nanos(duration)),
            Stop::Requests(_) => Nanos::MAX,
        };
        self.wait_sending(closes, workers);
        self.observer.window_closed();
    }

    /// Waits until every connection was attempted; false when there is nothing to load.
    fn set_up(&mut self, workers: usize) -> bool {
        let mut ready = 0;
        let mut only_tls_failures = true;
        while ready < workers {
            if self.control.interrupted() {
                return false;
            }
            match self.wait(self.clock.now() + nanos(PROGRESS_EVERY)) {
                Waited::Message(Message::Ready { only_tls_failures: only_tls }) => {
                    ready += 1;
                    only_tls_failures &= only_tls;
                }
                Waited::WorkersGone => return false,
                _ => {}
            }
        }
        // A server that is just starting gets a moment; a bad certificate does not get better.
        let until = self.clock.now() + nanos(UNREACHABLE_AFTER);
        while self.reading().established == 0 {
            let now = self.clock.now();
            if only_tls_failures || now >= until || self.control.interrupted() {
                return false;
            }
            self.wait((now + nanos(Duration::from_millis(20))).min(until));
        }
        true
    }

    /// Waits for `until`, or until no worker sends any more; true if the time came first.
    fn wait_sending(&mut self, until: Nanos, workers: usize) -> bool {
        while self.sending_done < workers {
            if self.clock.now() >= until {
                return true;
            }
            let tick = self.clock.now().saturating_add(nanos(PROGRESS_EVERY));
            if self.wait(tick.min(until)) == Waited::WorkersGone {
                return false;
            }
        }
        false
    }

    /// Waits for a message until `until`, and then tells the observer how far the run is.
    fn wait(&mut self, until: Nanos) -> Waited {
        let left = Duration::from_nanos(until.saturating_sub(self.clock.now()));
        let waited = match self.told.recv_timeout(left) {
            Ok(message) => {
                self.sending_done += usize::from(message == Message::SendingDone);
                Waited::Message(message)
            }
            Err(RecvTimeoutError::Timeout) => Waited::Time,
            Err(RecvTimeoutError::Disconnected) => Waited::WorkersGone,
        };
        if self.control.aborted() {
            return Waited::WorkersGone;
        }
        if waited == Waited::Time {
            let reading = self.reading();
            self.observer.progress(&Live {
                stage: self.stage,
                elapsed: Duration::from_nanos(self.clock.now().saturating_sub(self.stage_began)),
                completed: reading.completed,
                failed: reading.failed,
                open: reading.open,
                service_time_p50: self.service_time_p50(),
            });
        }
        waited
    }

    /// Median of what the workers published last.
    fn service_time_p50(&self) -> Option<Duration> {
        if !self.observer.wants_latency() {
            return None;
        }
        let mut all = histogram();
        for slot in self.slots {
            slot.add_service_time(&mut all);
        }
        (!all.is_empty()).then(|| Duration::from_nanos(all.value_at_quantile(0.5)))
    }

    fn reading(&self) -> Reading {
        self.slots.iter().map(Slot::read).fold(Reading::default(), |sum, slot| Reading {
            completed: sum.completed + slot.completed,
            failed: sum.failed + slot.failed,
            open: sum.open + slot.open,
            established: sum.established + slot.established,
        })
    }
}
