//! Descriptors that run out, and a port that is taken.

use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::{PATIENCE, Subject, connect};
use crate::Running;
use crate::case::Cases;

pub(super) fn cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    cases.case("out of descriptors", || out_of_descriptors(subject));
    cases.case("a port in use", || port_in_use(subject, running.address()));
}

/// Without descriptors it waits, says so briefly, and serves again when there are some.
fn out_of_descriptors(subject: &Subject<'_>) -> Result<()> {
    let running = subject.program.start(subject.scheme)?;
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: Some(64), maximum: Some(64) };
    prlimit(pid, Resource::Nofile, limit).context("limit its descriptors")?;
    let crowd = (0..100).map(|_| connect(running.address())).collect::<Result<Vec<_>>>()?;
    let deadline = Instant::now() + PATIENCE;
    while running.stderr().to_lowercase().matches("too many open files").count() == 0 {
        ensure!(Instant::now() < deadline, "it never said that it ran out");
        thread::sleep(Duration::from_millis(10));
    }
    let pause = Duration::from_millis(500);
    let before = running.cpu_time()?;
    thread::sleep(pause);
    let spent = running.cpu_time()? - before;
    ensure!(spent < pause / 5, "{spent:?} on the CPU in {pause:?} of waiting");
    let lines = running.stderr().lines().count();
    ensure!(lines <= 3, "{lines} lines of log");
    drop(crowd);
    // The crowd's descriptors come back as the server sees them go.
    let deadline = Instant::now() + PATIENCE;
    loop {
        match subject.answers(&running) {
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            outcome => return outcome,
        }
    }
}

/// A second server on the same port ends with one line.
fn port_in_use(subject: &Subject<'_>, address: SocketAddr) -> Result<()> {
    let output = Command::new(subject.program.path())
        .args(["--port", &address.port().to_string()])
        .env_remove("PORT")
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "it ended with success");
    ensure!(output.stdout.is_empty(), "it announced itself");
    ensure!(stderr.lines().count() == 1 && stderr.contains("in use"), "it said {stderr:?}");
    Ok(())
}
