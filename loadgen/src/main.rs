//! The command line of `loadgen`.
fn main() {}
