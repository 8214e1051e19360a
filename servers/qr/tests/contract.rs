//! server-qr keeps the contract of its scenario.

use server_contract::{Program, Traits, qr};

#[test]
fn server_qr_keeps_the_contract() -> anyhow::Result<()> {
    qr::check(&Program::new(env!("CARGO_BIN_EXE_server-qr")), &Traits::NATIVE)
}
