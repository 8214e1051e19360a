//! A comparison as tables: for the terminal and for `report.md`, both from the result alone.

mod markdown;
mod table;
mod text;

pub use markdown::markdown;
pub use table::{Table, minutes, tables};
pub use text::text;
