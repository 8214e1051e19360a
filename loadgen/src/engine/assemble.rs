//! Puts the parts that the workers measured together to one result.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clock::{NEVER, Nanos};
use super::limits::CpuTime;
use super::recorder::{Counts, Recorder, histogram};
use super::result::{
    ConnectionCounts, ErrorKind, ErrorTally, GeneratorCost, RequestCounts, RunResult, Schedule,
    Warmup,
};
use super::sampler::Verdicts;
use super::socket::address_text;
use super::spec::{Pacing, RunSpec};
use super::worker::WorkerResult;

/// The result of a run that ended at `now`.
pub(crate) fn assemble(
    spec: &RunSpec,
    workers: Vec<WorkerResult>,
    verdicts: Option<Verdicts>,
    now: Nanos,
    interrupted: bool,
) -> RunResult {
    let mut result = empty(spec, interrupted);
    let window = window(&workers);
    let (start, end) = window.unwrap_or((now, now));
    result.elapsed = Duration::from_nanos(end - start);
    result.warmup.elapsed = warmup_elapsed(spec, &workers, start);
    let mut cpu = CpuTime::default();
    for worker in workers {
        result.bytes.sent += worker.bytes.sent;
        result.bytes.received += worker.bytes.received;
        result.bytes.received_body += worker.bytes.received_body;
        cpu.user += worker.cpu.user;
        cpu.system += worker.cpu.system;
        let busy = (worker.cpu.user + worker.cpu.system).as_secs_f64();
        let share = if end > start { busy / result.elapsed.as_secs_f64() } else { 0.0 };
        result.generator.busy_fraction = result.generator.busy_fraction.max(share.min(1.0));
        if let (Some(schedule), Some(lag)) = (&mut result.schedule, &worker.recorder.lag) {
            schedule.due += worker.due;
            merge(&mut schedule.lag_ns, lag);
        }
        result.tls = result.tls.take().or(worker.tls);
        if result.address.is_none() {
            result.address =
                worker.address.map(|index| address_text(&spec.target.addresses, index));
        }
        take_in(&mut result, worker.recorder);
    }
    result.generator.cpu_user = cpu.user;
    result.generator.cpu_system = cpu.system;
    if let Some(verdicts) = verdicts {
        apply(&mut result, &verdicts);
    }
    let ended = &result.requests;
    result.requests.in_flight_at_end =
        ended.sent - ended.completed - ended.failed - ended.timed_out;
    result
}

fn empty(spec: &RunSpec, interrupted: bool) -> RunResult {
    let rate = match spec.pacing {
        Pacing::Closed => None,
        Pacing::Rate { per_second } => Some(per_second),
    };
    RunResult {
        elapsed: Duration::ZERO,
        requests: RequestCounts::default(),
        warmup: Warmup::default(),
        connections: ConnectionCounts::default(),
        service_time_ns: histogram(),
        response_time_ns: rate.map(|_| histogram()),
        failed_time_ns: histogram(),
        connect_time_ns: histogram(),
        handshake_time_ns: histogram(),
        status: BTreeMap::new(),
        errors: BTreeMap::new(),
        bytes: super::ByteCounts::default(),
        schedule: rate.map(|rate| Schedule { rate_per_s: rate, due: 0, lag_ns: histogram() }),
        generator: GeneratorCost::default(),
        timeline: Vec::new(),
        address: None,
        tls: None,
        transport: "epoll",
        samples: super::SampleCounts::default(),
        interrupted,
    }
}

/// From the first opening to the last end of the workers' windows.
fn window(workers: &[WorkerResult]) -> Option<(Nanos, Nanos)> {
    workers.iter().filter_map(|worker| worker.window).filter(|&(_, end)| end != NEVER).fold(
        None,
        |all: Option<(Nanos, Nanos)>, (start, end)| {
            let (first, last) = all.unwrap_or((start, end));
            Some((first.min(start), last.max(end).max(start)))
        },
    )
}

/// The warm-up has its asked length, unless the run ended in it.
fn warmup_elapsed(spec: &RunSpec, workers: &[WorkerResult], start: Nanos) -> Duration {
    let opened = workers.iter().any(|worker| worker.window.is_some());
    if opened { spec.warmup } else { spec.warmup.min(Duration::from_nanos(start)) }
}

fn take_in(result: &mut RunResult, recorder: Recorder) {
    let Counts { sent, completed, failed, timed_out } = recorder.window;
    result.requests.sent += sent;
    result.requests.completed += completed;
    result.requests.failed += failed;
    result.requests.timed_out += timed_out;
    result.warmup.sent += recorder.warmup.sent;
    result.warmup.completed += recorder.warmup.completed;
    result.warmup.failed += recorder.warmup.failed;
    result.connections.attempted += recorder.connections.attempted;
    result.connections.established += recorder.connections.established;
    result.connections.failed += recorder.connections.failed;
    result.connections.resumed += recorder.connections.resumed;
    result.connections.peak_open += recorder.connections.peak_open;
    merge(&mut result.service_time_ns, &recorder.service_time);
    merge(&mut result.failed_time_ns, &recorder.failed_time);
    merge(&mut result.connect_time_ns, &recorder.connect_time);
    merge(&mut result.handshake_time_ns, &recorder.handshake_time);
    if let (Some(all), Some(part)) = (&mut result.response_time_ns, &recorder.response_time) {
        merge(all, part);
    }
    for (status, count) in recorder.statuses() {
        *result.status.entry(status).or_default() += count;
    }
    for (kind, tally) in recorder.errors {
        count_errors(&mut result.errors, kind, tally.count, tally.example);
    }
    let bars = result.timeline.len().max(recorder.timeline.len());
    result.timeline.resize(bars, 0);
    for (sum, part) in result.timeline.iter_mut().zip(recorder.timeline) {
        *sum += part;
    }
}

/// Wrong samples were counted as completed before the checker had seen them.
fn apply(result: &mut RunResult, verdicts: &Verdicts) {
    result.samples = verdicts.counts;
    if verdicts.counts.wrong == 0 {
        return;
    }
    let wrong = verdicts.wrong_measured.min(result.requests.completed);
    result.requests.completed -= wrong;
    result.requests.failed += wrong;
    move_samples(
        &mut result.service_time_ns,
        &verdicts.wrong_service_time,
        &mut result.failed_time_ns,
    );
    if let Some(all) = &mut result.response_time_ns {
        move_samples(all, &verdicts.wrong_response_time, &mut histogram());
    }
    let example = verdicts.example.clone();
    count_errors(&mut result.errors, ErrorKind::Content, verdicts.counts.wrong, example);
}

fn move_samples(from: &mut Histogram<u64>, part: &Histogram<u64>, to: &mut Histogram<u64>) {
    if from.subtract(part).is_ok() {
        merge(to, part);
    }
}

fn merge(all: &mut Histogram<u64>, part: &Histogram<u64>) {
    // The bounds of all histograms of a run are the same, so everything fits.
    let merged = all.add(part);
    debug_assert!(merged.is_ok(), "same bounds");
}

fn count_errors(
    errors: &mut BTreeMap<ErrorKind, ErrorTally>,
    kind: ErrorKind,
    count: u64,
    example: String,
) {
    let tally = errors.entry(kind).or_default();
    if tally.count == 0 {
        tally.example = example;
    }
    tally.count += count;
}
