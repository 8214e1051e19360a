//! Whether a claim holds: its ratio at each number of connections, from pairs of trials of the same
//! block, against the range in which the claim is true.

use serde::Serialize;

use super::file::{Claim, Expected, Measure, Side};
use crate::experiment::record::{CellResult, Comparison, Trial};
use crate::experiment::stats::{Interval, median, median_interval};
use crate::experiment::verdict::Verdict;
use crate::report::compare::trials_of;

/// What a comparison says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Outcome {
    /// The whole interval of the ratio is where the claim has it.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval is elsewhere, at one number of connections at least.
    #[serde(rename = "no longer holds")]
    NoLongerHolds,
    /// This run does not tell.
    #[serde(rename = "not separable here")]
    NotSeparable,
    /// One of its sides has no figure.
    #[serde(rename = "not measured")]
    NotMeasured,
}

impl Outcome {
    /// The name used in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::NoLongerHolds => "no longer holds",
            Self::NotSeparable => "not separable here",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A claim and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub claim: String,
    /// The published figures.
    pub published: String,
    /// The figure that is compared.
    pub measure: Measure,
    /// Whose figure is divided.
    pub of: String,
    /// By whose it is divided.
    pub to: String,
    /// Ratio above which it holds.
    pub expected_low: f64,
    /// Ratio below which it holds.
    pub expected_high: Option<f64>,
    /// What was found over all numbers of connections.
    pub outcome: Outcome,
    /// Why, in one sentence.
    pub reason: String,
    /// At each number of connections.
    pub levels: Vec<AtLevel>,
}

/// The ratio at one number of connections.
#[derive(Clone, Debug, Serialize)]
pub struct AtLevel {
    /// Connections of the side that is divided.
    pub connections: u32,
    /// Figure of the side that is divided, a median over trials.
    pub of: f64,
    /// Figure of the other side.
    pub to: f64,
    /// Median of the ratios within the blocks; `null` where both are nothing.
    pub ratio: Option<f64>,
    /// 95 % bootstrap interval of it over blocks.
    pub interval: Option<Interval>,
    /// The same figure of the native ceiling in the scenario of the side that is divided.
    pub ceiling: Option<f64>,
    /// What was found here.
    pub outcome: Outcome,
    /// Why it cannot be told.
    pub reason: String,
}

/// Judges one claim.
pub fn judge(claim: &Claim, comparison: &Comparison) -> Judged {
    let levels: Vec<AtLevel> = pairs(claim, comparison)
        .into_iter()
        .filter_map(|(of, to)| at_level(claim, comparison, of, to))
        .collect();
    let (outcome, reason) = over_all(claim, &levels);
    Judged {
        name: claim.name.clone(),
        claim: claim.claim.clone(),
        published: claim.published.clone(),
        measure: claim.measure,
        of: format!("{}/{}", claim.of.scenario, claim.of.contender),
        to: format!("{}/{}", claim.to.scenario, claim.to.contender),
        expected_low: claim.expected.low,
        expected_high: claim.expected.high,
        outcome,
        reason,
        levels,
    }
}

/// The cells that are compared with each other.
fn pairs<'a>(claim: &Claim, comparison: &'a Comparison) -> Vec<(&'a CellResult, &'a CellResult)> {
    let cells = |side: &Side| -> Vec<&'a CellResult> {
        let of_side = comparison.cells.iter().filter(|cell| {
            cell.scenario == side.scenario
                && cell.contender == side.contender
                && side.connections.is_none_or(|level| cell.connections == level)
        });
        of_side.collect()
    };
    let others = cells(&claim.to);
    let wanted = |cell: &&CellResult| {
        claim.connections.is_empty() || claim.connections.contains(&cell.connections)
    };
    let partner = |cell: &'a CellResult| {
        let same = |other: &&&CellResult| {
            claim.to.connections.is_some() || other.connections == cell.connections
        };
        others.iter().find(same).map(|other| (cell, *other))
    };
    cells(&claim.of).into_iter().filter(wanted).filter_map(partner).collect()
}

fn at_level(
    claim: &Claim,
    comparison: &Comparison,
    of: &CellResult,
    to: &CellResult,
) -> Option<AtLevel> {
    let values = |cell: &CellResult| -> Vec<(u32, f64)> {
        let trials = trials_of(comparison, cell);
        let value = |trial: &&Trial| Some((trial.planned.block, value(claim.measure, trial)?));
        trials.iter().filter_map(value).collect()
    };
    let (of_values, to_values) = (values(of), values(to));
    if of_values.is_empty() || to_values.is_empty() {
        return None;
    }
    let middle = |values: &[(u32, f64)]| median(&values.iter().map(|v| v.1).collect::<Vec<_>>());
    let ratios: Vec<f64> = of_values
        .iter()
        .filter_map(|(block, value)| {
            let other = to_values.iter().find(|(other, _)| other == block)?;
            Some(ratio(*value, other.1))
        })
        .collect();
    let interval = median_interval(&ratios, comparison.manifest.seed);
    let (outcome, reason) = outcome(claim, comparison, interval, of, to);
    let finite = |value: f64| value.is_finite().then_some(value);
    Some(AtLevel {
        connections: of.connections,
        of: middle(&of_values),
        to: middle(&to_values),
        ratio: if ratios.is_empty() { None } else { finite(median(&ratios)) },
        interval: interval.filter(|i| i.low.is_finite() && i.high.is_finite()),
        ceiling: ceiling(claim.measure, comparison, of),
        outcome,
        reason,
    })
}

/// Nothing by nothing is the same.
fn ratio(of: f64, to: f64) -> f64 {
    if of == 0.0 && to == 0.0 { 1.0 } else { of / to }
}

fn outcome(
    claim: &Claim,
    comparison: &Comparison,
    interval: Option<Interval>,
    of: &CellResult,
    to: &CellResult,
) -> (Outcome, String) {
    let unclear = |reason: String| (Outcome::NotSeparable, reason);
    let cpus = comparison.manifest.pins.server_cpus.len();
    if cpus < claim.needs_server_cpus {
        let needs = claim.needs_server_cpus;
        return unclear(format!("it needs {needs} server CPUs to show, here are {cpus}"));
    }
    for cell in [of, to] {
        if cell.verdict == Some(Verdict::HostNoisy) {
            return unclear(format!("{} was measured on a noisy host", cell.contender));
        }
    }
    let Some(interval) = interval else {
        return unclear("fewer than three pairs of trials carry no interval".into());
    };
    let (interval, bound) = widened(claim.measure, interval, of, to);
    match inside(interval, claim.expected) {
        Some(true) => (Outcome::Holds, String::new()),
        Some(false) => (Outcome::NoLongerHolds, String::new()),
        None => unclear(bound.unwrap_or_else(|| "the interval is on both sides".into())),
    }
}

/// What the generator or the sink limited is a lower bound of a rate: the ratio may be larger, or
/// smaller.
fn widened(
    measure: Measure,
    interval: Interval,
    of: &CellResult,
    to: &CellResult,
) -> (Interval, Option<String>) {
    if !matches!(measure, Measure::Rate | Measure::ResponseBytes) {
        return (interval, None);
    }
    let limited = |cell: &CellResult| cell.verdict.is_some_and(Verdict::is_at_least);
    let low = if limited(to) { 0.0 } else { interval.low };
    let high = if limited(of) { f64::INFINITY } else { interval.high };
    let who: Vec<&str> =
        [of, to].into_iter().filter(|cell| limited(cell)).map(|c| c.contender.as_str()).collect();
    let sink = [of, to].iter().any(|cell| cell.verdict == Some(Verdict::SinkBound));
    let limit = if sink { "sink" } else { "generator" };
    let reason = (!who.is_empty()).then(|| format!("the {limit} limited {}", who.join(" and ")));
    (Interval { low, high }, reason)
}

/// Whether the interval is inside of the range, outside, or both (`None`).
fn inside(interval: Interval, expected: Expected) -> Option<bool> {
    let high = expected.high.unwrap_or(f64::INFINITY);
    let above_low = interval.low > expected.low || expected.low == 0.0;
    let below_high = interval.high < high || expected.high.is_none();
    if above_low && below_high {
        Some(true)
    } else if interval.high <= expected.low || interval.low >= high {
        Some(false)
    } else {
        None
    }
}

/// A claim holds where it holds at every number of connections.
fn over_all(claim: &Claim, levels: &[AtLevel]) -> (Outcome, String) {
    if levels.is_empty() {
        let side = |side: &Side| format!("{}/{}", side.scenario, side.contender);
        let (of, to) = (side(&claim.of), side(&claim.to));
        return (Outcome::NotMeasured, format!("no figures of {of} beside {to}"));
    }
    let at = |outcome: Outcome| -> Vec<String> {
        let found = levels.iter().filter(|level| level.outcome == outcome);
        found.map(|level| level.connections.to_string()).collect()
    };
    let (holds, refuted) = (at(Outcome::Holds), at(Outcome::NoLongerHolds));
    if !refuted.is_empty() {
        let reason = if refuted.len() == levels.len() {
            "at every number of connections".to_owned()
        } else {
            format!("not at {} connections", refuted.join(", "))
        };
        (Outcome::NoLongerHolds, reason)
    } else if holds.len() == levels.len() {
        (Outcome::Holds, String::new())
    } else {
        let first = levels.iter().find(|level| level.outcome == Outcome::NotSeparable);
        (Outcome::NotSeparable, first.map_or_else(String::new, |level| level.reason.clone()))
    }
}

fn ceiling(measure: Measure, comparison: &Comparison, of: &CellResult) -> Option<f64> {
    let cell = comparison.cells.iter().find(|cell| {
        cell.scenario == of.scenario
            && cell.contender == comparison.manifest.ceiling
            && cell.connections == of.connections
    })?;
    let trials = trials_of(comparison, cell);
    let values: Vec<f64> = trials.iter().filter_map(|trial| value(measure, trial)).collect();
    (!values.is_empty()).then(|| median(&values))
}

/// The figure of one trial.
fn value(measure: Measure, trial: &Trial) -> Option<f64> {
    let load = trial.load.as_ref()?;
    #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
    let number = |count: u64| count as f64;
    match measure {
        Measure::Rate => Some(load.rate_per_s),
        Measure::Cpu => {
            let server = trial.server.as_ref()?;
            Some((server.cpu_user_s + server.cpu_system_s) / server.elapsed_s * 100.0)
        }
        Measure::MemoryMean => Some(trial.memory_mib?.mean),
        Measure::MemoryPeak => Some(trial.memory_mib?.peak),
        Measure::LatencyMean => load.service_time_us.mean,
        Measure::LatencyMax => load.service_time_us.max,
        Measure::ResponseBytes => Some(number(load.bytes_received) / load.elapsed_s),
        Measure::FailedShare => {
            let failed = load.requests.failed + load.requests.timed_out;
            Some(ratio_of_counts(failed, load.requests.sent) * 100.0)
        }
    }
}

fn ratio_of_counts(part: u64, whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
    let (part, whole) = (part as f64, whole.max(1) as f64);
    part / whole
}

#[cfg(test)]
mod tests;
