//! Reading pictures back, for the tests.

#![allow(dead_code, reason = "each test and example uses its part")]

use std::io::Cursor;

use sha2::{Digest, Sha256};

/// A square picture as one byte a pixel, 0 dark and 255 light, and its width.
pub(crate) fn decode(file: &[u8]) -> (usize, Vec<u8>) {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("a PNG header");
    let mut samples = vec![0; reader.output_buffer_size().expect("a picture that fits memory")];
    let frame = reader.next_frame(&mut samples).expect("PNG data");
    assert_eq!(frame.width, frame.height);
    let gray = samples.chunks(frame.color_type.samples()).map(|pixel| pixel[0]).collect();
    (frame.width as usize, gray)
}

/// The upper left `width` x `width` pixels of a picture; what is cut off must be light.
pub(crate) fn cut(pixels: &[u8], from: usize, width: usize) -> Vec<u8> {
    let mut cut = Vec::with_capacity(width * width);
    for (y, row) in pixels.chunks(from).enumerate() {
        let (inside, outside) = row.split_at(if y < width { width } else { 0 });
        assert!(outside.iter().all(|pixel| *pixel == 255), "row {y} is not light beyond {width}");
        cut.extend_from_slice(inside);
    }
    cut
}

/// SHA-256 in hexadecimal.
pub(crate) fn hash(pixels: &[u8]) -> String {
    Sha256::digest(pixels).iter().map(|byte| format!("{byte:02x}")).collect()
}
