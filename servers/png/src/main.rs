//! The native reference server of the png scenario.
fn main() {}
