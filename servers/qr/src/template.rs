//! What every symbol of a version has in common: its fixed patterns, the places for data, and where
//! modules fall on the picture.

use qrcode::EcLevel;
use qrcode::canvas::{Canvas, Module};
use qrcode::types::Color;

use crate::lines::Lines;
use crate::raster::Grid;
use crate::version::Version;

/// The most rows of a run: 28 rows of two modules are 56 bits, what an unaligned read of 8 bytes
/// surely has.
const MAX_RUN: usize = 28;

/// The fixed part of a version.
pub(crate) struct Template {
    pub(crate) version: Version,
    /// Finders, timing, alignment, version bits and the dark module, by column; format bits are
    /// light.
    pub(crate) columns: Lines,
    /// The modules that carry data, by row and by column: those that masks change.
    pub(crate) free_rows: Lines,
    pub(crate) free_columns: Lines,
    /// Where the data goes, in the order it is drawn.
    pub(crate) runs: Vec<Run>,
    pub(crate) grid: Grid,
}

/// Rows of a two-column strip of which the same columns are free.
pub(crate) struct Run {
    /// The right column of the strip; the left one is beside it.
    pub(crate) right: u8,
    /// The lowest row number.
    pub(crate) top: u8,
    /// How many rows; all in the same 64.
    pub(crate) rows: u8,
    /// Whether the strip is drawn from the bottom up.
    pub(crate) upwards: bool,
    pub(crate) free: Free,
}

/// Which columns of a run take data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Free {
    Both,
    Right,
    Left,
}

impl Template {
    pub(crate) fn new(version: Version) -> Self {
        let size = version.size();
        let mut canvas = Canvas::new(qrcode::Version::Normal(version.number().into()), EcLevel::M);
        canvas.draw_all_functional_patterns();
        let mut columns = Lines::new(size);
        let mut free_columns = Lines::new(size);
        for column in 0..size {
            for row in 0..size {
                match canvas.get(column as i16, row as i16) {
                    Module::Masked(Color::Dark) => columns.darken(column, row),
                    Module::Masked(Color::Light) => {}
                    Module::Empty | Module::Unmasked(_) => free_columns.darken(column, row),
                }
            }
        }
        columns.darken(8, size - 8);
        let mut free_rows = Lines::default();
        free_rows.transpose_from(&free_columns);
        let runs = find_runs(&free_columns);
        Self { version, columns, free_rows, free_columns, runs, grid: Grid::new(size) }
    }
}

/// The zigzag of ISO/IEC 18004, 7.7.3: strips of two columns from the right, up and down in turn,
/// around column 6.
fn find_runs(free: &Lines) -> Vec<Run> {
    let size = free.size();
    let mut runs: Vec<Run> = Vec::new();
    let mut upwards = true;
    let strips = (1..size).rev().step_by(2).map(|right| if right <= 6 { right - 1 } else { right });
    for right in strips {
        let first = runs.len();
        for i in 0..size {
            let row = if upwards { size - 1 - i } else { i };
            let state = match (free.is_dark(right, row), free.is_dark(right - 1, row)) {
                (true, true) => Free::Both,
                (true, false) => Free::Right,
                (false, true) => Free::Left,
                (false, false) => continue,
            };
            let fresh = runs.len() == first;
            match runs.last_mut() {
                Some(run) if !fresh && run.continues(row, state) => {
                    run.top = run.top.min(row as u8);
                    run.rows += 1;
                }
                _ => runs.push(Run {
                    right: right as u8,
                    top: row as u8,
                    rows: 1,
                    upwards,
                    free: state,
                }),
            }
        }
        upwards = !upwards;
    }
    runs
}

impl Run {
    fn continues(&self, row: usize, state: Free) -> bool {
        let top = usize::from(self.top);
        let rows = usize::from(self.rows);
        let next = if self.upwards { row + 1 == top } else { row == top + rows };
        next && self.free == state && rows < MAX_RUN && row / 64 == top / 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_take_every_free_module_once() {
        for version in Version::all() {
            let template = Template::new(version);
            let mut seen = Lines::new(version.size());
            for run in &template.runs {
                for row in run.top..run.top + run.rows {
                    let mut take = |column: u8| {
                        assert!(!seen.is_dark(column.into(), row.into()));
                        seen.darken(column.into(), row.into());
                    };
                    if run.free != Free::Left {
                        take(run.right);
                    }
                    if run.free != Free::Right {
                        take(run.right - 1);
                    }
                }
            }
            assert_eq!(seen, template.free_columns, "{version:?}");
        }
    }
}
