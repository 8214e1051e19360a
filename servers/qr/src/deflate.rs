//! Writes a DEFLATE block with the fixed Huffman codes (RFC 1951), and Adler-32 of repeated bytes
//! (RFC 1950).
//!
//! A general compressor looks for matches. The picture of a QR code tells where they are, so this
//! only writes them.

/// The longest match DEFLATE has, in bytes.
const MAX_MATCH: usize = 258;

/// Writes the only block of a stream into a buffer that was made large enough.
pub(crate) struct FixedBlock<'a> {
    out: &'a mut [u8],
    /// Bytes written.
    at: usize,
    /// Bits not yet written, from the least significant.
    bits: u64,
    count: u32,
}

/// How far back a match reaches.
#[derive(Clone, Copy)]
pub(crate) enum Distance {
    /// The byte before.
    One,
    /// 65 bytes: the same place in the row before, in a one-bit picture 512 pixels wide.
    Row,
}

impl<'a> FixedBlock<'a> {
    /// Begins the block at the start of `out`, as the last of its stream.
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        // BFINAL 1, BTYPE 01.
        Self { out, at: 0, bits: 0b011, count: 3 }
    }

    /// Writes eight bytes as they are.
    #[inline]
    pub(crate) fn literals(&mut self, bytes: [u8; 8]) {
        // Six codes are at most 54 bits; with the 7 that a flush may leave, they fit.
        let (first, last) = bytes.split_at(6);
        for part in [first, last] {
            for byte in part {
                self.push(LITERALS[usize::from(*byte)]);
            }
            self.flush();
        }
    }

    /// Writes one byte as it is.
    pub(crate) fn literal(&mut self, byte: u8) {
        self.push(LITERALS[usize::from(byte)]);
        self.flush();
    }

    /// Repeats `length` bytes from `distance` back. `length` is 0 or at least 3.
    pub(crate) fn repeat(&mut self, distance: Distance, mut length: usize) {
        while length > 0 {
            // A rest of 1 or 2 has no code, so the match before it leaves 3.
            let part = match length {
                ..=MAX_MATCH => length,
                259 | 260 => length - 3,
                _ => MAX_MATCH,
            };
            self.push(LENGTHS[part]);
            self.push(match distance {
                Distance::One => Code::new(0, 5),
                // Code 12, sent from its top bit, then 5 extra bits of 0 above its base, 65.
                Distance::Row => Code::new(0b00110, 10),
            });
            self.flush();
            length -= part;
        }
    }

    /// Ends the block; returns the bytes it takes.
    pub(crate) fn finish(mut self) -> usize {
        self.push(Code::new(0, 7));
        self.flush();
        self.at + self.count.div_ceil(8) as usize
    }

    #[inline]
    fn push(&mut self, Code(code): Code) {
        self.bits |= u64::from(code >> 8) << self.count;
        self.count += code & 0xFF;
    }

    /// Moves whole bytes to the buffer; between two flushes there is room for 57 bits.
    #[inline]
    fn flush(&mut self) {
        if let Some(target) = self.out[self.at..].first_chunk_mut() {
            *target = self.bits.to_le_bytes();
        }
        let bytes = self.count / 8;
        self.at += bytes as usize;
        self.bits >>= bytes * 8;
        self.count %= 8;
    }
}

/// A code: its length in bits in the lowest byte, above that what is pushed, lowest bit first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Code(u32);

impl Code {
    const fn new(code: u16, bits: u32) -> Self {
        Self((code as u32) << 8 | bits)
    }
}

/// The fixed codes of the bytes (RFC 1951, 3.2.6).
static LITERALS: [Code; 256] = {
    let mut codes = [Code(0); 256];
    let mut byte = 0;
    while byte < 256 {
        codes[byte] = if byte < 144 {
            Code::new(reverse(0x30 + byte as u16, 8), 8)
        } else {
            Code::new(reverse(0x190 + byte as u16 - 144, 9), 9)
        };
        byte += 1;
    }
    codes
};

/// The fixed codes of match lengths, extra bits included (RFC 1951, 3.2.5 and 3.2.6).
static LENGTHS: [Code; MAX_MATCH + 1] = {
    let mut codes = [Code(0); MAX_MATCH + 1];
    let mut length = 3;
    while length <= MAX_MATCH {
        // Symbols 257 to 264 are lengths 3 to 10; from there four symbols share each number of
        // extra bits.
        let (symbol, extra_bits, extra) = if length == MAX_MATCH {
            (285, 0, 0)
        } else if length < 11 {
            (254 + length, 0, 0)
        } else {
            let above = length - 3;
            let extra_bits = above.ilog2() as usize - 2;
            (257 + extra_bits * 4 + (above >> extra_bits), extra_bits, above % (1 << extra_bits))
        };
        let (code, bits) = if symbol < 280 {
            (reverse(symbol as u16 - 256, 7), 7)
        } else {
            (reverse(0xC0 + symbol as u16 - 280, 8), 8)
        };
        codes[length] = Code::new(code | (extra as u16) << bits, bits + extra_bits as u32);
        length += 1;
    }
    codes
};

const fn reverse(code: u16, bits: u32) -> u16 {
    code.reverse_bits() >> (16 - bits)
}

/// Adler-32 (RFC 1950, 8.2) of pixel rows that are known to repeat.
pub(crate) struct Adler32 {
    a: u32,
    b: u32,
}

impl Adler32 {
    const MODULUS: u32 = 65_521;

    pub(crate) fn new() -> Self {
        Self { a: 1, b: 0 }
    }

    /// Takes a row, a 0 and then the bytes of these words (big-endian), `count` times, in the time
    /// of once. `count` is at most 256.
    pub(crate) fn rows(&mut self, row: &[u64; 8], count: u32) {
        const LENGTH: u32 = 65;
        let (sum, weighted) = sums(row);
        // `a` grows by `sum` a row; `b` by 65 times the `a` before the row, and by `weighted`.
        let pairs = u64::from(count) * u64::from(count.saturating_sub(1)) / 2;
        let b = u64::from(self.b)
            + u64::from(count) * u64::from(LENGTH * self.a + weighted)
            + pairs * u64::from(LENGTH * sum);
        self.a = (self.a + count * sum) % Self::MODULUS;
        self.b = (b % u64::from(Self::MODULUS)) as u32;
    }

    pub(crate) fn value(&self) -> u32 {
        self.b << 16 | self.a
    }
}

/// The sum of the 64 bytes, and the sum in which the first counts 64 times and the last once.
///
/// Works on four 16-bit fields of a word at a time. A field holds at most 36 x 510.
fn sums(row: &[u64; 8]) -> (u32, u32) {
    const FIELDS: u64 = 0x00FF_00FF_00FF_00FF;
    // Bytes 7, 5, 3, 1 and 6, 4, 2, 0 of the words, and both summed again after each word: so
    // word 0 counts eight times, the last once.
    let (mut odd, mut even, mut running) = (0_u64, 0_u64, 0_u64);
    for word in row {
        odd += word & FIELDS;
        even += word >> 8 & FIELDS;
        running += odd + even;
    }
    let total = |fields: u64| {
        let pairs = (fields & 0x0000_FFFF_0000_FFFF) + (fields >> 16 & 0x0000_FFFF_0000_FFFF);
        (pairs + (pairs >> 32)) as u32
    };
    // The top field of these products is the sum of the fields times their place in the word.
    let places = (odd.wrapping_mul(0x0007_0005_0003_0001) >> 48)
        + (even.wrapping_mul(0x0006_0004_0002_0000) >> 48);
    (total(odd + even), total(running) * 8 - places as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adler_of_rows_is_that_of_their_bytes() {
        let mixed = std::array::from_fn(|i| (i as u64 + 3).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for row in [mixed, [u64::MAX; 8]] {
            let bytes = row.map(u64::to_be_bytes);
            let mut fast = Adler32::new();
            let (mut a, mut b) = (1_u32, 0_u32);
            for count in [1, 0, 3, 256, 17, 2] {
                fast.rows(&row, count);
                for _ in 0..count {
                    for byte in [0].iter().chain(bytes.as_flattened()) {
                        a = (a + u32::from(*byte)) % 65_521;
                        b = (b + a) % 65_521;
                    }
                }
                assert_eq!(fast.value(), b << 16 | a, "after {count} more");
            }
        }
    }

    #[test]
    fn length_codes_are_those_of_the_rfc() {
        // Symbol, first length and extra bits of RFC 1951, 3.2.5.
        let table = [
            (257, 3, 0),
            (264, 10, 0),
            (265, 11, 1),
            (268, 17, 1),
            (269, 19, 2),
            (273, 35, 3),
            (277, 67, 4),
            (279, 99, 4),
            (280, 115, 4),
            (281, 131, 5),
            (284, 227, 5),
            (285, 258, 0),
        ];
        for (symbol, length, extra_bits) in table {
            let (expected, huffman_bits) = if symbol < 280 {
                (reverse(symbol - 256, 7), 7)
            } else {
                (reverse(0xC0 + symbol - 280, 8), 8)
            };
            assert_eq!(LENGTHS[length], Code::new(expected, huffman_bits + extra_bits), "{length}");
        }
    }
}
