//! A difference for the terminal.

use std::fmt::Write as _;

use super::{CellDiff, Change, Diff, Outcome};
use crate::report::units;

/// Tables by scenario, reasons under them, and what got worse at the end.
pub fn text(diff: &Diff) -> String {
    let mut text = format!("BASE {}, NEW {}\n", diff.base_started_at, diff.new_started_at);
    for line in &diff.forced {
        let _ = writeln!(text, "Forced: {line}");
    }
    let mut scenarios: Vec<&str> = diff.cells.iter().map(|c| c.cell.scenario.as_str()).collect();
    let mut seen = std::collections::BTreeSet::new();
    scenarios.retain(|name| seen.insert(*name));
    for scenario in scenarios {
        let _ = writeln!(text, "\n{scenario}");
        let cells: Vec<_> = diff.cells.iter().filter(|c| c.cell.scenario == scenario).collect();
        text.push_str(&table(&cells));
    }
    let _ = writeln!(
        text,
        "\nNEW by BASE with 95 % intervals over trials. A change is shown where the whole interval \
         is beyond {} %.",
        round(diff.threshold * 100.0)
    );
    text.push_str(&conclusion(diff));
    text
}

fn table(cells: &[&CellDiff]) -> String {
    let headings = ["contender", "connections", "requests/s", "CPU per request", "p99"];
    let mut lines = vec![headings.map(str::to_owned)];
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for cell in cells {
        let [rate, cost, p99] = cell.changes().map(|(_, change)| entry(change));
        let connections = cell.cell.connections.to_string();
        lines.push([cell.cell.contender.clone(), connections, rate, cost, p99]);
        for (figure, change) in cell.changes() {
            let Some(reason) = &change.reason else { continue };
            let place = format!("{} at {} connections", cell.cell.contender, cell.cell.connections);
            let line = format!("{place}: {reason}");
            match reasons.iter_mut().find(|(known, _)| *known == line) {
                Some((_, figures)) => figures.push(figure.to_owned()),
                None => reasons.push((line, vec![figure.to_owned()])),
            }
        }
    }
    let mut text = aligned(&lines);
    for (line, figures) in reasons {
        let which =
            if figures.len() == 3 { String::new() } else { format!(" ({})", figures.join(", ")) };
        let _ = writeln!(text, "  {line}{which}");
    }
    text
}

fn entry(change: &Change) -> String {
    match (change.ratio, change.interval) {
        (Some(ratio), Some(interval)) => format!(
            "{ratio:.3} ({:.3} to {:.3}) {}",
            interval.low,
            interval.high,
            change.outcome.name()
        ),
        _ => change.outcome.name().to_owned(),
    }
}

fn aligned(lines: &[[String; 5]]) -> String {
    let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let mut row = String::from("  ");
        for (column, (entry, &width)) in line.iter().zip(&widths).enumerate() {
            let _ = if column == 1 {
                write!(row, "{entry:>width$}  ")
            } else {
                write!(row, "{entry:<width$}  ")
            };
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

fn conclusion(diff: &Diff) -> String {
    if !diff.compares_anything() {
        return "Nothing could be compared.\n".into();
    }
    let count = |wanted: Outcome| {
        let changes = diff.cells.iter().flat_map(CellDiff::changes);
        changes.filter(|(_, change)| change.outcome == wanted).count() as u64
    };
    let mut text = format!(
        "{} faster, {} slower, {} without a change shown, {} not comparable.\n",
        units::counted(count(Outcome::Faster), "figure"),
        count(Outcome::Slower),
        count(Outcome::NoChangeShown),
        count(Outcome::NotComparable)
    );
    for cell in diff.cells.iter().filter(|cell| cell.is_regression()) {
        let at = &cell.cell;
        let place = format!("{} {} at {} connections", at.scenario, at.contender, at.connections);
        if cell.broken {
            let reason = cell.rate_per_s.reason.as_deref().unwrap_or("no figures");
            let _ = writeln!(text, "Regression: {place}: {reason}");
        }
        for (figure, change) in cell.changes() {
            if let (Outcome::Slower, Some(base), Some(new)) =
                (change.outcome, change.base, change.new)
            {
                let of = if figure == "requests/s" { units::rate } else { units::time_us };
                let _ = writeln!(text, "Regression: {place}: {figure} {} → {}", of(base), of(new));
            }
        }
    }
    text
}

/// A number without needless digits: `5`, `2.5`.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
