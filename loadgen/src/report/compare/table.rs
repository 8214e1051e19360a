//! The rows of a comparison's tables, as text without layout.

use std::time::Duration;

use crate::experiment::record::{CellResult, Comparison};
use crate::experiment::verdict::Verdict;

/// One scenario's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Scenario name.
    pub scenario: String,
    /// One row for each contender and number of connections.
    pub rows: Vec<Vec<String>>,
    /// What a reader of the rows must know.
    pub notes: Vec<String>,
}

/// Headings of every table; the first column is text, all others are figures.
pub(super) const HEADINGS: [&str; 12] = [
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

/// One table for each scenario, in the order of the cells.
pub fn tables(comparison: &Comparison) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for cell in &comparison.cells {
        if tables.last().is_none_or(|table| table.scenario != cell.scenario) {
            let scenario = cell.scenario.clone();
            tables.push(Table { scenario, rows: Vec::new(), notes: Vec::new() });
        }
        let Some(table) = tables.last_mut() else { continue };
        table.rows.push(row(cell));
        table.notes.extend(outliers(cell));
    }
    for table in &mut tables {
        let of_table = |cell: &&CellResult| cell.scenario == table.scenario;
        let cells: Vec<&CellResult> = comparison.cells.iter().filter(of_table).collect();
        table.notes.extend(verdict_notes(&cells));
    }
    tables
}

/// Why rows are not to be read as the contenders' own figures: each invalid one, and one line for
/// each of the other verdicts.
fn verdict_notes(cells: &[&CellResult]) -> Vec<String> {
    let mut notes = Vec::new();
    for verdict in [Verdict::Invalid, Verdict::ClientBound, Verdict::HostNoisy] {
        let of_verdict: Vec<_> = cells.iter().filter(|c| c.verdict == Some(verdict)).collect();
        let one_by_one = verdict == Verdict::Invalid || of_verdict.len() < 3;
        let shown = if one_by_one { of_verdict.as_slice() } else { &of_verdict[..1] };
        notes.extend(shown.iter().map(|cell| note(cell)));
        if !one_by_one {
            let others = of_verdict.len() - 1;
            notes.push(format!("{others} more rows are {}: see result.json", verdict.name()));
        }
    }
    notes
}

fn note(cell: &CellResult) -> String {
    let verdict = cell.verdict.map_or("not run", Verdict::name);
    format!("{}: {verdict}: {}", place(cell), cell.reason)
}

fn outliers(cell: &CellResult) -> Option<String> {
    let blocks = &cell.outlying_blocks;
    (!blocks.is_empty()).then(|| format!("{}: outlying in trial {blocks:?}, kept", place(cell)))
}

fn place(cell: &CellResult) -> String {
    format!("{} at {} connections", cell.contender, cell.connections)
}

fn row(cell: &CellResult) -> Vec<String> {
    let time = |value: fn(&CellResult) -> Option<f64>| value(cell).map_or_else(dash, time);
    let rank = match (cell.rank, cell.tied) {
        (Some(rank), true) => format!("{rank}="),
        (Some(rank), false) => rank.to_string(),
        (None, _) => dash(),
    };
    vec![
        cell.contender.clone(),
        rank,
        cell.connections.to_string(),
        cell.rate_per_s.map_or_else(dash, |rate| spread(rate, half_width(cell))),
        time(|cell| Some(cell.service_time_us?.p50)),
        time(|cell| Some(cell.service_time_us?.p99)),
        time(|cell| Some(cell.service_time_us?.max)),
        cell.cpu_percent.map_or_else(dash, |percent| format!("{percent:.0}")),
        cell.cpu_us_per_request.map_or_else(dash, significant),
        cell.memory_mib.map_or_else(dash, |memory| format!("{:.0}", memory.mean)),
        cell.percent_of_ceiling.map_or_else(dash, |percent| format!("{percent:.0}")),
        cell.verdict.map_or("not run", Verdict::name).to_owned(),
    ]
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
    let rate = grouped(rate);
    half_width_percent.map_or(rate.clone(), |percent| format!("{rate} ±{percent:.0}%"))
}

/// A time in µs with its unit: three or four significant digits.
pub(super) fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// Three significant digits where there are that few before the point.
pub(super) fn significant(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A rate with thousands separated; small ones keep a digit after the point.
pub fn grouped(rate: f64) -> String {
    if rate < 99.95 {
        return format!("{rate:.1}");
    }
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A length of time for people: `1 min 5 s`.
pub fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_the_rounded_figure_does() {
        assert_eq!(time(0.5), "0.50 µs");
        assert_eq!(time(999.4), "999 µs");
        assert_eq!(time(999.6), "1.00 ms");
        assert_eq!(time(999_600.0), "1.00 s");
        assert_eq!(significant(9.996), "10.0");
        assert_eq!(grouped(1_234_567.8), "1,234,568");
        assert_eq!(grouped(49.96), "50.0");
        assert_eq!(grouped(100.0), "100");
        assert_eq!(minutes(Duration::from_secs(65)), "1 min 5 s");
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
        let notes = verdict_notes(&[&cell]);
        assert_eq!(notes, ["bad at 50 connections: invalid: status is 404, not 200"]);
        let noisy = CellResult { verdict: Some(Verdict::HostNoisy), ..cell };
        assert_eq!(verdict_notes(&[&noisy; 5]).len(), 2, "one example and a count");
    }
}
