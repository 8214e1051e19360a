//! `loadgen compare` through the real binary, on small contenders of its own.

mod bench;
mod cases;
mod interrupted;
mod usage;
