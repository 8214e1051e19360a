//! Reads texts, a JSON string a line; writes `[version, mask, sha256 of the 512 x 512 pixels]` for
//! each, or `null` where the text is too long. `tests/golden/differential.mjs` compares that with
//! npm qrcode.

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::io::{BufRead, Write};

use common::{decode, hash};
use server_qr::Encoder;

fn main() -> Result<(), Box<dyn Error>> {
    let mut encoder = Encoder::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let Ok(symbol) = encoder.symbol(&text) else {
            writeln!(out, "null")?;
            continue;
        };
        let (version, mask) = (symbol.version().number(), symbol.mask());
        let (_, pixels) = decode(&symbol.png());
        writeln!(out, "{}", serde_json::json!([version, mask, hash(&pixels)]))?;
    }
    Ok(())
}
