//! server-qr survives hostile, slow and unlucky clients, and stops without losing an answer.

use server_contract::{
    Program, Result, Scheme, expect,
    robustness::{Subject, check},
};

#[test]
fn survives() -> Result<()> {
    check(&Subject {
        program: &Program::new(env!("CARGO_BIN_EXE_server-qr")),
        scheme: Scheme::Https,
        right: &expect::post("/qr", br#"{"urlToEmbed":"x"}"#),
        path: "/qr",
    })
}
