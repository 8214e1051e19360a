//! What a connection costs in memory once it is idle, however busy it was.

use std::{io::Write as _, net::TcpStream};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server_contract::{Error, Program, Result, Scheme};

/// Enough for each of two workers to have a crowd.
const CONNECTIONS: usize = 2_500;

/// hyper alone holds 16 KiB and more.
const LIMIT_BYTES: usize = 8 * 1024;

#[test]
fn a_crowd_that_asked_at_once_is_small() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let program = Program::new(env!("CARGO_BIN_EXE_server-hello")).arg("--workers").arg("2");
    let running = program.start(Scheme::Http)?;
    let before = running.resident_bytes()?;
    let mut crowd = (0..CONNECTIONS).map(|_| running.connect()).collect::<Result<Vec<_>>>()?;
    for client in &crowd {
        let mut tcp: &TcpStream = client.tcp();
        tcp.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")?;
    }
    for client in &mut crowd {
        assert_eq!(client.read_response(false)?.status, 200);
    }
    let each = running.resident_bytes()?.saturating_sub(before) / CONNECTIONS;
    println!("{each} bytes for each of {CONNECTIONS} connections");
    assert!(each < LIMIT_BYTES, "{each} bytes for each connection");
    // And they still work.
    let last = crowd.last_mut().ok_or_else(|| Error::msg("no connection"))?;
    assert_eq!(last.request("GET / HTTP/1.1\r\nHost: x\r\n\r\n")?.status, 200);
    Ok(())
}
