//! The contract of qr: `POST /qr` with `{"urlToEmbed": "…"}` is a QR code as PNG, 512 × 512, with
//! the pixels of npm qrcode 1.5.4 `toBuffer(text, {width: 512})`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::case::Cases;
use crate::expect::{self, Surface, post};
use crate::{Framing, Program, Response, Scheme, Traits, embed};

/// Width and height of the picture in pixels.
const SIZE: u32 = 512;
/// Bytes that fit version 40 at level M (ISO/IEC 18004, table 7).
const MAX_BYTES: usize = 2_331;

/// Texts, and the SHA-256 of npm's picture as one byte per pixel, 0 or 255, row by row.
const PIXELS: &[(&str, &str)] = &[
    ("deep", "0626315639f6f3317e9821475e495abfc0dd7e09a21a4fb9021a1759d9d45a47"),
    ("x", "4931cd16f4cf091a1e7ed642ba899755891fa218a12106735b981cca1215cbfd"),
    ("https://example.com/", "df762aad6d9db24d646191bacdef91f846c90d2ddf523192004d9bbb13d395a1"),
    (
        "https://example.com/a?b=c",
        "30c1bc59cfe86dc95526f9b3cd898f769889267d38f70b8a932d30ec65ea2f98",
    ),
    ("spaces around", "73f279b086e58fd387f33bdd420a468fd1043145d1b1834a20605152fdcfe05f"),
    ("others", "0b5937bf285e3dcef13059c5243efbefe7a2605111b15ebdf447ac952d9498b8"),
    ("last", "4b00c8dba8e32a641106e70c8b7756f59a722651cf52e2049fd3f8f354166761"),
    ("escaped key", "1680eb14bae0f8f1e2cba43d3f3a4e6f4ef426cd2545c6a20177316b6eed23ec"),
    ("a\"b\\c/d\n\u{1}", "8482089e38707e6d49f59efd7df3bb6dbc6390abaab8ac1301b4cccbdd7f53b2"),
    ("é 😀", "d4c2e971efd7048ecd2cedbc982338f7cc7047593383327cd67cabc638386d69"),
    ("naïve 日本語 😀", "8eae3bbcd5768bb8e73011ac8acbc149c15d73e62708fe6a221275540f18c037"),
    ("a%20b%2Fc", "564a2bd3eeb09e04dc7a5f86a48cf3cc3f414863cd9e09ebdcdbff0ade5bb94a"),
    (" ", "b4a37a9f9d6818a14626bde53fc7af53fc80adc39a6521092d967f30d1a9a390"),
    ("in chunks", "28291891871a6f4e916d0a285c0f66f6eef2516a1bc140ee6bb604123278c91a"),
    ("waited", "6a47597634862684d70fcbff1bf9bce9c7f761cd77a49e6986b58cc0fdbbe266"),
    ("padded", "f2c5a44c9eb2e3872346d931457cf37c69670792e9513cb0fc8e30d9b61036a3"),
    ("0123456789012345", "45f75b0eebc020b3b0241a3a32d71967c86a112c35f1318ecf5018ffdb418b34"),
    (
        "HELLO WORLD 123 $%*+-./:",
        "44e5693e9b1b0e1aeac57cfba2f956c55fa29ae1783323bdbbf248fa0d2f54d9",
    ),
    (
        "https://www.example.org/path/to/page?id=12345&lang=en#section-2",
        "9a436c3be6301eb8ef072f07dc78705a9c22a13839002cdbfb93d15bfc6bf0b3",
    ),
    (
        "order 20261130-000123456789 REF/ABCDEF and lower case",
        "553c8f1c45fd842025343aebd3e59616d685a3b06bcd70855cda48019c3572d6",
    ),
];

/// The longest texts: (character, count, SHA-256 as in [`PIXELS`]).
const LONGEST: &[(&str, usize, &str)] = &[
    ("y", MAX_BYTES, "e2082882f4d313a51892c49edf6d16e2a97349f78c5b7ca58f6f1f6f716ad988"),
    ("7", 5_596, "020ca47d33a0565ab3dca98548468849f7aea927a5d7bec861f7494450f35cdb"),
];

/// Starts the program and asks it everything.
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check(program: &Program, traits: &Traits) -> Result<()> {
    let running = program.start(Scheme::Https)?;
    let mut cases = Cases::default();
    let missing = Some("urlToEmbed parameter is missing");
    embed::cases(&mut cases, &running, traits, "/qr", missing, &|response, text| {
        let (_, sha256) = PIXELS.iter().find(|(t, _)| *t == text).context("no known picture")?;
        picture(response, sha256)
    });
    let ask = |text: &str| {
        let body = serde_json::json!({ "urlToEmbed": text }).to_string();
        running.connect()?.request(post("/qr", body.as_bytes()))
    };
    for (text, sha256) in PIXELS {
        cases.case(&format!("text {text:?}"), || picture(&ask(text)?, sha256));
    }
    for (character, count, sha256) in LONGEST {
        let text = character.repeat(*count);
        cases.case(&format!("{count} times {character:?}"), || picture(&ask(&text)?, sha256));
    }
    for text in ["y".repeat(MAX_BYTES + 1), "7".repeat(5_597), "é".repeat(500_000)] {
        cases.case(&format!("a text of {} bytes", text.len()), || {
            let response = ask(&text)?;
            expect::status(&response, 413)?;
            let message = expect::json_message(&response)?;
            ensure!(message.contains("2331"), "the limit is not in {message:?}");
            Ok(())
        });
    }
    let right = post("/qr", br#"{"urlToEmbed":"x"}"#);
    Surface { right: &right, path: "/qr", beside: "/qrx", allow: &["POST"] }
        .cases(&mut cases, &running, traits);
    cases.finish(&running)
}

fn picture(response: &Response, sha256: &str) -> Result<()> {
    expect::success(response, "image/png")?;
    ensure!(matches!(response.framing, Framing::Length(_)), "framing {:?}", response.framing);
    let pixels = decode(&response.body)?;
    let mut found = String::new();
    for byte in Sha256::digest(&pixels) {
        let _ = write!(found, "{byte:02x}");
    }
    ensure!(found == sha256, "other pixels than npm's: SHA-256 {found} instead of {sha256}");
    Ok(())
}

/// The pixels of a PNG of any colour type, one byte each: 0 is black, 255 is white.
fn decode(file: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = ::png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(::png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().context("not a PNG")?;
    let (width, height) = reader.info().size();
    ensure!((width, height) == (SIZE, SIZE), "{width} x {height} pixels");
    let mut samples = vec![0; reader.output_buffer_size().context("too large a picture")?];
    let frame = reader.next_frame(&mut samples).context("a broken PNG")?;
    reader.finish().context("a broken end of the PNG")?;
    let per_pixel = frame.color_type.samples();
    // Grey or RGB, then alpha where the count is even.
    let colours = if per_pixel % 2 == 0 { per_pixel - 1 } else { per_pixel };
    samples[..frame.buffer_size()]
        .chunks(per_pixel)
        .map(|pixel| {
            let (first, alpha) = (pixel[0], &pixel[colours..]);
            let grey = pixel[..colours].iter().all(|sample| *sample == first);
            let opaque = alpha.iter().all(|sample| *sample == 255);
            ensure!(grey && opaque && [0, 255].contains(&first), "a pixel {pixel:?}");
            Ok(first)
        })
        .collect()
}
