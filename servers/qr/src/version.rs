//! The 40 versions (sizes) of a QR code at error correction level M, and the smallest that holds a
//! text.
//!
//! Figures: ISO/IEC 18004:2015, tables 1, 3, 7 and 9.

use crate::segments::Mode;

/// The width of the quiet zone on every side, in modules.
pub const MARGIN_MODULES: usize = 4;

/// A version, 1 to 40: the size of the symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u8);

/// The versions whose segment headers are equally long: 1 to 9, 10 to 26, 27 to 40.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    To9,
    To26,
    To40,
}

/// Per version at level M: data codewords, error correction blocks, error correction codewords of
/// each block.
const LEVEL_M: [(u16, u8, u8); 40] = [
    (16, 1, 10),
    (28, 1, 16),
    (44, 1, 26),
    (64, 2, 18),
    (86, 2, 24),
    (108, 4, 16),
    (124, 4, 18),
    (154, 4, 22),
    (182, 5, 22),
    (216, 5, 26),
    (254, 5, 30),
    (290, 8, 22),
    (334, 9, 22),
    (365, 9, 24),
    (415, 10, 24),
    (453, 10, 28),
    (507, 11, 28),
    (563, 13, 26),
    (627, 14, 26),
    (669, 16, 26),
    (714, 17, 26),
    (782, 17, 28),
    (860, 18, 28),
    (914, 20, 28),
    (1000, 21, 28),
    (1062, 23, 28),
    (1128, 25, 28),
    (1193, 26, 28),
    (1267, 28, 28),
    (1373, 29, 28),
    (1455, 31, 28),
    (1541, 33, 28),
    (1631, 35, 28),
    (1725, 37, 28),
    (1812, 38, 28),
    (1914, 40, 28),
    (1992, 43, 28),
    (2102, 45, 28),
    (2216, 47, 28),
    (2334, 49, 28),
];

impl Version {
    /// All versions, smallest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=40).map(Self)
    }

    /// The number, 1 to 40.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The modules on a side, without the quiet zone.
    pub fn size(self) -> usize {
        usize::from(self.0) * 4 + 17
    }

    pub(crate) fn range(self) -> Range {
        match self.0 {
            ..10 => Range::To9,
            10..27 => Range::To26,
            _ => Range::To40,
        }
    }

    pub(crate) fn data_codewords(self) -> usize {
        usize::from(self.row().0)
    }

    pub(crate) fn blocks(self) -> usize {
        usize::from(self.row().1)
    }

    pub(crate) fn ec_per_block(self) -> usize {
        usize::from(self.row().2)
    }

    fn row(self) -> (u16, u8, u8) {
        LEVEL_M[usize::from(self.0) - 1]
    }
}

/// What a list of segments takes, kept so that it can be asked for any version.
#[derive(Default)]
pub(crate) struct Load {
    payload_bits: usize,
    /// How many segments there are of each mode.
    segments: [usize; 3],
}

impl Load {
    /// Adds a segment of `length` characters (bytes in byte mode).
    pub(crate) fn add(&mut self, mode: Mode, length: usize) {
        self.payload_bits += mode.payload_bits(length);
        self.segments[mode as usize] += 1;
    }

    fn bits(&self, range: Range) -> usize {
        let headers = [Mode::Numeric, Mode::Alphanumeric, Mode::Byte]
            .into_iter()
            .map(|mode| self.segments[mode as usize] * mode.header_bits(range));
        self.payload_bits + headers.sum::<usize>()
    }

    /// The smallest version that holds it, or `None` if none does.
    ///
    /// npm compares characters where there is one segment and bits where there are several; both
    /// say the same (tested below).
    pub(crate) fn smallest_version(&self) -> Option<Version> {
        [(Range::To9, 1, 9), (Range::To26, 10, 26), (Range::To40, 27, 40)].into_iter().find_map(
            |(range, first, last)| {
                let bits = self.bits(range);
                (first..=last).map(Version).find(|version| bits <= version.data_codewords() * 8)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use qrcode::bits::Bits;
    use qrcode::{EcLevel, ec};

    use super::*;

    #[test]
    fn agrees_with_the_qrcode_crate() {
        for version in Version::all() {
            let theirs = qrcode::Version::Normal(version.number().into());
            assert_eq!(Bits::new(theirs).max_len(EcLevel::M), Ok(version.data_codewords() * 8));
            let (data, ec) =
                ec::construct_codewords(&vec![0; version.data_codewords()], theirs, EcLevel::M)
                    .unwrap();
            assert_eq!(data.len(), version.data_codewords());
            assert_eq!(ec.len(), version.blocks() * version.ec_per_block());
            assert_eq!(theirs.width(), version.size() as i16);
        }
    }

    /// npm: `Math.floor((usableBits / 10) * 3)` digits, `Math.floor((usableBits / 11) * 2)`
    /// alphanumerics, bytes.
    #[test]
    fn one_segment_fits_as_many_characters_as_npm_says() {
        for version in Version::all() {
            for mode in [Mode::Numeric, Mode::Alphanumeric, Mode::Byte] {
                let capacity_bits = version.data_codewords() * 8;
                let usable = (capacity_bits - mode.header_bits(version.range())) as f64;
                let npm = match mode {
                    Mode::Numeric => (usable / 10.0 * 3.0).floor(),
                    Mode::Alphanumeric => (usable / 11.0 * 2.0).floor(),
                    Mode::Byte => (usable / 8.0).floor(),
                } as usize;
                let bits = |length| mode.header_bits(version.range()) + mode.payload_bits(length);
                assert!(bits(npm) <= capacity_bits, "{version:?} {mode:?}");
                assert!(bits(npm + 1) > capacity_bits, "{version:?} {mode:?}");
            }
        }
    }
}
