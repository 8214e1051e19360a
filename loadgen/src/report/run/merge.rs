//! Several generators' results of one load as one result, exact by their histograms.

use hdrhistogram::Histogram;

use super::build::{cpu_us_per_request, per_second};
use super::{Failure, RunReport, SCHEMA, Times, notes};
use crate::histogram::{HistogramError, decode, encode};

/// Results that cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Fewer than two results.
    #[error("at least two results are needed")]
    TooFew,
    /// A result of another kind or version.
    #[error("schema is `{0}`, not `{SCHEMA}`")]
    Schema(String),
    /// Results of different loads.
    #[error("the results differ in {0}: only results of one load can be merged")]
    Different(&'static str),
    /// A blob that cannot be read.
    #[error("{name}: {source}")]
    Histogram {
        /// Which one.
        name: &'static str,
        /// Why.
        source: HistogramError,
    },
}

/// Merges results of generators that loaded one server at the same time: counts, connections and
/// CPU are added, the window is the longest, times come from the added histograms.
///
/// # Errors
/// [`MergeError`]
pub fn merge(reports: &[RunReport]) -> Result<RunReport, MergeError> {
    let [first, rest @ ..] = reports else { return Err(MergeError::TooFew) };
    if rest.is_empty() {
        return Err(MergeError::TooFew);
    }
    for report in reports {
        check(first, report)?;
    }
    let mut sum = first.clone();
    for report in rest {
        add_counts(&mut sum, report);
        add_details(&mut sum, report);
    }
    merge_histograms(&mut sum, reports)?;
    sum.rate_per_s = per_second(sum.requests.completed, sum.elapsed_s);
    if let Some(schedule) = &mut sum.schedule {
        schedule.sent_per_s = per_second(sum.requests.sent, sum.elapsed_s);
    }
    let cpu_s = sum.generator.cpu_user_s + sum.generator.cpu_system_s;
    sum.generator.cpu_us_per_request = cpu_us_per_request(cpu_s, sum.requests.completed);
    sum.notes = notes::notes(&sum);
    Ok(sum)
}

fn check(first: &RunReport, report: &RunReport) -> Result<(), MergeError> {
    if report.schema != SCHEMA {
        return Err(MergeError::Schema(report.schema.clone()));
    }
    let same = [
        ("url", report.url == first.url),
        ("method", report.method == first.method),
        ("loop", report.load == first.load),
        ("keep_alive", report.keep_alive == first.keep_alive),
        ("tls", report.handshake_time_us.is_some() == first.handshake_time_us.is_some()),
        ("timeline.step_s", report.timeline.step_s == first.timeline.step_s),
    ];
    match same.iter().find(|(_, same)| !same) {
        Some((name, _)) => Err(MergeError::Different(name)),
        None => Ok(()),
    }
}

fn add_counts(sum: &mut RunReport, report: &RunReport) {
    sum.connections += report.connections;
    sum.threads += report.threads;
    sum.elapsed_s = sum.elapsed_s.max(report.elapsed_s);
    sum.interrupted |= report.interrupted;
    sum.requests.sent += report.requests.sent;
    sum.requests.completed += report.requests.completed;
    sum.requests.failed += report.requests.failed;
    sum.requests.timed_out += report.requests.timed_out;
    sum.requests.in_flight_at_end += report.requests.in_flight_at_end;
    sum.bytes.sent += report.bytes.sent;
    sum.bytes.received += report.bytes.received;
    sum.bytes.received_body += report.bytes.received_body;
    sum.connects.attempted += report.connects.attempted;
    sum.connects.established += report.connects.established;
    sum.connects.failed += report.connects.failed;
    sum.connects.resumed += report.connects.resumed;
    sum.connects.peak_open += report.connects.peak_open;
    sum.warmup.elapsed_s = sum.warmup.elapsed_s.max(report.warmup.elapsed_s);
    sum.warmup.sent += report.warmup.sent;
    sum.warmup.completed += report.warmup.completed;
    sum.warmup.failed += report.warmup.failed;
    sum.generator.cpu_user_s += report.generator.cpu_user_s;
    sum.generator.cpu_system_s += report.generator.cpu_system_s;
    sum.generator.busy_fraction = sum.generator.busy_fraction.max(report.generator.busy_fraction);
}

fn add_details(sum: &mut RunReport, report: &RunReport) {
    sum.started_at = sum.started_at.clone().min(report.started_at.clone());
    sum.address = sum.address.take().or_else(|| report.address.clone());
    sum.seed = sum.seed.filter(|seed| Some(*seed) == report.seed);
    for (status, count) in &report.status {
        *sum.status.entry(*status).or_default() += count;
    }
    for (kind, failure) in &report.errors {
        sum.errors
            .entry(kind.clone())
            .and_modify(|sum| sum.count += failure.count)
            .or_insert_with(|| Failure::clone(failure));
    }
    if let (Some(sum), Some(schedule)) = (&mut sum.schedule, &report.schedule) {
        sum.rate_per_s += schedule.rate_per_s;
        sum.due += schedule.due;
    }
    if let (Some(sum), Some(samples)) = (&mut sum.samples, &report.samples) {
        sum.checked += samples.checked;
        sum.wrong += samples.wrong;
    }
    let steps = sum.timeline.completed.len().max(report.timeline.completed.len());
    sum.timeline.completed.resize(steps, 0);
    for (sum, completed) in sum.timeline.completed.iter_mut().zip(&report.timeline.completed) {
        *sum += completed;
    }
}

fn merge_histograms(sum: &mut RunReport, reports: &[RunReport]) -> Result<(), MergeError> {
    let all = |name, blob: fn(&RunReport) -> Option<&String>| merged(name, reports, blob);
    if let Some((times, blob)) =
        all("service_time_ns", |report| Some(&report.histograms.service_time_ns))?
    {
        sum.service_time_us = times;
        sum.histograms.service_time_ns = blob;
    }
    if let Some((times, blob)) =
        all("failed_time_ns", |report| Some(&report.histograms.failed_time_ns))?
    {
        sum.failed_time_us = times;
        sum.histograms.failed_time_ns = blob;
    }
    if let Some((times, blob)) =
        all("connect_time_ns", |report| Some(&report.histograms.connect_time_ns))?
    {
        sum.connect_time_us = times;
        sum.histograms.connect_time_ns = blob;
    }
    let response = all("response_time_ns", |report| report.histograms.response_time_ns.as_ref())?;
    (sum.response_time_us, sum.histograms.response_time_ns) = response.unzip();
    let handshake =
        all("handshake_time_ns", |report| report.histograms.handshake_time_ns.as_ref())?;
    (sum.handshake_time_us, sum.histograms.handshake_time_ns) = handshake.unzip();
    let (lag_us, lag_ns) = all("lag_ns", |report| report.histograms.lag_ns.as_ref())?.unzip();
    if let (Some(schedule), Some(lag_us)) = (&mut sum.schedule, lag_us) {
        schedule.lag_us = lag_us;
    }
    sum.histograms.lag_ns = lag_ns;
    Ok(())
}

/// Figures and blob of the sum of one histogram over all reports, if they have it.
fn merged(
    name: &'static str,
    reports: &[RunReport],
    blob: fn(&RunReport) -> Option<&String>,
) -> Result<Option<(Times, String)>, MergeError> {
    let wrong = |source| MergeError::Histogram { name, source };
    let mut sum: Option<Histogram<u64>> = None;
    for text in reports.iter().filter_map(blob) {
        let next = decode(text).map_err(wrong)?;
        match &mut sum {
            None => {
                let mut histogram = next;
                // Generators may have seen ranges of different size.
                histogram.auto(true);
                sum = Some(histogram);
            }
            Some(sum) => sum.add(&next).map_err(|error| wrong(HistogramError::from(error)))?,
        }
    }
    Ok(sum.map(|sum| (Times::of(&sum), encode(&sum))))
}
