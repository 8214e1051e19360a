//! The load generator and the comparison, in four rooms: a [`scenario`] says what to send and what a
//! right answer is; the [`engine`] sends and measures; the [`experiment`] decides who runs when,
//! starts and samples the contenders, and keeps the trials; the [`report`] only reads results.

pub mod check;
pub mod cli;
pub mod engine;
pub mod experiment;
pub mod histogram;
pub mod report;
pub mod scenario;
pub mod schema;
pub mod toml_file;
pub mod utc;
