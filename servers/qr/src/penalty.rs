//! The penalty npm qrcode gives a masked symbol.
//!
//! The rules are those of `lib/core/mask-pattern.js` of npm `qrcode` 1.5.4 (MIT), which differ in
//! detail from what other encoders do: they look at function patterns and format bits too, the
//! finder-like pattern counts only where its four light modules are inside the symbol, and the
//! balance goes in steps of 5 %, rounded up. Here each rule looks at 64 modules at once.

#![expect(
    unsafe_code,
    reason = "with popcnt and AVX2 a picture takes 15 % (version 5) to 25 % (version 40) fewer \
              instructions, and only unsafe code may call what is compiled for them"
)]

use crate::lines::Lines;

/// The penalty rules, compiled for what the processor has.
#[derive(Clone, Copy)]
pub(crate) enum Penalty {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Penalty {
    /// The fastest form this processor runs.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            return Self::Avx2;
        }
        Self::Portable
    }

    #[inline]
    /// npm's penalty of a finished symbol, given by rows and by columns.
    pub(crate) fn of(self, rows: &Lines, columns: &Lines) -> u32 {
        match self {
            Self::Portable => penalty(rows, columns),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` makes this variant only where the processor has both features.
            Self::Avx2 => unsafe { penalty_avx2(rows, columns) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn penalty_avx2(rows: &Lines, columns: &Lines) -> u32 {
    penalty(rows, columns)
}

/// npm's penalty of a finished symbol, given by rows and by columns.
///
/// This and what it calls is always inlined, and loops without closures, so that all of it is
/// compiled for the processor of the caller above.
#[inline(always)]
fn penalty(rows: &Lines, columns: &Lines) -> u32 {
    let in_lines = lines_penalty(rows) + lines_penalty(columns);
    let (blocks, dark) = blocks_and_dark(rows);
    let modules = (rows.size() * rows.size()) as u32;
    // npm: |ceil(dark * 100 / modules / 5) - 10|, in doubles; where that is whole, the division is
    // exact.
    let balance = (dark * 20).div_ceil(modules).abs_diff(10);
    in_lines + blocks * 3 + balance * 10
}

/// Rules 1 and 3 along all lines: runs of five modules and more, and finder-like patterns.
#[inline(always)]
fn lines_penalty(lines: &Lines) -> u32 {
    let last = lines.size() / 64;
    let mut points = 0;
    for word in 0..last {
        let inside = Inside::new(lines.size(), word);
        points += word_penalty::<false>(lines.plane(word), lines.plane(word + 1), &inside);
    }
    let these = lines.plane(last);
    points + word_penalty::<true>(these, these, &Inside::new(lines.size(), last))
}

/// Rules 2 and 4 of all rows: the number of 2 x 2 blocks of one colour, and of dark modules.
#[inline(always)]
fn blocks_and_dark(rows: &Lines) -> (u32, u32) {
    let last = rows.size() / 64;
    let (mut blocks, mut dark) = (0, 0);
    for word in 0..=last {
        let Inside { pairs, .. } = Inside::new(rows.size(), word);
        let these = rows.plane(word);
        for row in these {
            dark += row.count_ones();
        }
        if word == last {
            blocks += blocks_in::<true>(these, these, pairs);
        } else {
            blocks += blocks_in::<false>(these, rows.plane(word + 1), pairs);
        }
    }
    (blocks, dark)
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
        Self {
            pairs: first_bits(size - 1, word),
            next_pairs: first_bits(size - 1, word + 1),
            windows: first_bits(size - 10, word),
        }
    }
}

/// The first `count` places of a line, as bits of one of its words.
fn first_bits(count: usize, word: usize) -> u64 {
    match count.saturating_sub(word * 64) {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    }
}

/// The 64 bits from bit `by` of `word` on; what follows is in `next`, unless there is none.
#[inline(always)]
fn shifted<const LAST: bool>(word: u64, next: u64, by: u32) -> u64 {
    if LAST { word >> by } else { word >> by | next << (64 - by) }
}

/// The penalty of what starts in one word of each line; `next` is the word after it.
#[inline(always)]
fn word_penalty<const LAST: bool>(these: &[u64], next: &[u64], inside: &Inside) -> u32 {
    let (mut five, mut ends, mut finders) = (0, 0, 0);
    for (&x, &y) in these.iter().zip(next) {
        // Bit k of `x5` is module k + 5.
        let x1 = shifted::<LAST>(x, y, 1);
        let x2 = shifted::<LAST>(x, y, 2);
        let x3 = shifted::<LAST>(x, y, 3);
        let x4 = shifted::<LAST>(x, y, 4);
        let x5 = shifted::<LAST>(x, y, 5);
        let x6 = shifted::<LAST>(x, y, 6);
        let x7 = shifted::<LAST>(x, y, 7);
        let x8 = shifted::<LAST>(x, y, 8);
        let x9 = shifted::<LAST>(x, y, 9);
        let x10 = shifted::<LAST>(x, y, 10);

        // Bit k of `same`: modules k and k + 1 are alike. Four in a row are a run of five, and
        // count one each; the last of a run counts two more: 3 for five modules, 1 for each
        // further.
        let same = !(x ^ x1) & inside.pairs;
        let same_next = !(y ^ y >> 1) & inside.next_pairs;
        let run = same
            & shifted::<LAST>(same, same_next, 1)
            & shifted::<LAST>(same, same_next, 2)
            & shifted::<LAST>(same, same_next, 3);
        five += run.count_ones();
        ends += (run & !shifted::<LAST>(same, same_next, 4)).count_ones();

        // 10111010000 and 00001011101.
        let finder_light = x & !x1 & x2 & x3 & x4 & !x5 & x6 & !(x7 | x8 | x9 | x10);
        let light_finder = !(x | x1 | x2 | x3) & x4 & !x5 & x6 & x7 & x8 & !x9 & x10;
        finders += ((finder_light | light_finder) & inside.windows).count_ones();
    }
    five + ends * 2 + finders * 40
}

/// The 2 x 2 blocks that start in one word of each row.
#[inline(always)]
fn blocks_in<const LAST: bool>(these: &[u64], next: &[u64], pairs: u64) -> u32 {
    let mut blocks = 0;
    let upper = these.iter().zip(next);
    let lower = these[1..].iter().zip(&next[1..]);
    for ((&a, &a_next), (&b, &b_next)) in upper.zip(lower) {
        let same_above = !(a ^ shifted::<LAST>(a, a_next, 1));
        let same_below = !(b ^ shifted::<LAST>(b, b_next, 1));
        blocks += (same_above & same_below & !(a ^ b) & pairs).count_ones();
    }
    blocks
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
            for penalty in [Penalty::Portable, Penalty::detect()] {
                assert_eq!(penalty.of(&rows, &columns), npm, "{version:?}");
            }
        }
    }
}
