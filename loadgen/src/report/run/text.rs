//! The result as a summary for people.

use std::fmt::Write;

use hdrhistogram::Histogram;

use super::{Loop, RunReport, Times};
use crate::histogram::decode;
use crate::report::units;

/// Widest bar of the histogram, in characters.
const BAR_WIDTH: usize = 40;
/// Most bars of the histogram.
const MAX_BARS: usize = 14;

/// The summary, with a final newline and without escape codes.
pub fn text(report: &RunReport) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_summary(&mut out, report);
    out
}

fn write_summary(out: &mut String, report: &RunReport) -> std::fmt::Result {
    write_load(out, report)?;
    writeln!(out)?;
    write_counts(out, report)?;
    write_times(out, report)?;
    if let Ok(histogram) = decode(&report.histograms.service_time_ns) {
        write_bars(out, &histogram)?;
    }
    write_outcomes(out, report)?;
    write_generator(out, report)?;
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    for note in &report.notes {
        writeln!(out, "Note: {note}")?;
    }
    Ok(())
}

fn write_load(out: &mut String, report: &RunReport) -> std::fmt::Result {
    writeln!(out, "{} {}", report.method, report.url)?;
    match (&report.schedule, report.load) {
        (Some(schedule), Loop::Open) => {
            write!(out, "open loop at {} requests/s", units::rate(schedule.rate_per_s))?;
        }
        _ => write!(out, "closed loop")?,
    }
    write!(
        out,
        ", {}, {}, {}",
        units::counted(report.connections, "connection"),
        units::counted(report.threads, "thread"),
        units::time_us(report.elapsed_s * 1e6)
    )?;
    if report.warmup.elapsed_s > 0.0 {
        write!(out, " after {} of warm-up", units::time_us(report.warmup.elapsed_s * 1e6))?;
    }
    if let Some(address) = &report.address {
        write!(out, "\nconnected to {address}")?;
    }
    if let Some(tls) = &report.tls {
        write!(out, ", {} {}", tls.version, tls.cipher)?;
    }
    writeln!(out)
}

fn write_counts(out: &mut String, report: &RunReport) -> std::fmt::Result {
    let rate = report.rate_per_s.map_or_else(|| "-".into(), units::rate);
    writeln!(out, "Requests/s   {rate}")?;
    let requests = &report.requests;
    write!(
        out,
        "Requests     {} sent: {} completed, {} failed, {} timed out",
        units::count(requests.sent),
        units::count(requests.completed),
        units::count(requests.failed),
        units::count(requests.timed_out)
    )?;
    if requests.in_flight_at_end > 0 {
        write!(out, ", {} in flight at the end", units::count(requests.in_flight_at_end))?;
    }
    writeln!(out)?;
    if let Some(schedule) = &report.schedule {
        writeln!(
            out,
            "Schedule     {} due, {}/s sent of {}/s; lag p50 {}, p99 {}, max {}",
            units::count(schedule.due),
            schedule.sent_per_s.map_or_else(|| "-".into(), units::rate),
            units::rate(schedule.rate_per_s),
            units::time_us_or_dash(schedule.lag_us.p50),
            units::time_us_or_dash(schedule.lag_us.p99),
            units::time_us_or_dash(schedule.lag_us.max)
        )?;
    }
    let per_second = |bytes: u64| {
        let rate = bytes as f64 / report.elapsed_s;
        if rate.is_finite() { format!(" ({}/s)", units::bytes(rate)) } else { String::new() }
    };
    let (received, sent) = (report.bytes.received, report.bytes.sent);
    writeln!(out, "Received     {}{}", units::bytes(received as f64), per_second(received))?;
    writeln!(out, "Sent         {}{}", units::bytes(sent as f64), per_second(sent))
}

fn write_times(out: &mut String, report: &RunReport) -> std::fmt::Result {
    let columns = [
        ("service time", Some(&report.service_time_us)),
        ("response time", report.response_time_us.as_ref()),
        ("until failure", Some(&report.failed_time_us)),
        ("connect", Some(&report.connect_time_us)),
        ("TLS handshake", report.handshake_time_us.as_ref()),
    ];
    let columns: Vec<(&str, &Times)> = columns
        .into_iter()
        .filter_map(|(name, times)| Some((name, times.filter(|times| times.count > 0)?)))
        .collect();
    if columns.is_empty() {
        return Ok(());
    }
    write!(out, "\n{:<8}", "")?;
    for (name, _) in &columns {
        write!(out, "{name:>15}")?;
    }
    writeln!(out)?;
    for (row, (name, _)) in report.service_time_us.figures().iter().enumerate() {
        write!(out, "{:<8}", name.replace('_', "."))?;
        for (_, times) in &columns {
            write!(out, "{:>15}", units::time_us_or_dash(times.figures()[row].1))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_bars(out: &mut String, histogram: &Histogram<u64>) -> std::fmt::Result {
    let bars = bars(histogram);
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    writeln!(out, "\nService time of {}", units::counted(histogram.len(), "request"))?;
    for (upper_ns, count) in bars {
        let bar = "■".repeat((count as f64 / most as f64 * BAR_WIDTH as f64).ceil() as usize);
        let upper = units::round_time_us(upper_ns / 1e3);
        let line = format!("  up to {upper:>7}  {:>13}  {bar}", units::count(count));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Upper edges (ns) and counts; edges are round numbers, as fine as [`MAX_BARS`] allows.
fn bars(histogram: &Histogram<u64>) -> Vec<(f64, u64)> {
    const STEPS: [&[f64]; 4] = [
        &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        &[1.0, 2.0, 5.0],
        &[1.0],
    ];
    let mut bars = Vec::new();
    for steps in STEPS {
        bars = bars_with(histogram, steps);
        if bars.len() <= MAX_BARS {
            break;
        }
    }
    bars
}

fn bars_with(histogram: &Histogram<u64>, steps: &[f64]) -> Vec<(f64, u64)> {
    let (low, high) = (histogram.min() as f64, histogram.max() as f64);
    let edges = (0..14)
        .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
        .skip_while(|edge| *edge < low);
    let mut bars = Vec::new();
    for edge in edges {
        bars.push((edge, 0));
        if edge >= high {
            break;
        }
    }
    for value in histogram.iter_recorded() {
        let ns = histogram.median_equivalent(value.value_iterated_to()) as f64;
        let index = bars.iter().position(|(edge, _)| ns <= *edge).unwrap_or(bars.len() - 1);
        bars[index].1 += value.count_at_value();
    }
    bars
}

fn write_outcomes(out: &mut String, report: &RunReport) -> std::fmt::Result {
    if !report.status.is_empty() || !report.errors.is_empty() {
        writeln!(out)?;
    }
    if !report.status.is_empty() {
        let codes = report.status.iter();
        let codes = codes.map(|(code, count)| format!("{code}: {}", units::count(*count)));
        writeln!(out, "Status       {}", codes.collect::<Vec<_>>().join(", "))?;
    }
    for (kind, failure) in &report.errors {
        writeln!(
            out,
            "Error        {kind}: {} ({})",
            units::count(failure.count),
            failure.example
        )?;
    }
    if let Some(samples) = &report.samples {
        let (checked, wrong) = (units::count(samples.checked), units::count(samples.wrong));
        writeln!(out, "Samples      {checked} checked, {wrong} wrong")?;
    }
    Ok(())
}

fn write_generator(out: &mut String, report: &RunReport) -> std::fmt::Result {
    let generator = &report.generator;
    writeln!(
        out,
        "Generator    {:.0} % of a CPU in its busiest thread, {} of CPU per request ({} user, {} system)",
        generator.busy_fraction * 100.0,
        units::time_us_or_dash(generator.cpu_us_per_request),
        units::time_us(generator.cpu_user_s * 1e6),
        units::time_us(generator.cpu_system_s * 1e6)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_hold_every_sample_once_within_the_limit() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for exponent in 0..13 {
            histogram.record_n(3 * 10u64.pow(exponent.min(11)), 7).unwrap();
            let bars = bars(&histogram);
            assert!(bars.len() <= MAX_BARS, "{bars:?}");
            assert_eq!(bars.iter().map(|bar| bar.1).sum::<u64>(), histogram.len());
            assert!(bars.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
