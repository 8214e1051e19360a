//! Histograms as blobs: how results keep them, mergeable without loss.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

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

    #[test]
    fn a_blob_holds_every_count() {
        let mut original = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for ns in [1, 5_000, 5_000, 999_999_999] {
            original.record(ns).unwrap();
        }
        let copy = decode(&encode(&original)).unwrap();
        assert_eq!(copy, original);
        assert!(decode("bm90IGEgaGlzdG9ncmFt").is_err());
        assert!(decode("%").is_err());
    }
}
