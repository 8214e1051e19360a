//! Runs one step of the qr scenario many times, for a tool that counts its instructions:
//! `steps code|png TIMES`. The difference of two runs, by the difference of their TIMES, is
//! what the step takes.

use std::hint::black_box;

use server_qr::Encoder;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let step = arguments.next().unwrap_or_default();
    let times: u32 = arguments.next().and_then(|times| times.parse().ok()).unwrap_or_default();
    let mut encoder = Encoder::new();
    match step.as_str() {
        "code" => {
            for reader in 0..times {
                black_box(encoder.symbol(&text(reader)).is_ok());
            }
        }
        "png" => match encoder.symbol(&text(0)) {
            Ok(symbol) => (0..times).for_each(|_| drop(black_box(symbol.png()))),
            Err(error) => println!("{error}"),
        },
        _ => println!("usage: steps code|png TIMES"),
    }
}

/// A text of 65 characters, as the scenario's load has them.
fn text(reader: u32) -> String {
    format!("https://example.com/articles/2026/runtimes?reader=r{reader:014}")
}
