//! What a QR code costs, and what with its PNG: `cargo bench -p server-qr`.
//!
//! For instruction counts see `examples/steps.rs`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use server_qr::Encoder;

/// Rounds of a case; its figure is their median.
const ROUNDS: usize = 15;
/// How long a round lasts.
const ROUND: Duration = Duration::from_millis(40);

/// Texts by name. None is encoded twice in a row: a number in it changes.
const CASES: [(&str, usize); 5] =
    [("v2", 20), ("url-65", 65), ("v7", 118), ("v20", 650), ("v40", 2300)];

fn text(length: usize, number: usize) -> String {
    let mut text = format!("https://example.com/{number:06}/");
    while text.len() < length {
        text.push_str("article?ref=front-page&lang=en/");
    }
    // The number is what the shortest keeps.
    text.split_off(text.len().min(26) - length.min(26)).chars().take(length).collect()
}

fn main() {
    let mut encoder = Encoder::new();
    println!("case     version  bytes of PNG   code µs  code and PNG µs");
    for (name, length) in CASES {
        let texts: Vec<String> = (0..1000).map(|number| text(length, number)).collect();
        let Ok(symbol) = encoder.symbol(&texts[0]) else { continue };
        let (version, bytes) = (symbol.version().number(), symbol.png().len());
        let code = median_us(&texts, |text| {
            let _ = black_box(encoder.symbol(black_box(text)).is_ok());
        });
        let png = median_us(&texts, |text| {
            let _ = black_box(encoder.png(black_box(text)));
        });
        println!("{name:8} {version:7}  {bytes:12}  {code:8.2}  {png:15.2}");
    }
}

/// The median over the rounds of the time one text takes, in µs.
fn median_us(texts: &[String], mut encode: impl FnMut(&str)) -> f64 {
    let mut texts = texts.iter().cycle();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let mut count = 0;
            while start.elapsed() < ROUND {
                for text in texts.by_ref().take(10) {
                    encode(text);
                }
                count += 10;
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(count)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}
