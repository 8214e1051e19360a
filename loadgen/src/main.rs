//! `loadgen`: one honest load test of one URL, or the comparison of the contenders.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loadgen::cli::main()
}
