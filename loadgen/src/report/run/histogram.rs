//! Histograms as figures.

use hdrhistogram::Histogram;

use super::Times;

/// Figures of a histogram of ns, in µs.
///
/// Every value is the middle of its bucket, so that `min <= p50 <= max`, all are equal for a
/// single sample, and the error is half of the histogram's precision.
pub(super) fn times_us(histogram: &Histogram<u64>) -> Times {
    let count = histogram.len();
    if count == 0 {
        return Times::default();
    }
    let us = |ns: u64| Some(histogram.median_equivalent(ns) as f64 / 1e3);
    let at = |quantile| us(histogram.value_at_quantile(quantile));
    let mean_ns = histogram.mean();
    Times {
        count,
        min: us(histogram.min()),
        mean: finite(mean_ns / 1e3),
        stdev: finite(histogram.stdev() / 1e3),
        p25: at(0.25),
        p50: at(0.50),
        p75: at(0.75),
        p90: at(0.90),
        p95: at(0.95),
        p99: at(0.99),
        p99_9: at(0.999),
        max: us(histogram.max()),
    }
}

/// Three decimals (ns in a figure of µs), and only numbers that JSON can hold.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| (value * 1e3).round() / 1e3)
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
        let times = times_us(&histogram((1..=1000).map(|us| us * 1000)));
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
        let times = times_us(&histogram([123_456_789]));
        let all = [times.min, times.mean, times.p25, times.p50, times.p99, times.p99_9, times.max];
        assert!(all.iter().all(|value| *value == times.max), "{times:?}");
        assert_eq!(times.stdev, Some(0.0));
    }

    #[test]
    fn tiny_samples_are_ordered() {
        for n in 2..=10 {
            let times = times_us(&histogram((1..=n).map(|i| i * 10_000)));
            let order = [times.min, times.p25, times.p50, times.p90, times.p99, times.max];
            assert!(order.is_sorted(), "{times:?}");
            assert!(times.max.unwrap() >= n as f64 * 9.99);
        }
    }

    #[test]
    fn nothing_measured_is_null() {
        let json = serde_json::to_value(times_us(&histogram([]))).unwrap();
        assert_eq!(json["count"], 0);
        assert!(json["p50"].is_null() && json["mean"].is_null());
    }
}
