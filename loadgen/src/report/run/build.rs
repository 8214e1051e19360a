//! From what the engine measured to the report.

use std::time::SystemTime;

use hdrhistogram::Histogram;

use super::{
    Bytes, Connects, Failure, Generator, Histograms, Loop, RunReport, SCHEMA, Samples, Schedule,
    Timeline, Times, Tls, Warmup, notes,
};
use crate::engine::{Pacing, RunResult, RunSpec, Stop, TIMELINE_STEP};
use crate::histogram::{encode, finite};
use crate::utc;

impl RunReport {
    /// The report of a run that began at `started`; `seeded`: the request has random placeholders.
    pub fn new(spec: &RunSpec, result: &RunResult, started: SystemTime, seeded: bool) -> Self {
        let tls = spec.target.tls.is_some();
        let mut report = Self {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            started_at: utc::text(started),
            url: spec.target.url.clone(),
            method: spec.request.method.clone(),
            address: result.address.clone(),
            transport: result.transport.into(),
            tls: result.tls.as_ref().map(|tls| Tls {
                version: tls.version.clone(),
                cipher: tls.cipher.clone(),
                alpn: tls.alpn.clone(),
            }),
            load: match spec.pacing {
                Pacing::Closed => Loop::Closed,
                Pacing::Rate { .. } => Loop::Open,
            },
            connections: spec.connections.get().into(),
            threads: threads(spec),
            cpus: spec.cpus.clone(),
            keep_alive: spec.keep_alive,
            seed: seeded.then_some(spec.seed),
            elapsed_s: result.elapsed.as_secs_f64(),
            interrupted: result.interrupted,
            requests: result.requests,
            rate_per_s: per_second(result.requests.completed, result.elapsed.as_secs_f64()),
            service_time_us: Times::of(&result.service_time_ns),
            response_time_us: result.response_time_ns.as_ref().map(Times::of),
            failed_time_us: Times::of(&result.failed_time_ns),
            connect_time_us: Times::of(&result.connect_time_ns),
            handshake_time_us: tls.then(|| Times::of(&result.handshake_time_ns)),
            status: result.status.clone(),
            errors: errors(result),
            bytes: Bytes {
                sent: result.bytes.sent,
                received: result.bytes.received,
                received_body: result.bytes.received_body,
            },
            connects: Connects {
                attempted: result.connections.attempted,
                established: result.connections.established,
                failed: result.connections.failed,
                resumed: result.connections.resumed,
                peak_open: result.connections.peak_open,
            },
            warmup: Warmup {
                elapsed_s: result.warmup.elapsed.as_secs_f64(),
                sent: result.warmup.sent,
                completed: result.warmup.completed,
                failed: result.warmup.failed,
            },
            schedule: result.schedule.as_ref().map(|schedule| Schedule {
                rate_per_s: schedule.rate_per_s,
                sent_per_s: per_second(result.requests.sent, result.elapsed.as_secs_f64()),
                due: schedule.due,
                lag_us: Times::of(&schedule.lag_ns),
            }),
            samples: spec
                .sampling
                .as_ref()
                .map(|_| Samples { checked: result.samples.checked, wrong: result.samples.wrong }),
            generator: generator(result),
            timeline: Timeline {
                step_s: TIMELINE_STEP.as_secs_f64(),
                completed: result.timeline.clone(),
            },
            histograms: histograms(result, tls),
            notes: Vec::new(),
        };
        report.notes = notes::notes(&report);
        report
    }
}

/// No more threads send than there are requests.
fn threads(spec: &RunSpec) -> u64 {
    let threads = spec.threads.get() as u64;
    match spec.stop {
        Stop::Requests(requests) if spec.warmup.is_zero() => threads.min(requests.get()),
        _ => threads,
    }
}

fn errors(result: &RunResult) -> std::collections::BTreeMap<String, Failure> {
    result.errors.iter().map(|(kind, tally)| (kind.name().to_owned(), tally.clone())).collect()
}

fn generator(result: &RunResult) -> Generator {
    let cost = &result.generator;
    let cpu = cost.cpu_user + cost.cpu_system;
    Generator {
        cpu_user_s: cost.cpu_user.as_secs_f64(),
        cpu_system_s: cost.cpu_system.as_secs_f64(),
        cpu_us_per_request: cpu_us_per_request(cpu.as_secs_f64(), result.requests.completed),
        busy_fraction: finite(cost.busy_fraction).unwrap_or(0.0),
    }
}

fn histograms(result: &RunResult, tls: bool) -> Histograms {
    let encode_some = |histogram: Option<&Histogram<u64>>| histogram.map(encode);
    Histograms {
        service_time_ns: encode(&result.service_time_ns),
        response_time_ns: encode_some(result.response_time_ns.as_ref()),
        failed_time_ns: encode(&result.failed_time_ns),
        connect_time_ns: encode(&result.connect_time_ns),
        handshake_time_ns: encode_some(tls.then_some(&result.handshake_time_ns)),
        lag_ns: encode_some(result.schedule.as_ref().map(|schedule| &schedule.lag_ns)),
    }
}

pub(super) fn per_second(count: u64, elapsed_s: f64) -> Option<f64> {
    finite(count as f64 / elapsed_s)
}

pub(super) fn cpu_us_per_request(cpu_s: f64, completed: u64) -> Option<f64> {
    finite(cpu_s * 1e6 / completed as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_over_no_time_is_not_a_number_and_not_written() {
        assert_eq!(per_second(0, 0.0), None);
        assert_eq!(per_second(5, 0.0), None);
        assert_eq!(per_second(5, 2.0), Some(2.5));
        assert_eq!(cpu_us_per_request(1.0, 0), None);
    }
}
