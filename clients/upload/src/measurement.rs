//! What is counted and timed, and the line it is printed as.

use std::time::Duration;

use anyhow::Context as _;
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::uploader::UploadError;

/// Longest time that is told apart from longer ones.
const LONGEST: Duration = Duration::from_secs(3600);
/// Significant decimal digits of a time.
const DIGITS: u8 = 3;
/// Length of a step of the timeline.
const STEP: Duration = Duration::from_millis(100);

/// Counts and times so far.
pub(crate) struct Measurement {
    warmup_uploads: u64,
    uploads: u64,
    failed: u64,
    failure: Option<String>,
    bytes: u64,
    times_ns: Histogram<u64>,
    timeline: Vec<u64>,
}

/// What is printed.
#[derive(Debug, Serialize)]
pub(crate) struct Result {
    /// Uploads that were answered 204 in the window.
    uploads: u64,
    /// Uploads that were not, in the warm-up or the window.
    failed: u64,
    /// Why, for the first of them.
    failure: Option<String>,
    /// Bytes of the files in the window's uploads.
    bytes: u64,
    /// Length of the window: from the start of its first upload to the end of its last.
    elapsed_s: f64,
    /// Uploads that were answered 204 before the window.
    warmup_uploads: u64,
    /// Time of one upload, from opening the file to the end of the answer.
    latency_us: Latency,
    /// The same in full: a time in µs, to three digits, and how many uploads took it.
    latency_us_counts: Vec<(f64, u64)>,
    /// Uploads that were completed in each tenth of a second.
    timeline: Vec<u64>,
}

/// The usual figures of a distribution, µs.
#[derive(Debug, Serialize)]
struct Latency {
    min: f64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl Measurement {
    /// Nothing yet.
    ///
    /// # Errors
    ///
    /// None that can occur: the bounds of the histogram are right.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let times_ns = Histogram::new_with_bounds(1, nanos(LONGEST), DIGITS);
        Ok(Self {
            warmup_uploads: 0,
            uploads: 0,
            failed: 0,
            failure: None,
            bytes: 0,
            times_ns: times_ns.context("the histogram of times")?,
            timeline: Vec::new(),
        })
    }

    /// An upload before the window was answered.
    pub(crate) fn warmed_up(&mut self) {
        self.warmup_uploads += 1;
    }

    /// An upload of `bytes` was answered, `time` after it was begun, `at` into the window.
    pub(crate) fn completed(&mut self, bytes: u64, time: Duration, at: Duration) {
        self.uploads += 1;
        self.bytes += bytes;
        self.times_ns.saturating_record(nanos(time));
        let step = (at + time).as_nanos() / STEP.as_nanos();
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        // A day at the most: `--seconds` is bounded.
        if step >= self.timeline.len() {
            self.timeline.resize(step + 1, 0);
        }
        self.timeline[step] += 1;
    }

    /// An upload failed.
    pub(crate) fn failed(&mut self, error: &UploadError) {
        self.failed += 1;
        self.failure.get_or_insert_with(|| error.to_string());
    }

    /// The result of a window of this length.
    pub(crate) fn result(self, elapsed: Duration) -> Result {
        let times = &self.times_ns;
        let counts = times.iter_recorded();
        Result {
            uploads: self.uploads,
            failed: self.failed,
            failure: self.failure,
            bytes: self.bytes,
            elapsed_s: elapsed.as_secs_f64(),
            warmup_uploads: self.warmup_uploads,
            latency_us: Latency {
                min: micros(times.min()),
                mean: times.mean() / 1e3,
                p50: micros(times.value_at_quantile(0.5)),
                p90: micros(times.value_at_quantile(0.9)),
                p99: micros(times.value_at_quantile(0.99)),
                max: micros(times.max()),
            },
            latency_us_counts: counts
                .map(|step| (micros(step.value_iterated_to()), step.count_at_value()))
                .collect(),
            timeline: self.timeline,
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "times are far below 2^53 ns, which is 104 days")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_upload_is_in_counts_times_and_timeline() {
        let mut measurement = Measurement::new().unwrap();
        measurement.warmed_up();
        for at_ms in [0, 90, 240] {
            let at = Duration::from_millis(at_ms);
            measurement.completed(1_095, Duration::from_millis(20), at);
        }
        let result = measurement.result(Duration::from_millis(260));
        assert_eq!((result.uploads, result.warmup_uploads, result.bytes), (3, 1, 3 * 1_095));
        assert_eq!(result.timeline, [1, 1, 1]);
        let [(us, count)] = result.latency_us_counts[..] else { panic!("{result:?}") };
        assert_eq!(count, 3);
        assert!((us / 20_000.0 - 1.0).abs() < 0.001 && (result.latency_us.p50 - us).abs() < 1e-9);
    }
}
