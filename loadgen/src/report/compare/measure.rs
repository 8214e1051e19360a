//! The measures of a comparison: what each is called, where it is found, how it is written.

use crate::experiment::record::{CellResult, Comparison, Trial};
use crate::experiment::stats::{Interval, median_interval};
use crate::experiment::summary;
use crate::experiment::verdict::Verdict;
use crate::report::units;

/// One measure.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// Part of file names.
    pub(super) key: &'static str,
    /// Title of its chart.
    pub(super) title: &'static str,
    /// Its figure in a cell.
    pub(super) of_cell: fn(&CellResult) -> Option<f64>,
    /// The interval of that figure.
    pub(super) interval: Intervals,
    /// A figure with its unit.
    pub(super) format: fn(f64) -> String,
    /// A mark of the axis, a round number.
    pub(super) tick: fn(f64) -> String,
    /// Whether a client-bound figure is what the contender reaches at least.
    pub(super) at_least: bool,
}

/// Where the interval of a measure comes from.
#[derive(Clone, Copy)]
pub(super) enum Intervals {
    /// The cell has it.
    OfCell(fn(&CellResult) -> Option<Interval>),
    /// Bootstrap of the median over this figure of the trials.
    OfTrials(fn(&Trial) -> Option<f64>),
    /// An extreme over all trials has none.
    None,
}

/// The rate by that of the ceiling.
pub(super) const PERCENT_OF_CEILING: Measure = Measure {
    key: "percent-of-ceiling",
    title: "Requests per second, % of the ceiling",
    of_cell: |cell| cell.percent_of_ceiling,
    interval: Intervals::OfCell(|cell| cell.percent_of_ceiling_interval),
    format: percent,
    tick: round_percent,
    at_least: true,
};

/// A measure of the service time: the field of that name in cells and in trials.
macro_rules! time {
    ($field:ident, $title:literal) => {
        Measure {
            key: stringify!($field),
            title: $title,
            of_cell: |cell| cell.service_time_us?.$field,
            interval: Intervals::OfTrials(|trial| trial.load.as_ref()?.service_time_us.$field),
            format: units::time_us,
            tick: units::round_time_us,
            at_least: false,
        }
    };
}

/// What is drawn for every scenario, in this order.
pub(super) const MEASURES: [Measure; 11] = [
    Measure {
        key: "requests-per-second",
        title: "Requests per second",
        of_cell: |cell| cell.rate_per_s,
        interval: Intervals::OfCell(|cell| cell.rate_interval),
        format: units::rate,
        tick: round_number,
        at_least: true,
    },
    time!(mean, "Mean latency"),
    time!(p25, "Latency p25"),
    time!(p50, "Latency p50 (median)"),
    time!(p75, "Latency p75"),
    time!(p90, "Latency p90"),
    time!(p99, "Latency p99"),
    Measure { interval: Intervals::None, ..time!(max, "Latency max, of all trials") },
    Measure {
        key: "cpu-per-request",
        title: "CPU time per request",
        of_cell: |cell| cell.cpu_us_per_request,
        interval: Intervals::OfCell(|cell| cell.cpu_us_per_request_interval),
        format: units::time_us,
        tick: units::round_time_us,
        at_least: false,
    },
    Measure {
        key: "cpu",
        title: "CPU, % of one CPU",
        of_cell: |cell| cell.cpu_percent,
        interval: Intervals::OfTrials(|trial| {
            let server = trial.server.as_ref()?;
            Some((server.cpu_user_s + server.cpu_system_s) / server.elapsed_s * 100.0)
        }),
        format: percent,
        tick: round_percent,
        at_least: false,
    },
    Measure {
        key: "memory",
        title: "Memory, mean resident",
        of_cell: |cell| Some(cell.memory_mib?.mean),
        interval: Intervals::OfTrials(|trial| Some(trial.memory_mib?.mean)),
        format: mib,
        tick: |mib| format!("{} MiB", round_number(mib)),
        at_least: false,
    },
];

/// What is drawn besides where the contenders are clients.
const UPLOAD_MEASURES: [Measure; 2] = [
    Measure {
        key: "mb-per-second",
        title: "Uploaded, MB/s",
        of_cell: |cell| cell.mb_per_s,
        interval: Intervals::OfTrials(summary::mb_per_s),
        format: super::table::significant,
        tick: round_number,
        at_least: true,
    },
    Measure {
        key: "peak-memory",
        title: "Memory, peak resident",
        of_cell: |cell| Some(cell.memory_mib?.peak),
        interval: Intervals::OfTrials(|trial| Some(trial.memory_mib?.peak)),
        format: mib,
        tick: |mib| format!("{} MiB", round_number(mib)),
        at_least: false,
    },
];

/// What is drawn for a scenario; `client`: its contenders are clients.
pub(super) fn measures(client: bool) -> Vec<Measure> {
    if !client {
        return MEASURES.to_vec();
    }
    let titled = MEASURES.iter().map(|measure| match measure.key {
        "requests-per-second" => Measure { title: "Uploads per second", ..*measure },
        "cpu-per-request" => Measure { title: "CPU time per upload", ..*measure },
        _ => *measure,
    });
    titled.chain(UPLOAD_MEASURES).collect()
}

impl Measure {
    /// The interval of this measure in `cell`.
    pub(super) fn interval(&self, comparison: &Comparison, cell: &CellResult) -> Option<Interval> {
        match self.interval {
            Intervals::OfCell(interval) => interval(cell),
            Intervals::OfTrials(figure) => {
                let values: Vec<f64> =
                    trials(comparison, cell).into_iter().filter_map(figure).collect();
                median_interval(&values, comparison.manifest.seed)
            }
            Intervals::None => None,
        }
    }
}

/// The trials that the figures of `cell` rest on.
pub(in crate::report) fn trials<'a>(
    comparison: &'a Comparison,
    cell: &CellResult,
) -> Vec<&'a Trial> {
    if cell.verdict == Some(Verdict::Invalid) {
        return Vec::new();
    }
    let of_cell = comparison.trials.iter().filter(|trial| trial.planned.cell == cell.cell());
    summary::used(&of_cell.collect::<Vec<_>>())
}

/// `84.2 %`, `121 %`.
pub fn percent(value: f64) -> String {
    format!("{} %", super::table::significant(value))
}

fn round_percent(value: f64) -> String {
    format!("{} %", round_number(value))
}

fn mib(mib: f64) -> String {
    units::bytes(mib * 1024.0 * 1024.0)
}

/// A mark of an axis: `0.5`, `20`, `150,000`.
pub(super) fn round_number(value: f64) -> String {
    if value < 100.0 { format!("{}", (value * 1e3).round() / 1e3) } else { units::rate(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Times;

    #[test]
    fn keys_name_one_measure_each() {
        let all = measures(true);
        let mut keys: Vec<_> = all.iter().map(|measure| measure.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
        assert!(all.iter().all(|measure| !measure.title.to_lowercase().contains("request")));
        assert_eq!(round_number(0.1 + 0.2), "0.3");
        assert_eq!(round_number(150_000.0), "150,000");
        assert_eq!(percent(84.23), "84.2 %");
    }

    #[test]
    fn each_time_is_its_own() {
        let service_time_us = Some(Times {
            mean: Some(1.0),
            p25: Some(2.0),
            p50: Some(3.0),
            p75: Some(4.0),
            p90: Some(5.0),
            p99: Some(6.0),
            max: Some(7.0),
            ..Times::default()
        });
        let cell = CellResult { service_time_us, ..CellResult::default() };
        let figures: Vec<f64> = MEASURES.iter().filter_map(|m| (m.of_cell)(&cell)).collect();
        assert_eq!(figures, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}
