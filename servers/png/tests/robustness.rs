//! server-png survives hostile, slow and unlucky clients, and stops without losing an answer.

use server_contract::{
    Program, Result, Scheme,
    robustness::{Subject, check},
};

#[test]
fn survives() -> Result<()> {
    let data = tempfile::tempdir()?;
    std::fs::write(data.path().join("logo.png"), [7; 12_000])?;
    let program = Program::new(env!("CARGO_BIN_EXE_server-png")).env("DATA_DIR", data.path());
    check(&Subject {
        program: &program,
        scheme: Scheme::Http,
        right: b"GET /logo.png HTTP/1.1\r\nHost: localhost\r\n\r\n",
        path: "/logo.png",
    })
}
