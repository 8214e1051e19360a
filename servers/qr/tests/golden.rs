//! The pixels are those of npm qrcode 1.5.4, which made the vectors (`tests/golden/make.mjs`).

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{cut, decode, hash};
use server_qr::{Encoder, PICTURE_PIXELS};

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_vector_has_npms_version_mask_and_pixels() {
    let vectors = String::from_utf8(golden("vectors.jsonl")).unwrap();
    let mut encoder = Encoder::new();
    let mut versions = BTreeSet::new();
    let mut masks = BTreeSet::new();
    let mut count = 0;
    let mut different = Vec::new();
    for line in vectors.lines() {
        let (text, version, mask, width, npm): (String, u8, u8, usize, String) =
            serde_json::from_str(line).unwrap();
        let symbol = encoder.symbol(&text).unwrap();
        let drawn = (symbol.version().number(), symbol.mask());
        let (ours, pixels) = decode(&symbol.png());
        assert_eq!(ours, PICTURE_PIXELS);
        if drawn != (version, mask) || hash(&cut(&pixels, ours, width)) != npm {
            different.push(format!("{text:?}: {drawn:?}, npm has {:?}", (version, mask)));
        }
        versions.insert(version);
        masks.insert(mask);
        count += 1;
    }
    assert!(
        different.is_empty(),
        "{} of {count} differ, the first: {:#?}",
        different.len(),
        &different[..different.len().min(9)]
    );
    assert!(count >= 1364, "only {count} vectors");
    assert!(versions.iter().copied().eq(1..=40), "not every version: {versions:?}");
    assert!(masks.iter().copied().eq(0..=7), "not every mask: {masks:?}");
}

#[test]
fn every_sample_equals_npms_own_file_pixel_by_pixel() {
    let samples: BTreeMap<String, String> =
        serde_json::from_slice(&golden("samples.json")).unwrap();
    assert!(samples.len() >= 8, "{} samples", samples.len());
    let mut encoder = Encoder::new();
    for (name, text) in samples {
        let (width, npm) = decode(&golden(&name));
        let (ours, pixels) = decode(&encoder.png(&text).unwrap());
        let pixels = cut(&pixels, ours, width);
        let wrong = pixels.iter().zip(&npm).position(|(a, b)| a != b);
        let at = wrong.map(|i| format!("x {}, y {}", i % width, i / width));
        assert_eq!(at, None, "{name} differs");
        assert_eq!(pixels.len(), npm.len(), "{name}");
    }
}
