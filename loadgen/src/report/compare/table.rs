//! The rows of a comparison's tables, as text without layout.

use std::time::Duration;

use super::role::is_client;
use crate::experiment::record::{CellResult, Comparison};
use crate::experiment::verdict::Verdict;
use crate::histogram::Times;
use crate::report::units;

/// One scenario's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Scenario name.
    pub scenario: String,
    /// What contenders are compared by.
    pub figures: Grid,
    /// Mean, percentiles and maximum of the service time.
    pub latency: Grid,
    /// What a reader of the rows must know.
    pub notes: Vec<String>,
}

/// Rows under headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The first column is text, the last too, all others are figures.
    pub headings: Vec<&'static str>,
    /// The column with the number of connections, where there is one.
    pub level: Option<usize>,
    /// One row for each contender and number of connections.
    pub rows: Vec<Vec<String>>,
}

/// Headings where the contenders are servers.
const HEADINGS: [&str; 12] = [
    "contender",
    "rank",
    "connections",
    "requests/s",
    "p50",
    "p99",
    "max",
    "CPU %",
    "CPU µs/request",
    "memory MiB",
    "% of ceiling",
    "verdict",
];

/// Headings where the contenders are clients.
const UPLOAD_HEADINGS: [&str; 13] = [
    "contender",
    "rank",
    "uploads/s",
    "MB/s",
    "p50",
    "p99",
    "max",
    "CPU %",
    "CPU µs/upload",
    "memory MiB",
    "peak MiB",
    "% of ceiling",
    "verdict",
];

/// The measures of the service time, in the order of the columns.
const TIMES: [(&str, Figure); 8] = [
    ("mean", |time| time.mean),
    ("p25", |time| time.p25),
    ("p50", |time| time.p50),
    ("p75", |time| time.p75),
    ("p90", |time| time.p90),
    ("p99", |time| time.p99),
    ("p99.9", |time| time.p99_9),
    ("max", |time| time.max),
];

/// One measure of the service time.
type Figure = fn(Times) -> Option<f64>;

/// One table for each scenario; rows that are compared with each other, those at the same number of
/// connections, stand together.
pub fn tables(comparison: &Comparison) -> Vec<Table> {
    let table = |scenario: &str| {
        let of_scenario = |cell: &&CellResult| cell.scenario == scenario;
        let mut cells: Vec<&CellResult> = comparison.cells.iter().filter(of_scenario).collect();
        cells.sort_by_key(|cell| cell.connections);
        let client = is_client(comparison, scenario);
        let mut notes: Vec<String> =
            cells.iter().filter_map(|cell| outliers(cell, client)).collect();
        notes.extend(verdict_notes(&cells, client));
        notes.extend(sink_notes(comparison, scenario));
        let row = if client { upload_row } else { row };
        let figures = Grid {
            headings: if client { UPLOAD_HEADINGS.to_vec() } else { HEADINGS.to_vec() },
            level: (!client).then_some(2),
            rows: cells.iter().map(|cell| row(cell)).collect(),
        };
        Table { scenario: scenario.to_owned(), figures, latency: latency(&cells, client), notes }
    };
    scenarios(comparison).into_iter().map(table).collect()
}

/// Names of the scenarios, in the order of the cells.
pub(super) fn scenarios(comparison: &Comparison) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &comparison.cells {
        if !names.contains(&cell.scenario.as_str()) {
            names.push(&cell.scenario);
        }
    }
    names
}

/// Why rows are not to be read as the contenders' own figures: each invalid one, and one line for
/// each of the other verdicts.
fn verdict_notes(cells: &[&CellResult], client: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let at_least = if client { Verdict::SinkBound } else { Verdict::ClientBound };
    for verdict in [Verdict::Invalid, at_least, Verdict::HostNoisy] {
        let of_verdict: Vec<_> = cells.iter().filter(|c| c.verdict == Some(verdict)).collect();
        let one_by_one = verdict == Verdict::Invalid || of_verdict.len() < 3;
        let shown = if one_by_one { of_verdict.as_slice() } else { &of_verdict[..1] };
        notes.extend(shown.iter().map(|cell| note(cell, client)));
        if !one_by_one {
            let others = of_verdict.len() - 1;
            notes.push(format!("{others} more rows are {}: see result.json", verdict.name()));
        }
    }
    notes
}

fn note(cell: &CellResult, client: bool) -> String {
    let verdict = cell.verdict.map_or("not run", Verdict::name);
    format!("{}: {verdict}: {}", place(cell, client), cell.reason)
}

fn outliers(cell: &CellResult, client: bool) -> Option<String> {
    let (place, blocks) = (place(cell, client), &cell.outlying_blocks);
    (!blocks.is_empty()).then(|| format!("{place}: outlying in trial {blocks:?}, kept"))
}

fn place(cell: &CellResult, client: bool) -> String {
    if client {
        return cell.contender.clone();
    }
    format!("{} at {} connections", cell.contender, cell.connections)
}

/// Contenders whose sink is not as that of the others.
fn sink_notes(comparison: &Comparison, scenario: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for trial in comparison.trials.iter().filter(|trial| trial.planned.cell.scenario == scenario) {
        let options = trial.sink.as_ref().map_or_else(Vec::new, |sink| sink.options.clone());
        let contender = &trial.planned.cell.contender;
        let note = format!("{contender}: the sink was started with {}", options.join(" "));
        if !options.is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn row(cell: &CellResult) -> Vec<String> {
    vec![
        cell.contender.clone(),
        rank(cell),
        cell.connections.to_string(),
        rate(cell),
        time(cell, |time| time.p50),
        time(cell, |time| time.p99),
        time(cell, |time| time.max),
        cell.cpu_percent.map_or_else(dash, |percent| format!("{percent:.0}")),
        cell.cpu_us_per_request.map_or_else(dash, significant),
        cell.memory_mib.map_or_else(dash, |memory| format!("{:.0}", memory.mean)),
        cell.percent_of_ceiling.map_or_else(dash, significant),
        verdict(cell),
    ]
}

fn upload_row(cell: &CellResult) -> Vec<String> {
    vec![
        cell.contender.clone(),
        rank(cell),
        rate(cell),
        cell.mb_per_s.map_or_else(dash, significant),
        time(cell, |time| time.p50),
        time(cell, |time| time.p99),
        time(cell, |time| time.max),
        cell.cpu_percent.map_or_else(dash, |percent| format!("{percent:.0}")),
        cell.cpu_us_per_request.map_or_else(dash, significant),
        cell.memory_mib.map_or_else(dash, |memory| format!("{:.0}", memory.mean)),
        cell.memory_mib.map_or_else(dash, |memory| format!("{:.0}", memory.peak)),
        cell.percent_of_ceiling.map_or_else(dash, significant),
        verdict(cell),
    ]
}

/// The service times of `cells`.
fn latency(cells: &[&CellResult], client: bool) -> Grid {
    let level = (!client).then_some("connections");
    let headings = ["contender"].into_iter().chain(level);
    let row = |cell: &&CellResult| {
        let level = (!client).then(|| cell.connections.to_string());
        let row = [cell.contender.clone()].into_iter().chain(level);
        let times = TIMES.iter().map(|(_, figure)| time(cell, *figure));
        row.chain(times).chain([verdict(cell)]).collect()
    };
    Grid {
        headings: headings.chain(TIMES.iter().map(|(name, _)| *name)).chain(["verdict"]).collect(),
        level: level.map(|_| 1),
        rows: cells.iter().map(row).collect(),
    }
}

fn verdict(cell: &CellResult) -> String {
    cell.verdict.map_or("not run", Verdict::name).to_owned()
}

fn rank(cell: &CellResult) -> String {
    match (cell.rank, cell.tied) {
        (Some(rank), true) => format!("{rank}="),
        (Some(rank), false) => rank.to_string(),
        (None, _) => dash(),
    }
}

fn rate(cell: &CellResult) -> String {
    cell.rate_per_s.map_or_else(dash, |rate| spread(rate, half_width(cell)))
}

fn time(cell: &CellResult, figure: Figure) -> String {
    cell.service_time_us.and_then(figure).map_or_else(dash, units::time_us)
}

fn dash() -> String {
    "–".into()
}

/// Half the width of the rate's interval, in percent of the rate.
fn half_width(cell: &CellResult) -> Option<f64> {
    let (interval, rate) = (cell.rate_interval?, cell.rate_per_s?);
    Some((interval.high - interval.low) / 2.0 / rate * 100.0)
}

fn spread(rate: f64, half_width_percent: Option<f64>) -> String {
    let rate = units::rate(rate);
    half_width_percent.map_or(rate.clone(), |percent| format!("{rate} ±{percent:.0}%"))
}

/// Three significant digits where there are that few before the point.
pub(super) fn significant(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => units::count(value.round() as u64),
    }
}

/// A length of time for people: `1 min 5 s`, `6 h 40 min`.
pub fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds if seconds < 7_200 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_three_digits_and_lengths_of_time_two_units() {
        assert_eq!(significant(9.994), "9.99");
        assert_eq!(significant(9.996), "10.0");
        assert_eq!(significant(99.96), "100");
        assert_eq!(significant(21_971.4), "21,971");
        assert_eq!(minutes(Duration::from_secs(65)), "1 min 5 s");
        assert_eq!(minutes(Duration::from_secs(659)), "11 min");
        assert_eq!(minutes(Duration::from_secs(24_030)), "6 h 40 min");
    }

    #[test]
    fn a_cell_without_figures_shows_dashes_and_its_reason() {
        let cell = CellResult {
            contender: "bad".into(),
            connections: 50,
            verdict: Some(Verdict::Invalid),
            reason: "status is 404, not 200".into(),
            ..CellResult::default()
        };
        assert_eq!(row(&cell)[3], "–");
        assert_eq!(row(&cell).len(), HEADINGS.len());
        assert_eq!(upload_row(&cell).len(), UPLOAD_HEADINGS.len());
        for client in [false, true] {
            let grid = latency(&[&cell], client);
            assert_eq!(grid.rows[0].len(), grid.headings.len());
            assert_eq!(grid.rows[0].iter().filter(|entry| *entry == "–").count(), TIMES.len());
        }
        let notes = verdict_notes(&[&cell], false);
        assert_eq!(notes, ["bad at 50 connections: invalid: status is 404, not 200"]);
        let notes = verdict_notes(&[&cell], true);
        assert_eq!(notes, ["bad: invalid: status is 404, not 200"], "a client has no level");
        let noisy = CellResult { verdict: Some(Verdict::HostNoisy), ..cell };
        assert_eq!(verdict_notes(&[&noisy; 5], false).len(), 2, "one example and a count");
    }
}
