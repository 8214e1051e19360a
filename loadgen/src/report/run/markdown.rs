//! The result as a table to paste into an issue.

use super::{Loop, RunReport};
use crate::report::units;

/// A heading line, one table, and the notes.
pub fn markdown(report: &RunReport) -> String {
    let kind = match report.load {
        Loop::Closed => "closed loop",
        Loop::Open => "open loop",
    };
    let mut rows = vec![
        ("requests/s".to_owned(), report.rate_per_s.map_or_else(|| "-".into(), units::rate)),
        ("completed".into(), units::count(report.requests.completed)),
        ("failed".into(), units::count(report.requests.failed)),
        ("timed out".into(), units::count(report.requests.timed_out)),
    ];
    let mut times = vec![("service time", &report.service_time_us)];
    times.extend(report.response_time_us.as_ref().map(|times| ("response time", times)));
    for (name, times) in times {
        for (figure, value) in [
            ("p50", times.p50),
            ("p90", times.p90),
            ("p99", times.p99),
            ("p99.9", times.p99_9),
            ("max", times.max),
        ] {
            rows.push((format!("{name} {figure}"), units::time_us_or_dash(value)));
        }
    }
    for (kind, failure) in &report.errors {
        rows.push((format!("error {kind}"), units::count(failure.count)));
    }
    rows.push((
        "generator CPU per request".into(),
        units::time_us_or_dash(report.generator.cpu_us_per_request),
    ));
    let mut out = format!(
        "`{} {}`, {kind}, {}, {}\n\n| | |\n|---|---:|\n",
        report.method,
        report.url.replace('`', "%60"),
        units::counted(report.connections, "connection"),
        units::time_us(report.elapsed_s * 1e6)
    );
    for (name, value) in rows {
        out.push_str(&format!("| {name} | {value} |\n"));
    }
    for note in &report.notes {
        out.push_str(&format!("\nNote: {note}\n"));
    }
    out
}
