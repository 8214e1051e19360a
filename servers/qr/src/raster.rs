//! Where the modules of a symbol fall on the 512 x 512 picture: the geometry of npm qrcode, to the
//! pixel.
//!
//! npm (`lib/renderer/utils.js`, MIT) scales by 512 / (size + 8), which is seldom whole, in
//! doubles. In two versions, 6 and 34, its rounding makes a picture of 511 x 511. Here the picture
//! is always 512 x 512: those pixels are the same, and row and column 511 are light. They widen the
//! quiet zone, which is four modules on each side to the pixel.

use crate::version::MARGIN_MODULES;

/// The width and height of every picture, in pixels.
pub const PICTURE_PIXELS: usize = 512;

/// The pixels of a row, most significant bit first; a set bit is light.
pub(crate) type PixelRow = [u64; PICTURE_PIXELS / 64];

/// The division of the picture into modules, the same in both directions.
pub(crate) struct Grid {
    /// The first pixel of each module, and of the quiet zone after the last. As long as any byte
    /// can say, so that looking one up needs no check.
    edges: [u16; 256],
    size: u8,
}

impl Grid {
    /// The grid of a symbol of `size` modules, computed with npm's operations in npm's order.
    pub(crate) fn new(size: usize) -> Self {
        let with_margins = (size + MARGIN_MODULES * 2) as f64;
        let scale = PICTURE_PIXELS as f64 / with_margins;
        let npm_pixels = (with_margins * scale).floor();
        let margin = MARGIN_MODULES as f64 * scale;
        // `None` is the quiet zone.
        let module_at = |pixel: usize| {
            let pixel = pixel as f64;
            (pixel >= margin && pixel < npm_pixels - margin)
                .then(|| ((pixel - margin) / scale).floor() as usize)
        };
        let first_of = |module| {
            (0..PICTURE_PIXELS).find(|pixel| module_at(*pixel).is_some_and(|m| m >= module))
        };
        let end = (0..PICTURE_PIXELS).rfind(|pixel| module_at(*pixel).is_some());
        let all = (0..size).filter_map(first_of).chain(end.map(|pixel| pixel + 1));
        let mut edges = [0; 256];
        for (edge, pixel) in edges.iter_mut().zip(all) {
            *edge = pixel as u16;
        }
        Self { edges, size: size as u8 }
    }

    /// The first pixel of module `index`; of the quiet zone after the symbol, if `index` is its
    /// size.
    pub(crate) fn edge(&self, index: usize) -> usize {
        usize::from(self.edges[index % 256])
    }

    /// The modules on a side.
    pub(crate) fn size(&self) -> usize {
        self.size.into()
    }

    /// The pixels of a row of modules, given as bits from the least significant.
    pub(crate) fn pixels(&self, modules: [u64; 3]) -> PixelRow {
        let mut row = [0; PICTURE_PIXELS / 64];
        // Mark the pixels at which the colour changes …
        let mut before = 0;
        for (word, modules) in modules.into_iter().enumerate() {
            let mut changes = modules ^ (modules << 1 | before);
            before = modules >> 63;
            while changes != 0 {
                let pixel = self.edge(word * 64 + changes.trailing_zeros() as usize);
                row[pixel / 64 % 8] ^= 1 << (63 - pixel % 64);
                changes &= changes - 1;
            }
        }
        // … then each pixel is light if an even number of changes is at or before it.
        for shift in [1, 2, 4, 8, 16, 32] {
            for word in &mut row {
                *word ^= *word >> shift;
            }
        }
        let mut light = u64::MAX;
        for word in &mut row {
            *word ^= light;
            light = (*word & 1).wrapping_neg();
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    #[test]
    fn every_module_has_pixels_and_the_quiet_zone_is_wide_enough() {
        for version in Version::all() {
            let grid = Grid::new(version.size());
            assert_eq!(grid.size(), version.size());
            assert!(grid.edges[..=version.size()].is_sorted_by(|a, b| a < b), "{version:?}");
            let modules = version.size() + 2 * MARGIN_MODULES;
            let quiet = MARGIN_MODULES as f64 * PICTURE_PIXELS as f64 / modules as f64;
            assert!(grid.edge(0) as f64 >= quiet, "{version:?}");
            // npm rounds the symbol's end up to a pixel.
            let after = PICTURE_PIXELS - grid.edge(version.size());
            assert!(after >= quiet as usize, "{version:?}: {after} pixels, {quiet} wanted");
        }
    }

    #[test]
    fn pixels_have_the_colour_of_their_module() {
        for version in Version::all() {
            let grid = Grid::new(version.size());
            let size = grid.size();
            let mut modules = [0_u64; 3];
            (0..size).filter(|m| m * m % 7 < 3).for_each(|m| modules[m / 64] |= 1 << (m % 64));
            let row = grid.pixels(modules);
            for pixel in 0..PICTURE_PIXELS {
                let module = (0..size).find(|m| (grid.edge(*m)..grid.edge(m + 1)).contains(&pixel));
                let dark = module.is_some_and(|m| modules[m / 64] >> (m % 64) & 1 == 1);
                assert_eq!(row[pixel / 64] >> (63 - pixel % 64) & 1 == 0, dark);
            }
        }
    }
}
