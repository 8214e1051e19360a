//! Chooses the mask npm qrcode chooses: the first of the eight with the lowest penalty by its four rules.
//!
//! The rules are those of `lib/core/mask-pattern.js` of npm `qrcode` 1.5.4 (MIT), which differ in detail from what
//! other encoders do: they look at function patterns and format bits too, the finder-like pattern counts only where
//! its four light modules are inside the symbol, and the balance goes in steps of 5 %, rounded up.
//! Here each rule looks at 64 modules at once.

use crate::lines::Lines;
use crate::template::Template;

/// A mask pattern, 0 to 7 (ISO/IEC 18004, table 10).
pub type Mask = u8;

/// Applies masks; keeps its squares from text to text.
#[derive(Default)]
pub(crate) struct Masker {
    rows: Lines,
    columns: Lines,
    best: Lines,
}

impl Masker {
    /// Masks the rows with the best mask and draws its format bits. `columns` is the same square, transposed.
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
            let penalty = penalty(&self.rows, &self.columns);
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

/// Level M's format bits by mask: level `00`, mask, ten bits of BCH (15, 5), inverted where 0x5412 says.
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

/// npm's penalty of a finished symbol, given by rows and by columns.
fn penalty(rows: &Lines, columns: &Lines) -> u32 {
    let in_lines = lines_penalty(rows) + lines_penalty(columns);
    let (blocks, dark) = blocks_and_dark(rows);
    let modules = (rows.size() * rows.size()) as u32;
    // npm: |ceil(dark * 100 / modules / 5) - 10|, in doubles; where that is whole, the division is exact.
    let balance = (dark * 20).div_ceil(modules).abs_diff(10);
    in_lines + blocks * 3 + balance * 10
}

/// Rules 1 and 3 along all lines: runs of five modules and more, and finder-like patterns.
fn lines_penalty(lines: &Lines) -> u32 {
    let words = lines.size().div_ceil(64);
    (0..words)
        .map(|word| {
            let inside = Inside::new(lines.size(), word);
            let these = lines.plane(word);
            if word + 1 == words {
                word_penalty::<true>(these, these, &inside)
            } else {
                word_penalty::<false>(these, lines.plane(word + 1), &inside)
            }
        })
        .sum()
}

/// Which bits of a word are places inside the symbol.
struct Inside {
    /// Pairs of neighbours that start in this word, and in the next.
    pairs: u64,
    next_pairs: u64,
    /// Windows of eleven modules that start in this word.
    windows: u64,
}

impl Inside {
    fn new(size: usize, word: usize) -> Self {
        // The places of `count` that lie in a word, as bits.
        let first = |count: usize, word: usize| match count.saturating_sub(word * 64) {
            64.. => u64::MAX,
            bits => (1 << bits) - 1,
        };
        Self {
            pairs: first(size - 1, word),
            next_pairs: first(size - 1, word + 1),
            windows: first(size - 10, word),
        }
    }
}

/// The penalty of what starts in one word of each line; `next` is the word after it, unless it is the last.
fn word_penalty<const LAST: bool>(these: &[u64], next: &[u64], inside: &Inside) -> u32 {
    let (mut five, mut ends, mut finders) = (0, 0, 0);
    for (&x, &y) in these.iter().zip(next) {
        let from = |x: u64, y: u64, k: u32| if LAST { x >> k } else { x >> k | y << (64 - k) };
        let at = |k| from(x, y, k);

        // Bit k of `same`: modules k and k + 1 are alike. Four in a row are a run of five, and count one each;
        // the last of a run counts two more: 3 for five modules, 1 for each further.
        let same = !(x ^ at(1)) & inside.pairs;
        let same_next = !(y ^ y >> 1) & inside.next_pairs;
        let after = |k| from(same, same_next, k);
        let run = same & after(1) & after(2) & after(3);
        five += run.count_ones();
        ends += (run & !after(4)).count_ones();

        // 10111010000 and 00001011101.
        let finder_light = x & !at(1) & at(2) & at(3) & at(4) & !at(5) & at(6);
        let finder_light = finder_light & !(at(7) | at(8) | at(9) | at(10));
        let light_finder = !(x | at(1) | at(2) | at(3)) & at(4) & !at(5);
        let light_finder = light_finder & at(6) & at(7) & at(8) & !at(9) & at(10);
        finders += ((finder_light | light_finder) & inside.windows).count_ones();
    }
    five + ends * 2 + finders * 40
}

/// Rules 2 and 4 of all rows: the number of 2 x 2 blocks of one colour, and of dark modules.
fn blocks_and_dark(rows: &Lines) -> (u32, u32) {
    let words = rows.size().div_ceil(64);
    let (mut blocks, mut dark) = (0, 0);
    for word in 0..words {
        let inside = Inside::new(rows.size(), word);
        let these = rows.plane(word);
        dark += these.iter().map(|row| row.count_ones()).sum::<u32>();
        if word + 1 == words {
            blocks += blocks_in::<true>(these, these, inside.pairs);
        } else {
            blocks += blocks_in::<false>(these, rows.plane(word + 1), inside.pairs);
        }
    }
    (blocks, dark)
}

/// The 2 x 2 blocks that start in one word of each row.
fn blocks_in<const LAST: bool>(these: &[u64], next: &[u64], pairs: u64) -> u32 {
    let same = |x: u64, y: u64| !(x ^ if LAST { x >> 1 } else { x >> 1 | y << 63 });
    let upper = these.iter().zip(next);
    let lower = these[1..].iter().zip(&next[1..]);
    upper
        .zip(lower)
        .map(|((&a, &a_next), (&b, &b_next))| {
            (same(a, a_next) & same(b, b_next) & !(a ^ b) & pairs).count_ones()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// npm's rules, a module at a time.
    fn npm_penalty(size: usize, dark: impl Fn(usize, usize) -> bool) -> u32 {
        let mut points = 0;
        for line in 0..size {
            for by_row in [true, false] {
                let module = |m| if by_row { dark(line, m) } else { dark(m, line) };
                let modules: Vec<bool> = (0..size).map(module).collect();
                for run in modules.chunk_by(|a, b| a == b) {
                    if run.len() >= 5 {
                        points += 3 + run.len() as u32 - 5;
                    }
                }
                for window in modules.windows(11) {
                    let bits = window.iter().fold(0, |bits, &dark| bits << 1 | u32::from(dark));
                    points += if bits == 0x5D0 || bits == 0x05D { 40 } else { 0 };
                }
            }
        }
        for row in 0..size - 1 {
            for column in 0..size - 1 {
                let block = [(0, 0), (0, 1), (1, 0), (1, 1)];
                let count = block.iter().filter(|(r, c)| dark(row + r, column + c)).count();
                points += if count % 4 == 0 { 3 } else { 0 };
            }
        }
        let all = (0..size * size).filter(|i| dark(i / size, i % size)).count();
        let balance = (all as f64 * 100.0 / (size * size) as f64 / 5.0).ceil() - 10.0;
        points + balance.abs() as u32 * 10
    }

    #[test]
    fn penalty_is_npms_at_every_size() {
        for version in crate::version::Version::all() {
            let size = version.size();
            let mut state = u64::from(version.number());
            let mut rows = Lines::new(size);
            for row in 0..size {
                // Runs of one colour, of all lengths, so that every rule has something to count.
                let mut column = 0;
                while column < size {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let run = [1, 1, 1, 1, 3, 3, 4, 6][(state >> 40) as usize % 8];
                    if state >> 60 & 1 == 1 {
                        (column..size.min(column + run)).for_each(|m| rows.darken(row, m));
                    }
                    column += run;
                }
            }
            let mut columns = Lines::default();
            columns.transpose_from(&rows);
            let npm = npm_penalty(size, |row, column| rows.is_dark(row, column));
            assert_eq!(penalty(&rows, &columns), npm, "{version:?}");
        }
    }

    #[test]
    fn format_bits_are_those_of_the_standard() {
        // ISO/IEC 18004, table C.1, data bits 00000 to 00111.
        let standard = [0x5412, 0x5125, 0x5E7C, 0x5B4B, 0x45F9, 0x40CE, 0x4F97, 0x4AA0];
        assert_eq!(FORMAT_M, standard);
    }
}
