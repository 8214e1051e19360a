//! The native reference server of the qr scenario.
fn main() {}
