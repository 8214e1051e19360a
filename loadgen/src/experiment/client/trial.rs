//! One trial whose contender is the client: a fresh sink, a fresh process that is checked, and one
//! that is measured.

use std::process::Command;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::super::contender::{self, Allowance, Logs};
use super::super::plan::PlannedTrial;
use super::super::preflight::NotReady;
use super::super::pressure::Counters;
use super::super::process_group::ProcessGroup;
use super::super::record::{Load, Requests, SinkCounts, Trial};
use super::super::sampler::{Edge, Memory, MemorySampler, WindowCost, window_cost};
use super::super::trial::{Setting, TrialError, concluded, host_evidence, logs_of, unmeasured};
use super::super::verdict::{Evidence, Verdict};
use super::check::{self, Checked};
use super::judge::judge;
use super::process::{ClientProcess, Task, UploadResult};
use super::sink::Sink;
use crate::histogram::{self, Times};
use crate::scenario::{Contender, Scenario, random_bytes};

/// Size of the random file that a client is checked with.
const CHECKED_BYTES: std::ops::Range<usize> = 1_000..200_000;
/// How much longer than its window a client may take: its last upload, and its result.
const MARGIN: Duration = Duration::from_secs(20);

/// Runs one trial. A contender that fails is a trial with verdict `invalid`, not an error.
///
/// # Errors
/// What keeps the whole run from going on.
pub fn run(
    setting: &Setting<'_>,
    scenario: &Scenario,
    contender: &Contender,
    planned: &PlannedTrial,
    seed: u64,
) -> Result<Trial, TrialError> {
    let harness = TrialError::Harness;
    let mut sink = Sink::start(setting, contender).map_err(harness)?;
    let line = setting.places.command_line(contender, scenario, sink.port()).map_err(harness)?;
    let mut trial = unmeasured(planned, seed, line.argv, sink.port());
    let (name, logs) = logs_of(setting, planned);
    let client = Contestant { setting, scenario, contender, name: &name, logs: &logs };
    let outcome = client.measure(&mut sink, &mut trial);
    let stopped = sink.group.stop();
    concluded(outcome, &mut trial, &logs)?;
    stopped.map_err(|pids| {
        TrialError::Harness(format!("the sink cannot be ended; still running: {pids:?}"))
    })?;
    Ok(trial)
}

/// The contender of a trial, and where it plays.
struct Contestant<'a> {
    setting: &'a Setting<'a>,
    scenario: &'a Scenario,
    contender: &'a Contender,
    name: &'a str,
    logs: &'a Logs,
}

/// One measured window.
struct Measured {
    result: UploadResult,
    warmup: Duration,
    client: WindowCost,
    sink: WindowCost,
    memory: Option<Memory>,
    cpu_source: &'static str,
}

impl Contestant<'_> {
    fn measure(&self, sink: &mut Sink, trial: &mut Trial) -> Result<(), NotReady> {
        let Setting { places, profile, stop, .. } = self.setting;
        let bytes = self.scenario.uploaded_bytes().unwrap_or(0);
        let checked = self.check(trial)?;
        trial.ready_ms = Some(checked.ready.as_secs_f64() * 1e3);
        trial.answer = Some(checked.shape);
        let before = sink.counts().map_err(NotReady::Wrong)?;
        let task = Task {
            file: places.data.join(format!("upload/{bytes}.bin")),
            warmup: profile.warmup,
            window: profile.duration,
        };
        let measured = self.window(&task, sink)?;
        let after = sink.counts().map_err(NotReady::Wrong)?;
        if stop.is_raised() {
            return Err(NotReady::Interrupted);
        }
        let counted = SinkCounts {
            command: sink.command.clone(),
            options: self.contender.sink.clone(),
            requests: after.0.saturating_sub(before.0),
            bytes: after.1.saturating_sub(before.1),
        };
        check_counts(&measured.result, &counted, bytes)?;
        let load = load(&measured).map_err(NotReady::Wrong)?;
        (trial.verdict, trial.reason) = judge_trial(&load, &measured, self.setting);
        if let Some(failure) =
            measured.result.failure.as_ref().filter(|_| trial.verdict == Verdict::Invalid)
        {
            trial.reason = format!("{}; {failure}", trial.reason);
        }
        trial.load = Some(load);
        trial.cpu_source = Some(measured.cpu_source.to_owned());
        trial.server = Some(measured.client);
        trial.memory_mib = measured.memory;
        trial.sink = Some(counted);
        Ok(())
    }

    fn command(&self, task: &Task, port: u16) -> Result<Command, NotReady> {
        let places = self.setting.places;
        let line = places.command_line(self.contender, self.scenario, port);
        let line = line.map_err(NotReady::Wrong)?;
        let output = self.logs.create().map_err(NotReady::Wrong)?;
        let mut command = contender::command(&line, places, output);
        command.envs(task.env());
        Ok(command)
    }

    fn allowance(&self) -> Allowance<'_> {
        Allowance { cpus: &self.setting.pins.server_cpus, cpu_quota: self.setting.cpu_quota }
    }

    /// Every byte of some uploads of a random file.
    fn check(&self, trial: &Trial) -> Result<Checked, NotReady> {
        let setting = self.setting;
        let mut random = SmallRng::seed_from_u64(trial.seed);
        let size = random.random_range(CHECKED_BYTES);
        let upload = check::Upload {
            body: random_bytes(size, &mut random),
            file: setting.logs.join(format!("{}.bin", self.name)),
            timeout: setting.profile.ready_timeout,
        };
        let command = |task: &Task, port| self.command(task, port);
        check::check(self.scenario, upload, command, self.allowance(), setting.stop)
    }

    /// Warm-up and window of a fresh process.
    fn window(&self, task: &Task, sink: &Sink) -> Result<Measured, NotReady> {
        let Setting { pins, profile, stop, .. } = self.setting;
        let cpus = [pins.server_cpus.as_slice(), &pins.generator_cpus].concat();
        let failed = |error: std::io::Error| NotReady::Wrong(error.to_string());
        let command = self.command(task, sink.port())?;
        let (began, counters) = (Instant::now(), Counters::read());
        let mut client =
            ClientProcess::start(command, self.allowance(), self.name).map_err(failed)?;
        client.window_opened(task.warmup + profile.ready_timeout + MARGIN, stop)?;
        let edge = |group: &ProcessGroup| Edge::read(group, &cpus);
        let (client_opened, sink_opened) = (edge(&client.group), edge(&sink.group));
        let memory = MemorySampler::start(&client.group).ok();
        let result = client.result(task.window + MARGIN, stop)?;
        let (client_closed, sink_closed) = (edge(&client.group), edge(&sink.group));
        let memory = memory.map(|sampler| sampler.finish(&client.group));
        client.finish()?;
        let mut cost = window_cost(&client_opened, &client_closed);
        cost.pressure = Counters::read().since(counters, began.elapsed());
        Ok(Measured {
            result,
            warmup: task.warmup,
            client: cost,
            sink: window_cost(&sink_opened, &sink_closed),
            memory,
            cpu_source: client.group.cpu_source(),
        })
    }
}

/// The sink must have counted every upload that the client claims, and no other.
fn check_counts(result: &UploadResult, counted: &SinkCounts, size: u64) -> Result<(), NotReady> {
    let claimed = result.warmup_uploads + result.uploads;
    // Of a failed upload the sink may have had all, and its answer been lost.
    let uploads = claimed..=claimed + result.failed;
    let right = uploads.contains(&counted.requests)
        && counted.bytes == counted.requests * size
        && result.bytes == result.uploads * size;
    if right {
        return Ok(());
    }
    Err(NotReady::Wrong(format!(
        "claims {claimed} uploads of {size} bytes, {} bytes of them in its window of {}; the sink \
         counted {} with {} bytes",
        result.bytes, result.uploads, counted.requests, counted.bytes
    )))
}

/// The record of what the client tells, and of what the sink spent.
fn load(measured: &Measured) -> Result<Load, String> {
    let Measured { result, sink, .. } = measured;
    let times = result.times_ns()?;
    if !(result.elapsed_s.is_finite() && result.elapsed_s > 0.0) {
        return Err(format!("the client tells a window of {} s", result.elapsed_s));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
    let rate_per_s = result.uploads as f64 / result.elapsed_s;
    let service_time_us = Times::of(&times);
    let busy_s = service_time_us.mean.unwrap_or(0.0) / 1e6;
    Ok(Load {
        elapsed_s: result.elapsed_s,
        warmup_s: measured.warmup.as_secs_f64(),
        requests: Requests {
            sent: result.uploads + result.failed,
            completed: result.uploads,
            failed: result.failed,
            ..Requests::default()
        },
        rate_per_s,
        service_time_us,
        service_time_ns_hdr: histogram::encode(&times),
        bytes_sent: result.bytes,
        generator_cpu_user_s: sink.cpu_user_s,
        generator_cpu_system_s: sink.cpu_system_s,
        generator_busy_fraction: busiest(sink),
        littles_law_residual: 1.0 - rate_per_s * busy_s,
        timeline: result.timeline.clone(),
        ..Load::default()
    })
}

fn busiest(cost: &WindowCost) -> f64 {
    cost.busy_threads.first().map_or(0.0, |thread| thread.cpu_percent / 100.0)
}

fn judge_trial(load: &Load, measured: &Measured, setting: &Setting<'_>) -> (Verdict, String) {
    let sink_cpu_s = measured.sink.cpu_user_s + measured.sink.cpu_system_s;
    judge(&Evidence {
        sent: load.requests.sent,
        completed: load.requests.completed,
        failed: load.requests.failed,
        generator_busy: load.generator_busy_fraction,
        connections: 1,
        ..host_evidence(&measured.client, sink_cpu_s, setting)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claimed_upload_must_have_been_counted() {
        let result = UploadResult {
            uploads: 10,
            failed: 0,
            failure: None,
            bytes: 10_950,
            elapsed_s: 1.0,
            warmup_uploads: 2,
            latency_us_counts: Vec::new(),
            timeline: Vec::new(),
        };
        let counted = |requests, bytes| SinkCounts { requests, bytes, ..SinkCounts::default() };
        assert!(check_counts(&result, &counted(12, 12 * 1_095), 1_095).is_ok());
        let error = check_counts(&result, &counted(11, 11 * 1_095), 1_095).unwrap_err();
        assert_eq!(
            error.to_string(),
            "claims 12 uploads of 1095 bytes, 10950 bytes of them in its window of 10; the sink \
             counted 11 with 12045 bytes"
        );
        assert!(check_counts(&result, &counted(13, 13 * 1_095), 1_095).is_err());
        assert!(check_counts(&result, &counted(12, 12), 1_095).is_err());
        let with_failures = UploadResult { failed: 1, ..result };
        assert!(check_counts(&with_failures, &counted(13, 13 * 1_095), 1_095).is_ok());
        let other_bytes = UploadResult { bytes: 10, ..with_failures };
        assert!(check_counts(&other_bytes, &counted(12, 12 * 1_095), 1_095).is_err());
    }
}
