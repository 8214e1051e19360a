//! A comparison as tables, charts and pages; all of it from the result alone.

pub mod chart;
mod conclude;
mod csv;
mod figures;
mod files;
mod html;
mod markdown;
mod measure;
mod role;
mod table;
mod text;
pub mod windows;

pub(super) use crate::experiment::summary::cost as cost_of_trial;
pub(super) use measure::trials as trials_of;

pub use conclude::{of_all, of_scenario};
pub use csv::{cells_csv, trials_csv};
pub use figures::{Figures, figures};
pub use files::write;
pub use html::html;
pub use markdown::markdown;
pub use measure::percent;
pub use table::{Grid, Table, minutes, tables};
pub use text::text;
