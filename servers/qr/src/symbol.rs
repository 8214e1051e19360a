//! Draws the symbol of a list of segments: codewords into their places, then the mask npm would
//! choose.

use qrcode::EcLevel;
use qrcode::bits::Bits;
use qrcode::types::QrResult;

use crate::ec;
use crate::lines::Lines;
use crate::mask::{Mask, Masker};
use crate::segments::{Mode, Segment};
use crate::template::{Free, Run, Template};

/// Draws symbols; keeps its squares from text to text, so that a request allocates few.
#[derive(Default)]
pub(crate) struct Drawer {
    codewords: Vec<u8>,
    columns: Lines,
    rows: Lines,
    masker: Masker,
}

impl Drawer {
    /// Draws a text whose segments fit the template's version; returns the mask and the finished
    /// rows.
    pub(crate) fn draw(
        &mut self,
        text: &str,
        segments: &[Segment],
        template: &Template,
    ) -> QrResult<(Mask, &Lines)> {
        let data = pack(text, segments, template)?;
        ec::interleave(&data, template.version, &mut self.codewords);
        self.columns.copy_from(&template.columns);
        place(&mut self.codewords, &template.runs, &mut self.columns);
        self.rows.transpose_from(&self.columns);
        let mask = self.masker.apply_best(template, &mut self.rows, &self.columns);
        Ok((mask, &self.rows))
    }
}

/// The data codewords: segments, terminator and padding.
fn pack(text: &str, segments: &[Segment], template: &Template) -> QrResult<Vec<u8>> {
    let mut bits = Bits::new(qrcode::Version::Normal(template.version.number().into()));
    for segment in segments {
        let part = &text.as_bytes()[segment.span.clone()];
        match segment.mode {
            Mode::Numeric => bits.push_numeric_data(part)?,
            Mode::Alphanumeric => bits.push_alphanumeric_data(part)?,
            Mode::Byte => bits.push_byte_data(part)?,
        }
    }
    bits.push_terminator(EcLevel::M)?;
    Ok(bits.into_bytes())
}

/// Puts the codewords' bits, and zeros for what remains, into the free modules.
fn place(codewords: &mut Vec<u8>, runs: &[Run], columns: &mut Lines) {
    // Reads are of 8 bytes and may go beyond the last codeword, where the remainder bits are zeros.
    codewords.extend_from_slice(&[0; 16]);
    let mut at = 0;
    for run in runs {
        let rows = u32::from(run.rows);
        let count = if run.free == Free::Both { rows * 2 } else { rows };
        let window =
            codewords[at / 8..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let bits = window << (at % 8) >> (64 - count);
        at += count as usize;
        let (right, left) = match run.free {
            Free::Both => (even_bits(bits >> 1), even_bits(bits)),
            Free::Right => (bits, 0),
            Free::Left => (0, bits),
        };
        let (top, column) = (usize::from(run.top), usize::from(run.right));
        let turn = |bits: u64| if run.upwards { bits } else { bits.reverse_bits() >> (64 - rows) };
        let plane = columns.plane_mut(top / 64);
        plane[column] |= turn(right) << (top % 64);
        plane[column - 1] |= turn(left) << (top % 64);
    }
}

/// The bits at even places, moved together (Hacker's Delight, section 7-2).
fn even_bits(bits: u64) -> u64 {
    let mut x = bits & 0x5555_5555_5555_5555;
    x = (x | x >> 1) & 0x3333_3333_3333_3333;
    x = (x | x >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    x = (x | x >> 4) & 0x00FF_00FF_00FF_00FF;
    x = (x | x >> 8) & 0x0000_FFFF_0000_FFFF;
    (x | x >> 16) & 0x0000_0000_FFFF_FFFF
}

#[cfg(test)]
mod tests {
    use qrcode::canvas::Canvas;

    use super::*;
    use crate::version::Version;

    #[test]
    fn data_lies_where_the_qrcode_crate_puts_it() {
        for version in Version::all() {
            let template = Template::new(version);
            let total = version.data_codewords() + version.blocks() * version.ec_per_block();
            let mut codewords: Vec<u8> = (0..total).map(|i| (i * i + i / 5) as u8).collect();
            let mut canvas =
                Canvas::new(qrcode::Version::Normal(version.number().into()), EcLevel::M);
            canvas.draw_all_functional_patterns();
            canvas.draw_data(&codewords, &[]);
            let mut columns = template.columns.clone();
            place(&mut codewords, &template.runs, &mut columns);
            for column in 0..version.size() {
                for row in 0..version.size() {
                    if template.free_columns.is_dark(column, row) {
                        let theirs = canvas.get(column as i16, row as i16).is_dark();
                        assert_eq!(columns.is_dark(column, row), theirs, "{version:?}");
                    }
                }
            }
        }
    }
}
