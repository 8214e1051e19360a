//! From a text to its PNG file: the steps in their order, and what is kept between texts.

use crate::lines::Lines;
use crate::mask::Mask;
use crate::png;
use crate::segments::Segmenter;
use crate::symbol::Drawer;
use crate::template::Template;
use crate::version::Version;

/// The digits version 40 holds at level M; no text of more bytes fits, whatever it is.
const MAX_DIGITS: usize = 5596;

/// The text fits no version at level M.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the text does not fit a QR code: at error correction level M one holds at most 2331 bytes, or \
     3391 characters of 0-9 A-Z $%*+-./: and space, or 5596 digits"
)]
pub struct TooLong;

/// Encodes texts one after another.
///
/// It keeps buffers and what is common to all symbols of a version (made when the version is first
/// met), never anything of a text.
pub struct Encoder {
    segmenter: Segmenter,
    drawer: Drawer,
    templates: [Option<Box<Template>>; 40],
}

/// What was drawn for a text.
pub struct Symbol<'a> {
    version: Version,
    mask: Mask,
    rows: &'a Lines,
    template: &'a Template,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder that has met no text yet.
    pub fn new() -> Self {
        Self {
            segmenter: Segmenter::default(),
            drawer: Drawer::default(),
            templates: [const { None }; 40],
        }
    }

    /// The PNG file of a text's QR code.
    ///
    /// # Errors
    /// [`TooLong`] if the text fits no version at level M.
    pub fn png(&mut self, text: &str) -> Result<Vec<u8>, TooLong> {
        Ok(self.symbol(text)?.png())
    }

    /// The QR code of a text. An empty text, which npm refuses, is a code without a segment.
    ///
    /// # Errors
    /// [`TooLong`] if the text fits no version at level M.
    pub fn symbol(&mut self, text: &str) -> Result<Symbol<'_>, TooLong> {
        if text.len() > MAX_DIGITS {
            return Err(TooLong);
        }
        let (version, segments) = self.segmenter.segment(text).ok_or(TooLong)?;
        let template = self.templates[usize::from(version.number()) - 1]
            .get_or_insert_with(|| Box::new(Template::new(version)));
        let (mask, rows) = self.drawer.draw(text, segments, template).map_err(|_| TooLong)?;
        Ok(Symbol { version, mask, rows, template })
    }
}

impl Symbol<'_> {
    /// Its size.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its mask.
    pub fn mask(&self) -> Mask {
        self.mask
    }

    /// Whether a module is dark; rows from the top, columns from the left, without the quiet zone.
    ///
    /// # Panics
    /// If one is not below [`Version::size`].
    pub fn is_dark(&self, row: usize, column: usize) -> bool {
        self.rows.is_dark(row, column)
    }

    /// Its picture as a PNG file, one bit a pixel.
    pub fn png(&self) -> Vec<u8> {
        png::write(self.rows, &self.template.grid)
    }
}
