//! server-https keeps the contract of its scenario.

use server_contract::{Program, Result, Scheme, Traits, hello};

#[test]
fn keeps_the_contract() -> Result<()> {
    let program = Program::new(env!("CARGO_BIN_EXE_server-https"));
    hello::check(&program, Scheme::Https, &Traits::NATIVE)
}
