//! Draws `data/logo.png`, the picture of the png scenario: `cargo run -p server-png --example
//! make_logo`. The same bytes on every machine.

use std::path::Path;

use image::{ImageEncoder as _, Rgb, RgbImage, codecs::png::PngEncoder};

const SIZE: u32 = 148;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let picture = RgbImage::from_fn(SIZE, SIZE, pixel);
    let mut bytes = Vec::new();
    PngEncoder::new_with_quality(
        &mut bytes,
        image::codecs::png::CompressionType::Best,
        image::codecs::png::FilterType::Adaptive,
    )
    .write_image(picture.as_raw(), SIZE, SIZE, image::ExtendedColorType::Rgb8)?;
    assert!((12_000..=12_500).contains(&bytes.len()), "{} bytes: adjust SIZE", bytes.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/logo.png");
    std::fs::write(&path, &bytes)?;
    println!("{} bytes in {}", bytes.len(), path.display());
    Ok(())
}

/// Rings around the centre on a diagonal gradient: enough detail not to compress to nothing.
fn pixel(x: u32, y: u32) -> Rgb<u8> {
    let (dx, dy) = (x.abs_diff(SIZE / 2), y.abs_diff(SIZE / 2));
    let squared = dx * dx + dy * dy;
    let ring = squared / 64 % 12;
    let shade = (x + y) * 255 / (2 * SIZE);
    let light =
        |part: u32| u8::try_from((shade * part + ring * 20 * (4 - part)) / 4 % 256).unwrap_or(0);
    Rgb([light(1), light(2), light(3)])
}
