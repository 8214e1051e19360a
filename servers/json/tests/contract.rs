//! server-json keeps the contract of its scenario.

use server_contract::{Program, Result, Traits, json};

#[test]
fn keeps_the_contract() -> Result<()> {
    json::check(&Program::new(env!("CARGO_BIN_EXE_server-json")), &Traits::NATIVE)
}
