//! The native reference server of the upload scenario.
fn main() {}
