//! The result as a line of names and a line of values, for spreadsheets.

use super::{RunReport, Times};

/// Two lines (RFC 4180 quoting, `\n` ends): the keys of the JSON joined by dots, and the values.
/// The columns are the same for every run; what was not measured is empty. Histograms, the
/// timeline and the examples of errors are left to the JSON.
pub fn csv(report: &RunReport) -> String {
    let columns = columns(report);
    let line = |cells: Vec<&str>| cells.into_iter().map(quoted).collect::<Vec<_>>().join(",");
    let names = line(columns.iter().map(|(name, _)| name.as_str()).collect());
    let values = line(columns.iter().map(|(_, value)| value.as_str()).collect());
    format!("{names}\n{values}\n")
}

fn columns(report: &RunReport) -> Vec<(String, String)> {
    let mut columns = Vec::new();
    let mut add = |name: &str, value: String| columns.push((name.to_owned(), value));
    add("started_at", report.started_at.clone());
    add("method", report.method.clone());
    add("url", report.url.clone());
    add("address", report.address.clone().unwrap_or_default());
    add("tls.version", report.tls.as_ref().map(|tls| tls.version.clone()).unwrap_or_default());
    add("loop", format!("{:?}", report.load).to_lowercase());
    add("connections", report.connections.to_string());
    add("threads", report.threads.to_string());
    add("elapsed_s", report.elapsed_s.to_string());
    add("interrupted", report.interrupted.to_string());
    add("rate_per_s", number(report.rate_per_s));
    add("requests.sent", report.requests.sent.to_string());
    add("requests.completed", report.requests.completed.to_string());
    add("requests.failed", report.requests.failed.to_string());
    add("requests.timed_out", report.requests.timed_out.to_string());
    add("requests.in_flight_at_end", report.requests.in_flight_at_end.to_string());
    add("schedule.rate_per_s", number(report.schedule.map(|schedule| schedule.rate_per_s)));
    add("schedule.due", report.schedule.map(|s| s.due.to_string()).unwrap_or_default());
    let none = Times::default();
    for (name, times) in [
        ("service_time_us", &report.service_time_us),
        ("response_time_us", report.response_time_us.as_ref().unwrap_or(&none)),
        ("connect_time_us", &report.connect_time_us),
        ("handshake_time_us", report.handshake_time_us.as_ref().unwrap_or(&none)),
    ] {
        for (figure, value) in times.figures() {
            add(&format!("{name}.{figure}"), number(value));
        }
    }
    add("bytes.sent", report.bytes.sent.to_string());
    add("bytes.received", report.bytes.received.to_string());
    add("bytes.received_body", report.bytes.received_body.to_string());
    add("generator.cpu_user_s", report.generator.cpu_user_s.to_string());
    add("generator.cpu_system_s", report.generator.cpu_system_s.to_string());
    add("generator.cpu_us_per_request", number(report.generator.cpu_us_per_request));
    add("generator.busy_fraction", report.generator.busy_fraction.to_string());
    add("status", pairs(report.status.iter()));
    add("errors", pairs(report.errors.iter().map(|(kind, failure)| (kind, failure.count))));
    columns
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn pairs<K: std::fmt::Display>(pairs: impl Iterator<Item = (K, impl std::fmt::Display)>) -> String {
    pairs.map(|(key, count)| format!("{key}={count}")).collect::<Vec<_>>().join(" ")
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
