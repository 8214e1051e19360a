//! The native reference server of the fib scenario.
fn main() {}
