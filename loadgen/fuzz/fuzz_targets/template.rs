//! libFuzzer on the request template and the request made of it.
#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each program runs one target")]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::template(bytes));
