//! `loadgen compare` through the real binary, on small contenders of its own.

mod add_a_contender;
mod bench;
mod cases;
mod fairness;
mod interrupted;
mod limits;
mod list;
mod uploads;
mod usage;
mod windows;
