//! The tables of a comparison for the terminal.

use std::fmt::Write as _;

use super::table::tables;
use super::windows;
use crate::experiment::record::Comparison;

/// The figures and notes of all tables as plain text; the latencies in full are in the report.
pub fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for table in tables(comparison) {
        let headings = table.figures.headings.iter().map(|heading| (*heading).to_owned());
        let mut lines = vec![headings.collect()];
        lines.extend(table.figures.rows);
        let window = windows::of_scenario(&comparison.manifest, &table.scenario);
        let window = window.map_or_else(String::new, |window| format!(": {window}"));
        let _ = writeln!(text, "\n{}{window}", table.scenario);
        text.push_str(&aligned(&lines));
        for note in table.notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    for warning in comparison.warnings.iter().chain(&comparison.skipped) {
        let _ = writeln!(text, "\n{warning}");
    }
    if let Some(sentence) = windows::scaled(&comparison.manifest) {
        let _ = writeln!(text, "\n{sentence}");
    }
    if comparison.manifest.trials_per_cell < 3 {
        text.push_str("\nToo few trials for intervals: nothing is told apart, all is one tie.\n");
    }
    text
}

/// Columns as wide as their widest entry; the first and last to the left, figures to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::from("  ");
        for (column, (entry, &width)) in line.iter().zip(&widths).enumerate() {
            let left = column == 0 || column + 1 == columns;
            let _ = if left {
                write!(row, "{entry:<width$}  ")
            } else {
                write!(row, "{entry:>width$}  ")
            };
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let line = |a: &str, b: &str, c: &str| vec![a.to_owned(), b.to_owned(), c.to_owned()];
        let text = aligned(&[line("who", "µs", "verdict"), line("a", "1,000", "ok")]);
        assert_eq!(text, "  who     µs  verdict\n  a    1,000  ok\n");
    }
}
