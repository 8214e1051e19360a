//! server-png keeps the contract of its scenario.

use server_contract::{Program, Result, Traits, png};

#[test]
fn keeps_the_contract() -> Result<()> {
    png::check(&Program::new(env!("CARGO_BIN_EXE_server-png")), &Traits::NATIVE)
}
