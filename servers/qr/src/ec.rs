//! Reed-Solomon error correction: from a symbol's data codewords to all its codewords in the order
//! they are drawn.
//!
//! `qrcode::ec` gives the same (tested below) but multiplies byte by byte; here the whole
//! remainder, 32 bytes at most, moves in four words.

use crate::version::Version;

/// The most error correction codewords a block has at level M.
const MAX_EC: usize = 30;

/// The remainder of a division: byte `i` of the four words, little-endian, is the coefficient `i`
/// places below the top.
type Remainder = [u64; 4];

/// The generator polynomial times every value of a low and of a high half byte.
///
/// Multiplication in GF(256) is linear, so the multiple for a byte is the sum of those for its
/// halves.
struct Generator {
    low: [Remainder; 16],
    high: [Remainder; 16],
}

/// Generators by number of error correction codewords.
static GENERATORS: [Generator; MAX_EC + 1] = {
    const EMPTY: Generator = Generator { low: [[0; 4]; 16], high: [[0; 4]; 16] };
    let mut all = [EMPTY; MAX_EC + 1];
    let mut degree = 1;
    while degree <= MAX_EC {
        all[degree] = generator(degree);
        degree += 1;
    }
    all
};

/// Interleaves data and error correction codewords into `out`, which is cleared before (ISO/IEC
/// 18004, 7.5 and 7.6).
pub(crate) fn interleave(data: &[u8], version: Version, out: &mut Vec<u8>) {
    let blocks = version.blocks();
    let ec_len = version.ec_per_block();
    let generator = &GENERATORS[ec_len];
    let short = data.len() / blocks;
    let short_blocks = blocks - data.len() % blocks;

    out.clear();
    out.resize(data.len() + blocks * ec_len, 0);
    let (data_out, ec_out) = out.split_at_mut(data.len());
    let mut rest = data;
    for block in 0..blocks {
        let (bytes, after) = rest.split_at(short + usize::from(block >= short_blocks));
        rest = after;
        for (place, byte) in data_out[block..].iter_mut().step_by(blocks).zip(bytes) {
            *place = *byte;
        }
        if let Some(last) = bytes.get(short) {
            // The longer blocks' last bytes follow each other, without places for the shorter ones.
            data_out[short * blocks + block - short_blocks] = *last;
        }
        let remainder = divide(bytes, generator);
        let coefficients = remainder.iter().flat_map(|word| word.to_le_bytes()).take(ec_len);
        for (place, byte) in ec_out[block..].iter_mut().step_by(blocks).zip(coefficients) {
            *place = byte;
        }
    }
}

/// The remainder of a block's data, moved up by the generator's degree, divided by the generator.
fn divide(block: &[u8], generator: &Generator) -> Remainder {
    let mut r = [0; 4];
    for byte in block {
        let lead = (r[0] as u8) ^ byte;
        let low = &generator.low[usize::from(lead & 15)];
        let high = &generator.high[usize::from(lead >> 4)];
        r = [
            (r[0] >> 8 | r[1] << 56) ^ low[0] ^ high[0],
            (r[1] >> 8 | r[2] << 56) ^ low[1] ^ high[1],
            (r[2] >> 8 | r[3] << 56) ^ low[2] ^ high[2],
            (r[3] >> 8) ^ low[3] ^ high[3],
        ];
    }
    r
}

/// The product of `x - 2^i` for `i` below `degree`, in multiples; the leading coefficient, 1, is
/// left out.
const fn generator(degree: usize) -> Generator {
    let mut polynomial = [0_u8; MAX_EC + 1];
    polynomial[0] = 1;
    let mut root = 1;
    let mut i = 0;
    while i < degree {
        let mut j = i + 1;
        while j > 0 {
            polynomial[j] ^= multiply(polynomial[j - 1], root);
            j -= 1;
        }
        root = multiply(root, 2);
        i += 1;
    }
    let mut table = Generator { low: [[0; 4]; 16], high: [[0; 4]; 16] };
    let mut half = 0;
    while half < 16 {
        let mut j = 0;
        while j < degree {
            let shift = j % 8 * 8;
            table.low[half][j / 8] |= (multiply(polynomial[j + 1], half as u8) as u64) << shift;
            table.high[half][j / 8] |=
                (multiply(polynomial[j + 1], (half as u8) << 4) as u64) << shift;
            j += 1;
        }
        half += 1;
    }
    table
}

/// Multiplies in GF(256) modulo x^8 + x^4 + x^3 + x^2 + 1.
const fn multiply(a: u8, b: u8) -> u8 {
    let mut product = 0_u16;
    let mut bit = 8;
    while bit > 0 {
        bit -= 1;
        product <<= 1;
        if product & 0x100 != 0 {
            product ^= 0x11D;
        }
        if b >> bit & 1 == 1 {
            product ^= a as u16;
        }
    }
    product as u8
}

#[cfg(test)]
mod tests {
    use qrcode::EcLevel;

    use super::*;

    #[test]
    fn agrees_with_the_qrcode_crate() {
        for version in Version::all() {
            let data: Vec<u8> =
                (0..version.data_codewords()).map(|i| (i * i + i / 7) as u8).collect();
            let theirs = qrcode::Version::Normal(version.number().into());
            let (blocks, ec) = qrcode::ec::construct_codewords(&data, theirs, EcLevel::M).unwrap();
            let mut ours = vec![1, 2, 3];
            interleave(&data, version, &mut ours);
            assert_eq!(ours, [blocks, ec].concat(), "{version:?}");
        }
    }
}
