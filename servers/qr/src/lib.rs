//! QR codes with the pixels of npm [`qrcode`] 1.5.4, as fast as they can be had.
//!
//! [`Encoder::png`] answers what `toBuffer(text, {width: 512})` answers there: error correction
//! level M, a margin of four modules, 512 x 512 pixels. Decoded, the pixels are the same for every
//! text; the file is smaller. The one difference is versions 6 and 34, which npm draws 511 pixels
//! wide: here they have a light row and column more.
//!
//! The steps, a module each: `segments` splits the text, `version` finds the size, `symbol` draws
//! the code with `ec` and what `template` knows of the version, `mask` masks it by the rules of
//! `penalty`, `raster` says where its modules fall on the picture, and `png` writes that with
//! `deflate`. Where npm departs from the standard or from other encoders, the module says so.
//!
//! Ported from npm `qrcode` (MIT License, Copyright (c) 2012 Ryan Day), checked against it in
//! `tests/golden.rs`.
//!
//! [`qrcode`]: https://www.npmjs.com/package/qrcode

mod deflate;
mod ec;
mod encoder;
mod lines;
mod mask;
mod penalty;
mod png;
mod raster;
mod segments;
mod symbol;
mod template;
mod version;

pub use encoder::{Encoder, Symbol, TooLong};
pub use mask::Mask;
pub use raster::PICTURE_PIXELS;
pub use version::{MARGIN_MODULES, Version};
