//! The native reference server of the hello scenario.
fn main() {}
