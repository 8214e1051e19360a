//! Writes a symbol as a PNG file: 512 x 512, one bit a pixel, gray (PNG specification, third
//! edition).
//!
//! Every row of a band of modules is the same, so a band is written as the bytes in which it
//! differs from the band before and one match that repeats them. The file is not npm's, byte for
//! byte; its pixels are.

use crate::deflate::{Adler32, Distance, FixedBlock};
use crate::lines::Lines;
use crate::raster::{Grid, PICTURE_PIXELS, PixelRow};

/// A row of the picture in bytes, without the filter byte.
const ROW: usize = PICTURE_PIXELS / 8;
/// A row in the stream: the filter byte, 0 for "none", is before the pixels.
const FILTERED_ROW: usize = ROW + 1;

/// Signature and header chunk, which are those of every picture.
const HEAD: [u8; 33] = *b"\x89PNG\r\n\x1a\n\
    \0\0\0\x0dIHDR\0\0\x02\0\0\0\x02\0\x01\0\0\0\0\xdc\x03\xe9\x57";
const END: [u8; 12] = *b"\0\0\0\0IEND\xae\x42\x60\x82";

/// zlib: DEFLATE, window of 32 KiB, fastest (RFC 1950, 2.2).
const ZLIB_HEAD: [u8; 2] = [0x78, 0x01];

/// The file of a symbol's rows.
pub(crate) fn write(rows: &Lines, grid: &Grid) -> Vec<u8> {
    // All bytes of a row as literals of 9 bits, and its matches; two rows of quiet zone; the chunks
    // around them.
    let bound = (rows.size() + 2) * (FILTERED_ROW * 9 / 8 + 24) + 128;
    let mut file = vec![0; bound];
    file[..HEAD.len()].copy_from_slice(&HEAD);
    let data = HEAD.len();
    let kind = data + 4;
    file[kind..kind + 4].copy_from_slice(b"IDAT");
    file[kind + 4..kind + 6].copy_from_slice(&ZLIB_HEAD);
    let stream = kind + 6;
    let (length, adler) = deflate(rows, grid, &mut file[stream..]);
    let end = stream + length;
    file[end..end + 4].copy_from_slice(&adler.to_be_bytes());
    let end = end + 4;
    file[data..kind].copy_from_slice(&((end - kind - 4) as u32).to_be_bytes());
    let crc = crc32fast::hash(&file[kind..end]);
    file.truncate(end);
    file.extend_from_slice(&crc.to_be_bytes());
    file.extend_from_slice(&END);
    file
}

/// Deflates the picture; returns the length of the stream and Adler-32 of the picture.
///
/// A band's row is its left quiet zone, the bytes with modules, and its right quiet zone. Only the
/// middle is written: one match of distance "row" takes the right quiet zone, the rest of the band,
/// and the next band's left quiet zone.
fn deflate(rows: &Lines, grid: &Grid, out: &mut [u8]) -> (usize, u32) {
    const LIGHT: PixelRow = [u64::MAX; ROW / 8];
    let size = grid.size();
    let top = grid.edge(0);
    let bottom = PICTURE_PIXELS - grid.edge(size);
    // Whole bytes of the quiet zones; the middle is rounded up to eight.
    let left = top / 8;
    let middle = (grid.edge(size).div_ceil(8) - left).next_multiple_of(8).min(ROW - left);
    let right = ROW - left - middle;

    let mut block = FixedBlock::new(out);
    let mut adler = Adler32::new();
    block.literal(0);
    block.literal(0xFF);
    block.repeat(Distance::One, ROW - 1);
    block.repeat(Distance::Row, (top - 1) * FILTERED_ROW + 1 + left);
    adler.rows(&LIGHT, top as u32);
    for row in 0..size {
        let modules = std::array::from_fn(|word| match word < size.div_ceil(64) {
            true => rows.plane(word)[row],
            false => 0,
        });
        let pixels = grid.pixels(modules);
        let height = grid.edge(row + 1) - grid.edge(row);
        adler.rows(&pixels, height as u32);
        write_middle(&mut block, &bytes_of(&pixels)[left..left + middle]);
        block.repeat(Distance::Row, right + (height - 1) * FILTERED_ROW + 1 + left);
    }
    // The last match began the first row of the lower quiet zone.
    block.repeat(Distance::One, ROW - left);
    block.repeat(Distance::Row, (bottom - 1) * FILTERED_ROW);
    adler.rows(&LIGHT, bottom as u32);
    (block.finish(), adler.value())
}

fn write_middle(block: &mut FixedBlock<'_>, bytes: &[u8]) {
    let (eights, rest) = bytes.as_chunks();
    for eight in eights {
        block.literals(*eight);
    }
    for byte in rest {
        block.literal(*byte);
    }
}

fn bytes_of(row: &PixelRow) -> [u8; ROW] {
    let mut bytes = [0; ROW];
    for (eight, word) in bytes.as_chunks_mut().0.iter_mut().zip(row) {
        *eight = word.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_chunks_have_the_right_checksum() {
        assert_eq!(HEAD[29..], crc32fast::hash(&HEAD[12..29]).to_be_bytes());
        assert_eq!(END[8..], crc32fast::hash(&END[4..8]).to_be_bytes());
    }
}
