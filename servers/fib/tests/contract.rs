//! server-fib keeps the contract of its scenario.

use server_contract::{Program, Result, Traits, fib};

#[test]
fn keeps_the_contract() -> Result<()> {
    fib::check(&Program::new(env!("CARGO_BIN_EXE_server-fib")), &Traits::NATIVE)
}

#[test]
fn prints_every_base_case_when_asked() -> Result<()> {
    let program = Program::new(env!("CARGO_BIN_EXE_server-fib")).arg("--log-base-cases");
    fib::check_logging(&program)
}
