//! server-qr survives hostile, slow and unlucky clients, and stops without losing an answer.

use server_contract::{
    Program, Result, Scheme,
    robustness::{Subject, check, check_crowd, check_unread_bodies},
};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_server-qr"))
}

fn subject(program: &Program) -> Subject<'_> {
    Subject {
        program,
        scheme: Scheme::Https,
        right: b"POST /qr HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18\r\n\r\n{\"urlToEmbed\":\"x\"}",
        path: "/qr",
        large_post: Some(413),
    }
}

#[test]
fn survives() -> Result<()> {
    check(&subject(&program()))
}

#[test]
fn a_body_nobody_reads_never_costs_the_answer() -> Result<()> {
    check_unread_bodies(&subject(&program()))
}

#[test]
fn slow_clients_are_sent_away() -> Result<()> {
    check_crowd(&subject(&program()))
}
