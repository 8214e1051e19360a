//! The native reference server of the json scenario.
fn main() {}
