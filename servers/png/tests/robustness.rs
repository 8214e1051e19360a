//! server-png survives hostile, slow and unlucky clients, and stops without losing an answer.

use std::fs;

use server_contract::{
    Program, Result, Scheme,
    robustness::{Subject, check, check_crowd, check_unread_bodies},
};
use tempfile::TempDir;

/// The server with a picture, and a file that no buffer holds.
fn program() -> Result<(Program, TempDir)> {
    let data = tempfile::tempdir()?;
    fs::write(data.path().join("logo.png"), [7; 12_000])?;
    fs::write(data.path().join("large.bin"), vec![7; 8_000_000])?;
    let program = Program::new(env!("CARGO_BIN_EXE_server-png")).env("DATA_DIR", data.path());
    Ok((program, data))
}

fn subject(program: &Program) -> Subject<'_> {
    Subject {
        program,
        scheme: Scheme::Http,
        right: b"GET /logo.png HTTP/1.1\r\nHost: localhost\r\n\r\n",
        path: "/logo.png",
        large_post: Some(405),
    }
}

#[test]
fn survives() -> Result<()> {
    let (program, _data) = program()?;
    check(&subject(&program))
}

#[test]
fn a_body_nobody_reads_never_costs_the_answer() -> Result<()> {
    let (program, _data) = program()?;
    check_unread_bodies(&subject(&program))
}

#[test]
fn slow_clients_are_sent_away() -> Result<()> {
    let (program, _data) = program()?;
    check_crowd(&subject(&program))
}

#[test]
fn slow_readers_of_a_large_file_are_sent_away() -> Result<()> {
    let (program, _data) = program()?;
    check_crowd(&Subject {
        right: b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n",
        path: "/large.bin",
        ..subject(&program)
    })
}
