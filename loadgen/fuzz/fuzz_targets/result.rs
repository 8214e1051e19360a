//! libFuzzer on the reader of results and the reports made of them.
#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each program runs one target")]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::result(bytes));
