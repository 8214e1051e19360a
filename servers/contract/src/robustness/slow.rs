//! Clients that stop half way, one at a time (case SRV-09): the server has limits of a second.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{PATIENCE, Subject, closes, connect};
use crate::case::Cases;
use crate::{Running, Scheme};

pub(super) fn cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    const HEAD: &str = "GET / HTTP/1.1\r\nHo";
    if subject.scheme == Scheme::Https {
        cases.case("a handshake that does not come", || closes(&mut connect(running.address())?));
    }
    cases.case("half a head", || {
        let mut client = running.connect()?;
        client.send(HEAD)?;
        let end = String::from_utf8_lossy(&client.read_to_end()?).into_owned();
        ensure!(end.is_empty() || end.starts_with("HTTP/1.1 408"), "it said {end:?}");
        Ok(())
    });
    cases.case("a head of one byte every 100 ms", || {
        let mut client = running.connect()?;
        let started = Instant::now();
        client.send(HEAD)?;
        while client.is_open()? && !client.has_received()? {
            ensure!(started.elapsed() < PATIENCE, "still open");
            let _ = client.send("s");
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    });
    cases.case("idle after an answer", || {
        let mut client = running.connect()?;
        let response = client.request(subject.right)?;
        ensure!(response.status < 300, "status {}", response.status);
        ensure!(client.read_to_end()?.is_empty(), "it said something");
        Ok(())
    });
    cases.case("idle from the start", || {
        ensure!(running.connect()?.read_to_end()?.is_empty(), "it said something");
        Ok(())
    });
    cases.case("half a body", || {
        let mut client = running.connect()?;
        let right = String::from_utf8_lossy(subject.right);
        let method = right.split(' ').next().unwrap_or_default();
        let path = subject.path;
        client
            .send(format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"))?;
        let response = client.read_response(false)?;
        ensure!(
            response.status == 408 || (method == "GET" && response.status == 200),
            "status {}",
            response.status
        );
        ensure!(client.read_to_end()?.is_empty(), "more after the answer");
        Ok(())
    });
    cases.case("requests without reading the answers", || never_reading(subject, running));
    cases.case("others meanwhile", || subject.answers(running));
}

/// Sends requests until nothing is taken any more, then waits for the server to give up.
fn never_reading(subject: &Subject<'_>, running: &Running) -> Result<()> {
    let mut client = running.connect()?;
    // Longer than the server's limit, so that it is the server that ends this.
    client.tcp().set_write_timeout(Some(Duration::from_secs(10)))?;
    let many = subject.right.repeat(1 + 100_000 / subject.right.len());
    let started = Instant::now();
    while client.send(&many).is_ok() {
        ensure!(started.elapsed() < PATIENCE, "it buffers answers without end");
    }
    // Dropped with requests unread means reset, which poll(2) tells without reading an answer.
    let timeout = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
    let mut watched = [PollFd::new(client.tcp(), PollFlags::empty())];
    ensure!(poll(&mut watched, Some(&timeout))? == 1, "still connected");
    Ok(())
}
