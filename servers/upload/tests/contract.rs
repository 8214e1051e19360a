//! server-upload keeps the contract of its scenario.

use server_contract::{Program, Result, Traits, upload};

#[test]
fn keeps_the_contract() -> Result<()> {
    upload::check(&Program::new(env!("CARGO_BIN_EXE_server-upload")), &Traits::NATIVE)
}
