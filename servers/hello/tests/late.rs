//! Answers that a client takes late, so that the kernel did not take them at once, are all there.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use server_contract::{Program, Result, Scheme};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server from which nothing is read for so long takes no more.
const STALLED: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

#[test]
fn answers_taken_late_are_all_there_and_in_order() -> Result<()> {
    let running = Program::new(env!("CARGO_BIN_EXE_server-hello")).start(Scheme::Http)?;
    let mut client = TcpStream::connect(running.address())?;
    let sent = send_until_nothing_is_taken(&mut client)?;
    assert!(sent > 100 * REQUEST.len(), "only {sent} bytes were taken");
    let one = answer(&mut client)?;
    for nth in 1..sent / REQUEST.len() {
        let mut next = vec![0; one.len()];
        client.read_exact(&mut next)?;
        assert!(is_right(&next), "answer {nth}: {}", String::from_utf8_lossy(&next));
    }
    // The last request may have been cut, and the connection is as good as before.
    client.write_all(&REQUEST[sent % REQUEST.len()..])?;
    assert_eq!(answer(&mut client)?.len(), one.len());
    Ok(())
}

/// Sends requests and reads nothing. Says how many bytes were taken.
fn send_until_nothing_is_taken(client: &mut TcpStream) -> Result<usize> {
    let many = REQUEST.repeat(1000);
    let mut sent = 0;
    client.set_nonblocking(true)?;
    loop {
        match client.write(&many[sent % many.len()..]) {
            Ok(bytes) => sent += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut watched = [PollFd::new(client, PollFlags::OUT)];
                if poll(&mut watched, Some(&STALLED))? == 0 {
                    break;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    client.set_nonblocking(false)?;
    Ok(sent)
}

/// One answer, read to its end.
fn answer(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"Hello world!") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        answer.push(byte[0]);
    }
    assert!(is_right(&answer), "{}", String::from_utf8_lossy(&answer));
    Ok(answer)
}

fn is_right(answer: &[u8]) -> bool {
    answer.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.ends_with(b"\r\n\r\nHello world!")
}
