//! The stop signals: nothing that was accepted is lost, and a second signal does not wait.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::{PATIENCE, Subject};
use crate::Client;
use crate::case::Cases;

pub(super) fn cases(cases: &mut Cases, subject: &Subject<'_>) {
    cases.case("SIGTERM under load", || stop_under_load(subject));
    cases.case("a second signal", || second_signal(subject));
}

/// Clients in a loop while it stops: each gets the answer to each request it sent, up to the one that
/// says the connection closes.
fn stop_under_load(subject: &Subject<'_>) -> Result<()> {
    let mut running = subject.program.start(subject.scheme)?;
    let (answered, stopping) = (AtomicU64::new(0), AtomicBool::new(false));
    let address = running.address();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| keep_asking(subject, address, &answered, &stopping)))
            .collect();
        let deadline = Instant::now() + PATIENCE;
        while answered.load(Ordering::Relaxed) < 400 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        stopping.store(true, Ordering::Release);
        running.signal(Signal::TERM)?;
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        let status = running.wait()?;
        ensure!(status.success(), "it ended with {status}");
        ensure!(TcpStream::connect(address).is_err(), "somebody still listens");
        Ok(())
    })
}

/// Asks on one connection until the server says it closes; a lost answer is an error.
fn keep_asking(
    subject: &Subject<'_>,
    address: SocketAddr,
    answered: &AtomicU64,
    stopping: &AtomicBool,
) -> Result<()> {
    let mut client = Client::connect(address, subject.scheme)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let response = client.request(subject.right).with_context(|| {
            format!("a lost request (stopping: {})", stopping.load(Ordering::Acquire))
        })?;
        ensure!(response.status < 300, "status {}", response.status);
        answered.fetch_add(1, Ordering::Relaxed);
        if response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            ensure!(stopping.load(Ordering::Acquire), "closed without a stop");
            ensure!(client.read_to_end()?.is_empty(), "more after the last answer");
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "it goes on after the signal");
    }
}

/// With a request in flight the first signal waits, the second does not.
fn second_signal(subject: &Subject<'_>) -> Result<()> {
    let mut running = subject.program.start(subject.scheme)?;
    let mut client = running.connect()?;
    client.send("GET / HTTP/1.1\r\nHo")?;
    // Another exchange, so that the half head has certainly been seen.
    subject.answers(&running)?;
    running.signal(Signal::TERM)?;
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(running.address()).is_ok() {
        ensure!(Instant::now() < deadline, "it still accepts");
    }
    ensure!(running.is_running()?, "it did not wait for the request in flight");
    running.signal(Signal::INT)?;
    let signalled = Instant::now();
    let status = running.wait()?;
    ensure!(
        !status.success(),
        "the second signal ended it with success after {:?}",
        signalled.elapsed()
    );
    Ok(())
}
