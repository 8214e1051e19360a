//! Chooses the mask npm qrcode chooses, the first of the eight with the lowest penalty, and draws
//! it.

use crate::lines::Lines;
use crate::penalty::Penalty;
use crate::template::Template;

/// A mask pattern, 0 to 7 (ISO/IEC 18004, table 10).
pub type Mask = u8;

/// Applies masks; keeps its squares from text to text.
pub(crate) struct Masker {
    penalty: Penalty,
    rows: Lines,
    columns: Lines,
    best: Lines,
}

impl Default for Masker {
    fn default() -> Self {
        Self {
            penalty: Penalty::detect(),
            rows: Lines::default(),
            columns: Lines::default(),
            best: Lines::default(),
        }
    }
}

impl Masker {
    /// Masks the rows with the best mask and draws its format bits. `columns` is the same square,
    /// transposed.
    pub(crate) fn apply_best(
        &mut self,
        template: &Template,
        rows: &mut Lines,
        columns: &Lines,
    ) -> Mask {
        self.rows.copy_from(rows);
        self.columns.copy_from(columns);
        let mut best = (u32::MAX, 0);
        for mask in 0..8_u8 {
            let (along_row, along_column) = format_bits(mask, rows.size());
            let patterns = &PATTERNS[usize::from(mask)];
            apply(&patterns.rows, rows, &template.free_rows, &mut self.rows);
            draw_format(&mut self.rows, along_row, along_column);
            apply(&patterns.columns, columns, &template.free_columns, &mut self.columns);
            draw_format(&mut self.columns, along_column, along_row);
            let penalty = self.penalty.of(&self.rows, &self.columns);
            if penalty < best.0 {
                best = (penalty, mask);
                std::mem::swap(&mut self.best, &mut self.rows);
                self.rows.copy_from(rows);
            }
        }
        std::mem::swap(rows, &mut self.best);
        best.1
    }
}

/// A mask's bits for each word of the lines 0 to 11; all masks repeat after 12 lines.
type Pattern = [[u64; 12]; 3];

struct Patterns {
    rows: Pattern,
    columns: Pattern,
}

static PATTERNS: [Patterns; 8] = {
    const EMPTY: Patterns = Patterns { rows: [[0; 12]; 3], columns: [[0; 12]; 3] };
    let mut all = [EMPTY; 8];
    let mut mask = 0;
    while mask < 8 {
        let mut line = 0;
        while line < 12 {
            let mut module = 0;
            while module < 192 {
                let bit = 1_u64 << (module % 64);
                if inverts(mask as Mask, line, module) {
                    all[mask].rows[module / 64][line] |= bit;
                }
                if inverts(mask as Mask, module, line) {
                    all[mask].columns[module / 64][line] |= bit;
                }
                module += 1;
            }
            line += 1;
        }
        mask += 1;
    }
    all
};

/// Whether a mask inverts a module (ISO/IEC 18004, table 10).
const fn inverts(mask: Mask, row: usize, column: usize) -> bool {
    let (i, j) = (row, column);
    match mask {
        0 => (i + j) % 2 == 0,
        1 => i % 2 == 0,
        2 => j % 3 == 0,
        3 => (i + j) % 3 == 0,
        4 => (i / 2 + j / 3) % 2 == 0,
        5 => (i * j) % 2 + (i * j) % 3 == 0,
        6 => ((i * j) % 2 + (i * j) % 3) % 2 == 0,
        _ => ((i * j) % 3 + (i + j) % 2) % 2 == 0,
    }
}

/// `out` becomes `lines` with the pattern applied to the free modules.
fn apply(pattern: &Pattern, lines: &Lines, free: &Lines, out: &mut Lines) {
    for (word, pattern) in pattern.iter().enumerate().take(lines.size().div_ceil(64)) {
        let targets = out.plane_mut(word).chunks_mut(12);
        let sources = lines.plane(word).chunks(12).zip(free.plane(word).chunks(12));
        for (targets, (lines, free)) in targets.zip(sources) {
            for (((target, line), free), pattern) in
                targets.iter_mut().zip(lines).zip(free).zip(pattern)
            {
                *target = line ^ (free & pattern);
            }
        }
    }
}

/// Dark format modules along row 8 and along column 8, as bits of those lines.
type Along = [u64; 3];

/// Draws the format bits; `own` lie along line 8, `cross` at module 8 of their lines.
fn draw_format(lines: &mut Lines, own: Along, cross: Along) {
    for word in 0..lines.size().div_ceil(64) {
        lines.plane_mut(word)[8] |= own[word];
        let mut rest = cross[word];
        while rest != 0 {
            let line = word * 64 + rest.trailing_zeros() as usize;
            lines.plane_mut(0)[line] |= 1 << 8;
            rest &= rest - 1;
        }
    }
}

/// The format bits of level M along row 8 and along column 8 (ISO/IEC 18004, 7.9 and figure 25).
fn format_bits(mask: Mask, size: usize) -> (Along, Along) {
    let bits = FORMAT_M[usize::from(mask)];
    let (mut row, mut column) = ([0; 3], [0; 3]);
    for i in 0..15 {
        let dark = u64::from(bits >> i & 1);
        let in_column = match i {
            0..6 => i,
            6..8 => i + 1,
            _ => size - 15 + i,
        };
        let in_row = match i {
            0..8 => size - 1 - i,
            8 => 7,
            _ => 14 - i,
        };
        column[in_column / 64] |= dark << (in_column % 64);
        row[in_row / 64] |= dark << (in_row % 64);
    }
    // The corner they share belongs to both.
    row[0] |= column[0] & 1 << 8;
    (row, column)
}

/// Level M's format bits by mask: level `00`, mask, ten bits of BCH (15, 5), inverted where 0x5412
/// says.
const FORMAT_M: [u16; 8] = {
    let mut all = [0; 8];
    let mut mask = 0;
    while mask < 8 {
        let mut rest = (mask as u16) << 10;
        let mut bit = 14;
        while bit >= 10 {
            if rest >> bit & 1 == 1 {
                rest ^= 0x537 << (bit - 10);
            }
            bit -= 1;
        }
        all[mask] = ((mask as u16) << 10 | rest) ^ 0x5412;
        mask += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_bits_are_those_of_the_standard() {
        // ISO/IEC 18004, table C.1, data bits 00000 to 00111.
        let standard = [0x5412, 0x5125, 0x5E7C, 0x5B4B, 0x45F9, 0x40CE, 0x4F97, 0x4AA0];
        assert_eq!(FORMAT_M, standard);
    }
}
