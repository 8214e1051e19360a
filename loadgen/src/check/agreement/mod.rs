//! Agreement: other load generators beside this one, on the same server, in turn.

mod explain;
mod tools;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ceiling::SATURATED;
use super::delay_server::{DelayServer, Delays};
use super::finding::{Finding, Grade};
use super::load::Load;
use super::{Effort, Means};
use crate::engine::{self, Pacing, Stop};
use crate::experiment::null_server_process::NullServerProcess;
use crate::experiment::stats::median;
use crate::histogram;
use tools::Tool;

/// Each load.
const TIME: Duration = Duration::from_secs(1);
/// The delay of every answer of the server that all generators can keep up with.
const DELAY: Duration = Duration::from_millis(2);

/// What the generators saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Whether they agree.
    pub finding: Finding,
    /// Other generators that were found on PATH.
    pub tools: Vec<String>,
    /// One line for each load and generator, ours first.
    pub figures: Vec<Figures>,
}

/// Medians of one generator's rounds with one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Whether the server was the limit (`delayed`: each answer after 2 ms) or whoever can (`full`).
    pub load: LoadKind,
    /// `loadgen`, or the name of the program.
    pub tool: String,
    /// Connections kept open.
    pub connections: u32,
    /// Requests per second.
    pub rate_per_s: Option<f64>,
    /// Median latency, µs.
    pub p50_us: Option<f64>,
    /// CPU time of the generator for one request, µs; of other programs with their start.
    pub cpu_us_per_request: Option<f64>,
    /// Share of the time that the generator was on a CPU, 0 to 1.
    pub busy_fraction: Option<f64>,
    /// Whether it says what ours says.
    pub grade: Grade,
    /// Why it does not, or why it could not be run.
    pub note: Option<String>,
}

/// The two loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadKind {
    /// The server takes 2 ms for each answer: every generator keeps up, so all must say the same.
    Delayed,
    /// The server answers at once: shows how far each generator gets.
    Full,
}

impl LoadKind {
    fn connections(self) -> u32 {
        match self {
            Self::Delayed => 10,
            Self::Full => 50,
        }
    }
}

/// What one load of one generator gave.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    rate_per_s: f64,
    p50_us: f64,
    cpu_us_per_request: f64,
    busy_fraction: f64,
}

/// Runs ours and every tool on PATH in turn.
///
/// # Errors
/// A server or the engine cannot be started.
pub(super) fn measure(means: &Means<'_>, effort: &Effort) -> Result<Agreement, String> {
    let tools = tools::on_path();
    let names: Vec<String> = tools.iter().map(|(tool, _)| tool.name().to_owned()).collect();
    let mut figures = Vec::new();
    if !tools.is_empty() {
        // With many tools, each has one round: the check is to end in about a minute.
        let rounds = if tools.len() > 2 { 1 } else { effort.agreement_rounds };
        let server = DelayServer::start(Delays::Constant(DELAY), &means.pins.server_cpus)
            .map_err(|error| format!("the server with known delays: {error}"))?;
        figures.extend(compare(means, LoadKind::Delayed, server.address(), &tools, rounds)?);
        server.finish();
        let server = NullServerProcess::start(12, &means.pins.server_cpus, None)?;
        let address = server.reach.address;
        figures.extend(compare(means, LoadKind::Full, address, &tools, rounds)?);
    }
    Ok(Agreement { finding: judge(&names, &figures), tools: names, figures })
}

fn compare(
    means: &Means<'_>,
    load: LoadKind,
    address: SocketAddr,
    tools: &[(Tool, PathBuf)],
    rounds: usize,
) -> Result<Vec<Figures>, String> {
    let mut ours = Vec::new();
    let mut theirs: Vec<Result<Vec<Sample>, String>> = tools.iter().map(|_| Ok(vec![])).collect();
    for _ in 0..rounds {
        if means.stop.is_raised() {
            break;
        }
        ours.push(run_ours(means, load, address)?);
        for ((tool, path), samples) in tools.iter().zip(&mut theirs) {
            // One that failed once is not asked again.
            let Ok(done) = samples else { continue };
            match tools::run(*tool, path, address, load.connections(), TIME) {
                Ok(sample) => done.push(sample),
                Err(reason) => *samples = Err(reason),
            }
        }
    }
    let Some(reference) = middle(&ours) else { return Ok(Vec::new()) };
    let mut figures = vec![figures_of(load, "loadgen", Some(reference), Grade::Good, None)];
    for ((tool, _), samples) in tools.iter().zip(theirs) {
        figures.push(match samples {
            Ok(samples) => match middle(&samples) {
                Some(sample) => {
                    let (grade, note) = explain::explain(*tool, load, &reference, &sample);
                    figures_of(load, tool.name(), Some(sample), grade, note)
                }
                None => continue,
            },
            Err(reason) => figures_of(load, tool.name(), None, Grade::Tolerable, Some(reason)),
        });
    }
    Ok(figures)
}

fn run_ours(means: &Means<'_>, load: LoadKind, address: SocketAddr) -> Result<Sample, String> {
    let spec = Load {
        address,
        trust: None,
        connections: load.connections(),
        pacing: Pacing::Closed,
        stop: Stop::Duration(TIME),
        warmup: Duration::ZERO,
        // The other generators are given one thread, too.
        cpus: &means.pins.generator_cpus[..1],
    }
    .spec();
    let result = engine::run(&spec, means.stop, &mut ()).map_err(|error| error.to_string())?;
    let completed = result.requests.completed as f64;
    let cpu = result.generator.cpu_user + result.generator.cpu_system;
    Ok(Sample {
        rate_per_s: completed / result.elapsed.as_secs_f64().max(1e-9),
        p50_us: histogram::us_at(&result.service_time_ns, 0.5),
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / completed.max(1.0),
        busy_fraction: result.generator.busy_fraction,
    })
}

fn middle(samples: &[Sample]) -> Option<Sample> {
    let of = |value: fn(&Sample) -> f64| median(&samples.iter().map(value).collect::<Vec<_>>());
    (!samples.is_empty()).then(|| Sample {
        rate_per_s: of(|sample| sample.rate_per_s),
        p50_us: of(|sample| sample.p50_us),
        cpu_us_per_request: of(|sample| sample.cpu_us_per_request),
        busy_fraction: of(|sample| sample.busy_fraction),
    })
}

fn figures_of(
    load: LoadKind,
    tool: &str,
    sample: Option<Sample>,
    grade: Grade,
    note: Option<String>,
) -> Figures {
    let value = |of: fn(&Sample) -> f64| sample.as_ref().map(of).filter(|value| value.is_finite());
    Figures {
        load,
        tool: tool.into(),
        connections: load.connections(),
        rate_per_s: value(|sample| sample.rate_per_s),
        p50_us: value(|sample| sample.p50_us),
        cpu_us_per_request: value(|sample| sample.cpu_us_per_request),
        busy_fraction: value(|sample| sample.busy_fraction),
        grade,
        note,
    }
}

fn judge(tools: &[String], figures: &[Figures]) -> Finding {
    if tools.is_empty() {
        let names: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
        let value = format!("not compared: none of {} is on PATH", names.join(", "));
        // Nothing is wrong with the machine or its figures.
        return Finding::new("agreement", Grade::Good, value);
    }
    let grade = figures.iter().map(|figures| figures.grade).max().unwrap_or(Grade::Good);
    let differ: Vec<&str> = figures
        .iter()
        .filter(|figures| figures.grade == Grade::Bad)
        .map(|figures| figures.tool.as_str())
        .collect();
    let value = match grade {
        Grade::Bad => format!("{} and loadgen differ, and nothing explains it", differ.join(", ")),
        Grade::Tolerable => {
            format!("{} beside loadgen: see the notes on what differs", tools.join(", "))
        }
        Grade::Good => format!("{} say what loadgen says, or why not", tools.join(", ")),
    };
    Finding::new("agreement", grade, value).advise(
        "look at the lines above: on a machine that is not quiet each round meets another load",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_other_tools_nothing_is_wrong() {
        let finding = judge(&[], &[]);
        assert_eq!(finding.grade, Grade::Good);
        assert!(finding.value.contains("wrk, oha, bombardier, h2load, autocannon"), "{finding:?}");
    }

    #[test]
    fn a_difference_that_nothing_explains_is_bad_and_names_the_tool() {
        let figures = [
            figures_of(LoadKind::Delayed, "loadgen", None, Grade::Good, None),
            figures_of(LoadKind::Delayed, "wrk", None, Grade::Bad, None),
        ];
        let finding = judge(&["wrk".into()], &figures);
        assert_eq!(finding.grade, Grade::Bad);
        assert!(finding.value.starts_with("wrk and loadgen differ"), "{finding:?}");
    }
}
