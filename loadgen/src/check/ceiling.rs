//! The generator's ceiling: the highest rate it can see on this machine, and what a request costs it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Grade};
use super::load::Load;
use super::{Effort, Means};
use crate::engine::{self, Pacing, Stop};
use crate::experiment::ceiling::LoadShape;
use crate::experiment::null_server_process::NullServerProcess;
use crate::experiment::stats::median;
use crate::report::units;

/// Bodies of the answers: a short one, and the picture's size.
const RESPONSE_BYTES: [usize; 2] = [12, 12_000];
/// Connections kept open.
const CONNECTIONS: [u32; 3] = [10, 50, 300];
/// A generator thread that is this busy had nothing left to give.
pub(super) const SATURATED: f64 = 0.90;

/// All ceilings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// How it went.
    pub finding: Finding,
    /// One for each load.
    pub loads: Vec<CeilingOfLoad>,
}

/// What the generator reached with one load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CeilingOfLoad {
    /// HTTPS.
    pub tls: bool,
    /// Body of each answer, bytes.
    pub response_bytes: usize,
    /// Connections kept open.
    pub connections: u32,
    /// Completed requests per second: the most of the rounds.
    pub rate_per_s: f64,
    /// CPU time of the generator for one request: the median of the rounds.
    pub generator_cpu_us_per_request: f64,
    /// Largest share of the time that one generator thread was on the CPU, 0 to 1. Where it is low the
    /// null server was the limit, and the generator can do more.
    pub generator_busy_fraction: f64,
}

impl CeilingOfLoad {
    /// What decides which of a comparison's loads it stands for.
    pub fn shape(&self) -> LoadShape {
        LoadShape::new(self.tls, self.connections, 0, self.response_bytes)
    }
}

/// Measures all of them.
///
/// # Errors
/// The null server or the engine cannot be started.
pub(super) fn measure(means: &Means<'_>, effort: &Effort) -> Result<Ceilings, String> {
    let mut loads = Vec::new();
    for tls in [false, true] {
        for response_bytes in RESPONSE_BYTES {
            let files = tls.then(|| means.tls_files());
            let server = NullServerProcess::start(response_bytes, &means.pins.server_cpus, files)?;
            for connections in CONNECTIONS {
                if means.stop.is_raised() {
                    return Ok(judge(loads));
                }
                let load = Load {
                    address: server.reach.address,
                    trust: tls.then_some(means.places.cert.as_path()),
                    connections,
                    pacing: Pacing::Closed,
                    stop: Stop::Duration(effort.ceiling_window),
                    warmup: Duration::from_millis(80),
                    cpus: &means.pins.generator_cpus,
                };
                loads.push(best_of(means, &load, response_bytes, effort.ceiling_rounds)?);
            }
        }
    }
    Ok(judge(loads))
}

/// A ceiling is what can be reached: the best round counts.
fn best_of(
    means: &Means<'_>,
    load: &Load<'_>,
    response_bytes: usize,
    rounds: usize,
) -> Result<CeilingOfLoad, String> {
    let mut best = CeilingOfLoad {
        tls: load.trust.is_some(),
        response_bytes,
        connections: load.connections,
        rate_per_s: 0.0,
        generator_cpu_us_per_request: 0.0,
        generator_busy_fraction: 0.0,
    };
    let mut costs = Vec::new();
    for _ in 0..rounds {
        let result = engine::run(&load.spec(), means.stop, &mut ()).map_err(|e| e.to_string())?;
        if let Some((kind, tally)) = result.errors.iter().next() {
            return Err(format!("{}: {} ({})", kind.name(), tally.count, tally.example));
        }
        let completed = result.requests.completed as f64;
        if completed == 0.0 {
            continue;
        }
        let rate_per_s = completed / result.elapsed.as_secs_f64();
        let cpu = result.generator.cpu_user + result.generator.cpu_system;
        costs.push(cpu.as_secs_f64() * 1e6 / completed);
        if rate_per_s > best.rate_per_s {
            best.rate_per_s = rate_per_s;
            best.generator_busy_fraction = result.generator.busy_fraction;
        }
    }
    if !costs.is_empty() {
        best.generator_cpu_us_per_request = median(&costs);
    }
    Ok(best)
}

fn judge(loads: Vec<CeilingOfLoad>) -> Ceilings {
    let most = loads.iter().map(|load| load.rate_per_s).fold(0.0, f64::max);
    let silent = loads.iter().any(|load| load.rate_per_s <= 0.0);
    let value = format!(
        "up to {} requests/s; a contender this fast is not told from a faster one",
        units::rate(most)
    );
    let grade = if silent || loads.is_empty() { Grade::Bad } else { Grade::Good };
    let finding = Finding::new("generator ceiling", grade, value)
        .figure("most_requests_per_s", most)
        .advise("a load had no answers at all: see the lines on limits and the loopback");
    Ceilings { finding, loads }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(rate_per_s: f64) -> CeilingOfLoad {
        CeilingOfLoad {
            tls: false,
            response_bytes: 12,
            connections: 50,
            rate_per_s,
            generator_cpu_us_per_request: 5.0,
            generator_busy_fraction: 1.0,
        }
    }

    #[test]
    fn the_highest_rate_is_the_ceiling_and_silence_is_bad() {
        let ceilings = judge(vec![load(100_000.0), load(150_000.0)]);
        assert_eq!(ceilings.finding.grade, Grade::Good);
        assert!(ceilings.finding.value.contains("150,000"), "{ceilings:?}");
        assert_eq!(judge(vec![load(0.0)]).finding.grade, Grade::Bad);
        assert_eq!(judge(Vec::new()).finding.grade, Grade::Bad);
    }

    #[test]
    fn a_ceiling_stands_for_the_loads_of_its_class() {
        assert_eq!(load(1.0).shape(), LoadShape::new(false, 50, 0, 200));
        assert_ne!(load(1.0).shape(), LoadShape::new(false, 50, 0, 12_000));
        assert_ne!(load(1.0).shape(), LoadShape::new(true, 50, 0, 12));
    }
}
