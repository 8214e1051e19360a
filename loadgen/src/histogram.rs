//! Histograms of times: the figures that results show, and the blobs in which they keep all of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

/// A distribution of times, µs: what every result says of a histogram. All values are `null` when
/// `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Times {
    /// Samples; 0 also in results that were made before it was kept.
    #[serde(default)]
    pub count: u64,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub stdev: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub max: Option<f64>,
}

impl Times {
    /// The figures of a histogram of ns.
    ///
    /// Every value is the middle of its bucket, so that `min <= p50 <= max`, all are equal for a
    /// single sample, and the error is half of the histogram's precision.
    pub fn of(histogram_ns: &Histogram<u64>) -> Self {
        if histogram_ns.is_empty() {
            return Self::default();
        }
        let at = |quantile| finite(us_at(histogram_ns, quantile));
        let middle = |ns| finite(us(histogram_ns.median_equivalent(ns)));
        Self {
            count: histogram_ns.len(),
            min: middle(histogram_ns.min()),
            mean: finite(histogram_ns.mean() / 1e3),
            stdev: finite(histogram_ns.stdev() / 1e3),
            p25: at(0.25),
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: middle(histogram_ns.max()),
        }
    }

    /// Every figure with its key, in the order of the fields.
    pub fn figures(&self) -> [(&'static str, Option<f64>); 11] {
        [
            ("min", self.min),
            ("mean", self.mean),
            ("stdev", self.stdev),
            ("p25", self.p25),
            ("p50", self.p50),
            ("p75", self.p75),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99_9", self.p99_9),
            ("max", self.max),
        ]
    }
}

/// The middle of the bucket that holds a quantile of a histogram of ns, in µs.
pub fn us_at(histogram_ns: &Histogram<u64>, quantile: f64) -> f64 {
    us(histogram_ns.median_equivalent(histogram_ns.value_at_quantile(quantile)))
}

#[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^53 ns")]
fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Three decimals (ns in a figure of µs), and only numbers that JSON can hold.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| (value * 1e3).round() / 1e3)
}

/// A blob that is not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not an HdrHistogram V2 in base64: {0}")]
pub struct HistogramError(String);

impl From<hdrhistogram::AdditionError> for HistogramError {
    fn from(error: hdrhistogram::AdditionError) -> Self {
        Self(error.to_string())
    }
}

/// A histogram as HdrHistogram V2 with DEFLATE, in base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut blob = Vec::new();
    // Writing to a `Vec` cannot fail, and all counts of a u64 histogram can be encoded.
    let _ = V2DeflateSerializer::new().serialize(histogram, &mut blob);
    STANDARD.encode(blob)
}

/// The histogram in a blob made by [`encode`].
///
/// # Errors
/// The text is not such a blob.
pub fn decode(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let blob = STANDARD.decode(text).map_err(|error| HistogramError(error.to_string()))?;
    Deserializer::new()
        .deserialize(&mut blob.as_slice())
        .map_err(|error| HistogramError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for value in values {
            histogram.record(value).unwrap();
        }
        histogram
    }

    #[test]
    fn percentiles_of_one_to_a_thousand_us() {
        let times = Times::of(&histogram((1..=1000).map(|us| us * 1000)));
        for (name, value, truth) in [
            ("min", times.min, 1.0),
            ("p25", times.p25, 250.0),
            ("p50", times.p50, 500.0),
            ("p90", times.p90, 900.0),
            ("p99", times.p99, 990.0),
            ("p99.9", times.p99_9, 999.0),
            ("max", times.max, 1000.0),
            ("mean", times.mean, 500.5),
        ] {
            let value = value.unwrap();
            assert!((value - truth).abs() <= truth * 0.001, "{name}: {value}, not {truth}");
        }
    }

    #[test]
    fn one_sample_has_one_value_everywhere() {
        let times = Times::of(&histogram([123_456_789]));
        let all = [times.min, times.mean, times.p25, times.p50, times.p99, times.p99_9, times.max];
        assert!(all.iter().all(|value| *value == times.max), "{times:?}");
        assert_eq!(times.stdev, Some(0.0));
    }

    #[test]
    fn tiny_samples_are_ordered() {
        for n in 2..=10 {
            let times = Times::of(&histogram((1..=n).map(|i| i * 10_000)));
            let order = [times.min, times.p25, times.p50, times.p90, times.p99, times.max];
            assert!(order.is_sorted(), "{times:?}");
            assert!(times.max.unwrap() >= n as f64 * 9.99);
        }
    }

    #[test]
    fn nothing_measured_is_null() {
        let json = serde_json::to_value(Times::of(&histogram([]))).unwrap();
        assert_eq!(json["count"], 0);
        assert!(json["p50"].is_null() && json["mean"].is_null());
    }

    #[test]
    fn a_blob_holds_every_count() {
        let original = histogram([1, 5_000, 5_000, 999_999_999]);
        let copy = decode(&encode(&original)).unwrap();
        assert_eq!(copy, original);
        assert!(decode("bm90IGEgaGlzdG9ncmFt").is_err());
        assert!(decode("%").is_err());
    }
}
