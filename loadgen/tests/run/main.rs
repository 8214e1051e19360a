//! `loadgen run` through the real binary, against servers that know what they really saw.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod arguments;
mod counts;
mod formats;
mod limits;
mod parsing;
mod percentiles;
mod rate;
mod requests;
mod signals;
mod tls;
