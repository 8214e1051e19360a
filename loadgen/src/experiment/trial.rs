//! One trial: a fresh process, checked, warmed up, measured once, and gone.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustls::ClientConfig;

use super::client;
use super::contender::{self, Allowance, HOST, Logs, Places};
use super::drain::Drain;
use super::load::{self, LoadOptions};
use super::pins::Pins;
use super::plan::PlannedTrial;
use super::preflight::{self, AnswerShape, NotReady, Reach};
use super::pressure::Counters;
use super::process_group::ProcessGroup;
use super::record::{Load, Trial};
use super::sampler::{Edge, Memory, MemorySampler, WindowCost, window_cost};
use super::verdict::{Evidence, Verdict, judge};
use super::warmup::{self, Warmup};
use crate::engine::{self, EngineError, Observer, RunResult, StopFlag};
use crate::scenario::{Contender, Content, Profile, RequestBody, Role, Scenario};

/// What all trials of a run share, and the window and quota of one.
#[derive(Clone)]
pub struct Setting<'a> {
    /// Binaries and folders.
    pub places: &'a Places,
    /// The split of the CPUs.
    pub pins: &'a Pins,
    /// How long is measured.
    pub profile: Profile,
    /// CPU time per time that a contender may use at most, if bounded.
    pub cpu_quota: Option<f64>,
    /// The port every contender is given; `None`: a free one each time.
    pub port: Option<u16>,
    /// TLS for preflights, which trusts the certificate every contender is given.
    pub tls: Arc<ClientConfig>,
    /// Folder for the output of contenders.
    pub logs: &'a Path,
    /// Raised to end the run.
    pub stop: &'a StopFlag,
}

/// What stops the whole run, not only one contender.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The run was ended by a signal; the trial does not count.
    #[error("interrupted")]
    Interrupted,
    /// The harness itself cannot go on.
    #[error("{0}")]
    Harness(String),
}

/// Counters at the edges of the window, read as the engine opens and closes it.
struct Edges<'a> {
    group: &'a ProcessGroup,
    cpus: Vec<usize>,
    opened: Option<Edge>,
    closed: Option<Edge>,
    memory: Option<MemorySampler>,
}

impl Observer for Edges<'_> {
    fn window_opened(&mut self) {
        self.memory = MemorySampler::start(self.group).ok();
        self.opened = Some(Edge::read(self.group, &self.cpus));
    }

    fn window_closed(&mut self) {
        self.closed = Some(Edge::read(self.group, &self.cpus));
    }
}

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
    generator_ceiling_per_s: Option<f64>,
) -> Result<Trial, TrialError> {
    if scenario.role == Role::Client {
        return client::run(setting, scenario, contender, planned, seed);
    }
    let harness = TrialError::Harness;
    let port = contender::choose_port(setting.port).map_err(harness)?;
    let line = setting.places.command_line(contender, scenario, port).map_err(harness)?;
    let mut trial = unmeasured(planned, seed, line.argv.clone(), port);
    trial.generator_ceiling_per_s = generator_ceiling_per_s;
    let (name, logs) = logs_of(setting, planned);
    let allowance = Allowance { cpus: &setting.pins.server_cpus, cpu_quota: setting.cpu_quota };
    let output = logs.create().map_err(harness)?;
    let command = contender::command(&line, setting.places, output);
    let started = contender::start(command, allowance, &name);
    let mut group = match started {
        Ok(group) => group,
        Err(error) => {
            trial.reason = error.to_string();
            return Ok(trial);
        }
    };
    trial.cpu_source = Some(group.cpu_source().to_owned());
    let outcome = measure(setting, scenario, &mut group, &mut trial);
    let stopped = group.stop();
    drop(group);
    concluded(outcome, &mut trial, &logs)?;
    stopped.map_err(|pids| {
        TrialError::Harness(format!("{name} cannot be ended; still running: {pids:?}"))
    })?;
    Ok(trial)
}

/// A trial before it is measured.
pub(super) fn unmeasured(
    planned: &PlannedTrial,
    seed: u64,
    command: Vec<String>,
    port: u16,
) -> Trial {
    Trial {
        planned: planned.clone(),
        started_at: crate::utc::now(),
        seed,
        verdict: Verdict::Invalid,
        reason: String::new(),
        command,
        port,
        ready_ms: None,
        answer: None,
        load: None,
        server: None,
        generator_ceiling_per_s: None,
        cpu_source: None,
        memory_mib: None,
        sink: None,
        output: None,
    }
}

/// The name of a trial, and where its contender's output goes.
pub(super) fn logs_of(setting: &Setting<'_>, planned: &PlannedTrial) -> (String, Logs) {
    let PlannedTrial { cell, block } = planned;
    let name = format!("{}-{}-c{}-{block}", cell.scenario, cell.contender, cell.connections);
    let logs = Logs {
        stdout: setting.logs.join(format!("{name}.out")),
        stderr: setting.logs.join(format!("{name}.err")),
    };
    (name, logs)
}

/// Writes a failure into its trial.
///
/// # Errors
/// The run was interrupted.
pub(super) fn concluded(
    outcome: Result<(), NotReady>,
    trial: &mut Trial,
    logs: &Logs,
) -> Result<(), TrialError> {
    remove_empty(logs);
    match outcome {
        Ok(()) => Ok(()),
        Err(NotReady::Interrupted) => Err(TrialError::Interrupted),
        Err(failure) => {
            trial.verdict = Verdict::Invalid;
            trial.reason = failure.to_string();
            trial.output = Some(logs.tail()).filter(|tail| !tail.is_empty());
            Ok(())
        }
    }
}

fn measure(
    setting: &Setting<'_>,
    scenario: &Scenario,
    group: &mut ProcessGroup,
    trial: &mut Trial,
) -> Result<(), NotReady> {
    let mut random = SmallRng::seed_from_u64(trial.seed);
    let drain = group.take_pipes().1.map(Drain::start).transpose();
    let drain = drain.map_err(|error| NotReady::Wrong(format!("its output: {error}")))?;
    let address = SocketAddr::new(HOST, trial.port);
    let reach = Reach { address, tls: scenario.tls.then(|| Arc::clone(&setting.tls)) };
    let timeout = setting.profile.ready_timeout;
    let ready =
        preflight::wait_until_ready(group, &reach, scenario, timeout, &mut random, setting.stop)?;
    trial.ready_ms = Some(ready.as_secs_f64() * 1e3);
    contender::check_owner(trial.port, group).map_err(NotReady::Wrong)?;
    let shape = preflight::check(&reach, scenario, &mut random)?;
    trial.answer = Some(shape.clone());

    let counted_before = counted(scenario, &reach)?;
    let lines_before = drain.as_ref().map_or(0, Drain::lines);
    let measured = apply_load(setting, scenario, group, trial, &reach, &shape);
    // A contender that ended is the cause of whatever else went wrong.
    if let Some(status) = group.exit() {
        let words = preflight::exit_in_words(status);
        return Err(NotReady::Wrong(format!("ended during the measurement: {words}")));
    }
    let Measured { result, cost, memory, warmup } = measured?;
    if result.interrupted || setting.stop.is_raised() {
        return Err(NotReady::Interrupted);
    }
    let mut load = load::load(&result, trial.planned.cell.connections);
    load.warmup_s += warmup.elapsed.as_secs_f64();
    load.warmup_steady = warmup.steady;
    if let Some(before) = counted_before {
        check_counts(before, counted(scenario, &reach)?, &result, scenario)?;
    }
    if let Some(drain) = drain {
        let answered = warmup.completed + result.warmup.completed + result.requests.completed;
        check_lines(&drain, lines_before, answered * scenario.output_lines)?;
    }
    (trial.verdict, trial.reason) = judge_trial(&load, &cost, setting, trial);
    trial.load = Some(load);
    trial.server = Some(cost);
    trial.memory_mib = memory;
    match trial.verdict {
        Verdict::Invalid => Ok(()),
        _ => preflight::check_alive(&reach, scenario, &mut random),
    }
}

/// One measured window, and the load before it.
struct Measured {
    result: RunResult,
    cost: WindowCost,
    memory: Option<Memory>,
    warmup: Warmup,
}

fn apply_load(
    setting: &Setting<'_>,
    scenario: &Scenario,
    group: &ProcessGroup,
    trial: &Trial,
    reach: &Reach,
    shape: &AnswerShape,
) -> Result<Measured, NotReady> {
    let options = LoadOptions {
        connections: trial.planned.cell.connections,
        profile: setting.profile,
        warmup: warmup::of_measured_run(&setting.profile),
        threads: setting.pins.generator_cpus.len(),
        cpus: &setting.pins.generator_cpus,
        seed: trial.seed,
        cert: &setting.places.cert,
        data_dir: &setting.places.data,
    };
    let spec = load::run_spec(scenario, reach, shape, &options).map_err(NotReady::Wrong)?;
    let cpus = [setting.pins.server_cpus.as_slice(), &setting.pins.generator_cpus].concat();
    let mut edges = Edges { group, cpus, opened: None, closed: None, memory: None };
    let (began, counters) = (Instant::now(), Counters::read());
    let wrong = |error: EngineError| NotReady::Wrong(error.to_string());
    let warmup = warmup::run(&spec, &setting.profile, setting.stop).map_err(wrong)?;
    let result = engine::run(&spec, setting.stop, &mut edges).map_err(wrong)?;
    let memory = edges.memory.take().map(|sampler| sampler.finish(group));
    match (&edges.opened, &edges.closed) {
        (Some(opened), Some(closed)) => {
            let mut cost = window_cost(opened, closed);
            cost.pressure = Counters::read().since(counters, began.elapsed());
            Ok(Measured { result, cost, memory, warmup })
        }
        _ if setting.stop.is_raised() => Err(NotReady::Interrupted),
        _ => {
            let mut text = format!("no request completed within {:.1?}", began.elapsed());
            for (kind, tally) in &result.errors {
                let _ = write!(text, "; {}: {} ({})", kind.name(), tally.count, tally.example);
            }
            Err(NotReady::Wrong(text))
        }
    }
}

fn counted(scenario: &Scenario, reach: &Reach) -> Result<Option<(u64, u64)>, NotReady> {
    match scenario.answer.content {
        Content::Counted => preflight::counts(reach).map(Some).map_err(NotReady::Wrong),
        _ => Ok(None),
    }
}

/// The server must have counted every upload that was answered, and every byte of it.
fn check_counts(
    before: (u64, u64),
    after: Option<(u64, u64)>,
    result: &RunResult,
    scenario: &Scenario,
) -> Result<(), NotReady> {
    let Some(after) = after else { return Ok(()) };
    let answered = result.warmup.completed + result.requests.completed;
    let size = match scenario.body {
        Some(RequestBody::UploadFile(size)) => size,
        _ => 0,
    };
    let (requests, bytes) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    if requests < answered || bytes < answered * size {
        return Err(NotReady::Wrong(format!(
            "answered {answered} uploads of {size} bytes, but counted {requests} with {bytes} bytes"
        )));
    }
    Ok(())
}

/// Whoever prints less than the scenario wants has done less work.
fn check_lines(drain: &Drain, before: u64, expected: u64) -> Result<(), NotReady> {
    let printed = drain.wait_for(before + expected) - before;
    if printed >= expected {
        return Ok(());
    }
    let message = format!("printed {printed} lines, not the {expected} of the answered requests");
    Err(NotReady::Wrong(message))
}

fn judge_trial(
    load: &Load,
    cost: &WindowCost,
    setting: &Setting<'_>,
    trial: &Trial,
) -> (Verdict, String) {
    let wrong = ["status", "length", "header", "body", "content", "bad_response", "truncated"];
    let wrong: u64 =
        wrong.iter().filter_map(|kind| load.errors.get(*kind)).map(|failure| failure.count).sum();
    let failed = load.requests.failed + load.requests.timed_out;
    let evidence = Evidence {
        sent: load.requests.sent,
        completed: load.requests.completed,
        wrong,
        failed: failed.saturating_sub(wrong),
        generator_busy: load.generator_busy_fraction,
        idle_connections: load.littles_law_residual,
        connections: trial.planned.cell.connections,
        of_generator_ceiling: trial.generator_ceiling_per_s.map(|rate| load.rate_per_s / rate),
        ..host_evidence(cost, 0.0, setting)
    };
    let (verdict, mut reason) = judge(&evidence);
    if setting.pins.warning.is_some() {
        reason.push_str("; server and generator shared CPUs");
    }
    if verdict == Verdict::Invalid
        && let Some((kind, failure)) = load.errors.iter().max_by_key(|(_, f)| f.count)
    {
        let _ = write!(reason, "; {kind}: {}", failure.example);
    }
    (verdict, reason)
}

/// What the CPUs and the machine did while the contender spent `cost`. `others_s` is the CPU time of
/// what else ran for the measurement, in processes of its own.
pub(super) fn host_evidence(cost: &WindowCost, others_s: f64, setting: &Setting<'_>) -> Evidence {
    let pins = setting.pins;
    let contender_s = cost.cpu_user_s + cost.cpu_system_s;
    let mut cpus = [pins.server_cpus.as_slice(), &pins.generator_cpus].concat();
    cpus.sort_unstable();
    cpus.dedup();
    #[expect(clippy::cast_precision_loss, reason = "a machine has few CPUs")]
    let number = |cpus: &[usize]| cpus.len().max(1) as f64;
    let share = |seconds: f64, cpus: f64| (seconds / (cost.elapsed_s * cpus)).max(0.0);
    let contender_cpus = setting.cpu_quota.unwrap_or(f64::INFINITY).min(number(&pins.server_cpus));
    let strangers_s = cost.host_busy_s - contender_s - cost.harness_cpu_s - others_s;
    Evidence {
        server_busy: share(contender_s, contender_cpus),
        busiest_thread: cost.busy_threads.first().map_or(0.0, |t| t.cpu_percent / 100.0),
        steal: share(cost.host_steal_s, number(&cpus)),
        strangers: share(strangers_s, number(&cpus)),
        stalled: cost.pressure.memory_full.max(cost.pressure.io_full),
        listen_drops: cost.pressure.listen_drops,
        ..Evidence::default()
    }
}

/// Output files that say nothing are not kept.
fn remove_empty(logs: &Logs) {
    for path in [&logs.stdout, &logs.stderr] {
        if std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(path);
        }
    }
}
