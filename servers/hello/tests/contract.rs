//! server-hello keeps the contract of its scenario.

use server_contract::{Program, Result, Scheme, Traits, hello};

#[test]
fn keeps_the_contract() -> Result<()> {
    let program = Program::new(env!("CARGO_BIN_EXE_server-hello"));
    hello::check(&program, Scheme::Http, &Traits::NATIVE)
}
