//! Large and odd N: refused, or computed without holding others up.

use server_contract::{Program, Result, Scheme};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_server-fib"))
}

fn get(n: &str) -> String {
    format!("GET /fibonacci/{n} HTTP/1.1\r\nHost: x\r\n\r\n")
}

#[test]
fn numbers_over_the_limit_are_400() -> Result<()> {
    let running = program().start(Scheme::Http)?;
    let mut client = running.connect()?;
    let large = ["46", "92", "93", "94", "186", "187", "1000", "1000000", "18446744073709551616"];
    let odd = ["", "-0", "+5", "007", "1.5", "1e3", "0x10", "%205", "abc", "%331"];
    for n in large.into_iter().chain(odd) {
        assert_eq!(client.request(get(n))?.status, 400, "{n:?}");
    }
    assert_eq!(client.request(get("2"))?.body, br#"{"n":2,"fibonacci":1}"#);
    Ok(())
}

#[test]
fn a_number_that_takes_for_ever_stops_no_answer_that_needs_no_computing() -> Result<()> {
    let running =
        program().arg("--workers").arg("1").arg("--max-n").arg("93").start(Scheme::Http)?;
    let mut slow = running.connect()?;
    slow.send(get("93"))?;
    let mut client = running.connect()?;
    assert_eq!(client.request(get("20"))?.body, br#"{"n":20,"fibonacci":6765}"#);
    assert_eq!(client.request(get("94"))?.status, 400);
    assert!(!slow.has_received()?);
    Ok(())
}

#[test]
fn the_limit_has_a_limit() -> Result<()> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_server-fib"))
        .args(["--max-n", "94"])
        .output()?;
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("94"));
    Ok(())
}
