//! A square of modules as lines of bits, so that 64 modules are handled at once.

/// The lines (rows or columns) of a square of modules; a set bit is a dark module.
///
/// Module `m` of a line is bit `m % 64` of its word in plane `m / 64`. The words of a plane lie
/// side by side, one for each line, so that a loop over the lines is one over a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    size: usize,
    planes: Vec<u64>,
}

impl Lines {
    /// A light square of `size` modules on a side.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, planes: vec![0; size * size.div_ceil(64)] }
    }

    /// Becomes a copy of `other` without giving its memory back.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.size = other.size;
        self.planes.clone_from(&other.planes);
    }

    /// Modules on a side.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The words `plane` of all lines.
    pub(crate) fn plane(&self, plane: usize) -> &[u64] {
        &self.planes[plane * self.size..][..self.size]
    }

    /// The words `plane` of all lines, to change.
    pub(crate) fn plane_mut(&mut self, plane: usize) -> &mut [u64] {
        &mut self.planes[plane * self.size..][..self.size]
    }

    /// Whether a module is dark.
    pub(crate) fn is_dark(&self, line: usize, module: usize) -> bool {
        self.plane(module / 64)[line] >> (module % 64) & 1 == 1
    }

    /// Makes a module dark.
    pub(crate) fn darken(&mut self, line: usize, module: usize) {
        self.plane_mut(module / 64)[line] |= 1 << (module % 64);
    }

    /// Becomes `other` with rows and columns exchanged.
    pub(crate) fn transpose_from(&mut self, other: &Self) {
        self.size = other.size;
        self.planes.resize(other.planes.len(), 0);
        let words = self.size.div_ceil(64);
        for from in 0..words {
            for to in 0..words {
                let mut block = [0; 64];
                let source = &other.plane(from)[to * 64..];
                let count = source.len().min(64);
                block[..count].copy_from_slice(&source[..count]);
                transpose_block(&mut block);
                let target = &mut self.plane_mut(to)[from * 64..];
                let count = target.len().min(64);
                target[..count].copy_from_slice(&block[..count]);
            }
        }
    }
}

/// Transposes 64 x 64 bits by exchanging ever smaller quarters (Hacker's Delight, section 7-3).
fn transpose_block(block: &mut [u64; 64]) {
    let mut half = 32;
    let mut mask = 0x0000_0000_FFFF_FFFF_u64;
    while half > 0 {
        for pair in block.chunks_exact_mut(half * 2) {
            let (upper, lower) = pair.split_at_mut(half);
            for (a, b) in upper.iter_mut().zip(lower) {
                let swap = ((*a >> half) ^ *b) & mask;
                *a ^= swap << half;
                *b ^= swap;
            }
        }
        half /= 2;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_exchanges_rows_and_columns() {
        for size in [21, 61, 65, 125, 129, 177] {
            let mut lines = Lines::new(size);
            for i in 0..size * 7 {
                lines.darken(i * 13 % size, i * i % size);
            }
            let mut transposed = Lines::default();
            transposed.transpose_from(&lines);
            for row in 0..size {
                for column in 0..size {
                    assert_eq!(transposed.is_dark(column, row), lines.is_dark(row, column));
                }
            }
        }
    }
}
