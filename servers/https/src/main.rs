//! The native reference server of the https scenario.
fn main() {}
