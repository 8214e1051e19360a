//! A reader that shares no code with the encoder gets the text back.

mod common;

use common::decode;
use proptest::prelude::*;
use server_qr::{Encoder, MARGIN_MODULES, PICTURE_PIXELS, TooLong};

/// What a reader finds on the picture of a text, looking for the code as in a photograph.
fn read_back(encoder: &mut Encoder, text: &str) -> String {
    let (width, pixels) = decode(&encoder.png(text).expect("a text that fits"));
    assert_eq!(width, PICTURE_PIXELS);
    let mut picture =
        rqrr::PreparedImage::prepare_from_greyscale(width, width, |x, y| pixels[y * width + x]);
    let grids = picture.detect_grids();
    let [grid] = &grids[..] else { panic!("{} codes found for {text:?}", grids.len()) };
    payload(grid, text)
}

/// What a reader gets that looks at the middle of each module. `rqrr` does not find versions 38 to
/// 40, whose modules are less than 2.9 pixels wide, by looking for them.
fn read_modules(encoder: &mut Encoder, text: &str) -> String {
    let size = encoder.symbol(text).expect("a text that fits").version().size();
    let (width, pixels) = decode(&encoder.png(text).expect("a text that fits"));
    let module = width as f64 / (size + 2 * MARGIN_MODULES) as f64;
    let middle = |index: usize| ((index + MARGIN_MODULES) as f64 * module + module / 2.0) as usize;
    let grid = rqrr::SimpleGrid::from_func(size, |x, y| pixels[middle(y) * width + middle(x)] == 0);
    payload(&rqrr::Grid::new(grid), text)
}

fn payload<G: rqrr::BitGrid>(grid: &rqrr::Grid<G>, text: &str) -> String {
    let mut bytes = Vec::new();
    grid.decode_to(&mut bytes).unwrap_or_else(|error| panic!("{error} for {text:?}"));
    String::from_utf8(bytes).expect("UTF-8")
}

fn assert_reads_back(text: &str) {
    assert_eq!(read_back(&mut Encoder::new(), text), text);
}

/// `length` bytes that no two lengths share.
fn text_of(length: usize) -> String {
    format!("https://example.com/{length}/abcdefghijklmnopqrstuvwxyz-")
        .chars()
        .cycle()
        .take(length)
        .collect()
}

#[test]
fn every_length_from_180_to_230_is_readable() {
    for length in 180..=230 {
        assert_reads_back(&text_of(length));
    }
}

#[test]
fn sizes_from_1_to_2331_bytes_are_readable() {
    for length in [1, 17, 100, 500, 1000, 1989] {
        assert_reads_back(&text_of(length));
    }
    for length in [1, 17, 100, 500, 1000, 2000, 2331] {
        let text = text_of(length);
        assert_eq!(read_modules(&mut Encoder::new(), &text), text);
    }
}

#[test]
fn leading_zeros_and_alphanumerics_are_kept() {
    for text in ["200505150001", "0001", "0", "HELLO WORLD", "a%20b", "\0", "A\0B"] {
        assert_reads_back(text);
    }
}

#[test]
fn the_limits_of_each_mode_are_exact() {
    let mut encoder = Encoder::new();
    for (unit, limit) in [("a", 2331), ("A", 3391), ("7", 5596)] {
        assert_eq!(encoder.symbol(&unit.repeat(limit)).unwrap().version().number(), 40);
        assert_eq!(encoder.png(&unit.repeat(limit + 1)), Err(TooLong), "{unit} * {limit} + 1");
    }
    // 777 characters of three bytes are 2331 bytes.
    assert!(encoder.png(&"€".repeat(777)).is_ok());
    assert_eq!(encoder.png(&"€".repeat(778)), Err(TooLong));
    for length in [4000, 1 << 20] {
        assert_eq!(encoder.png(&"a".repeat(length)), Err(TooLong));
    }
    assert_reads_back("after a text that was too long");
}

#[test]
fn one_encoder_draws_a_text_the_same_whatever_came_before() {
    let mut used = Encoder::new();
    for length in [2300, 3, 900, 60, 61, 1500, 3] {
        let text = text_of(length);
        assert_eq!(used.png(&text), Encoder::new().png(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_unicode_is_readable(text in "\\PC{1,120}") {
        prop_assert_eq!(read_back(&mut Encoder::new(), &text), text);
    }

    #[test]
    fn any_mixture_of_classes_is_readable(
        text in "([0-9]{1,9}|[A-Z $%*+./:-]{1,9}|[a-z?&=#]{1,9}){1,24}"
    ) {
        prop_assert_eq!(read_back(&mut Encoder::new(), &text), text);
    }
}
