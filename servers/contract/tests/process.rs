//! A program that does not come up is reported with what it said.

use server_contract::{Program, Scheme};

fn start(script: &str) -> String {
    let program = Program::new("/bin/sh").arg("-c").arg(script);
    format!("{:#}", program.start(Scheme::Http).expect_err("it cannot have answered"))
}

#[test]
fn tells_why_a_program_died() {
    let error = start("echo out; echo broken pipe organ >&2; exit 3");
    assert!(error.contains("broken pipe organ") && error.contains("out"), "{error}");
    assert!(error.contains("exit status: 3"), "{error}");
}

#[test]
fn tells_the_signal() {
    let error = start("kill -9 $$");
    assert!(error.contains("by signal 9"), "{error}");
}

#[test]
fn gives_the_environment_to_the_program() {
    let error =
        start("ls \"$DATA_DIR\" \"$TLS_KEY\" \"$TLS_CERT\" && echo $HOST:$((PORT > 1023)); exit 1");
    assert!(error.contains("127.0.0.1:1"), "{error}");
}

#[test]
fn tells_that_a_binary_is_missing() {
    let program = Program::new("/nonexistent/server");
    let error = format!("{:#}", program.start(Scheme::Http).expect_err("there is no such file"));
    assert!(error.contains("/nonexistent/server"), "{error}");
}
