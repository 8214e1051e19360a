//! Five hundred slow clients at once (case SRV-09): they are sent away, cost little memory, and
//! nobody else notices.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};

use super::{PATIENCE, Subject};
use crate::case::Cases;
use crate::{Client, Running};

/// Of each of five kinds.
const CLIENTS: usize = 100;

/// Crowds that memory may grow with before it counts as a leak.
const CROWDS: usize = 4;

/// Requests of a client that reads no answer.
const UNREAD_ANSWERS: usize = 50;

/// What may be held for a client on average, with its buffers and its TLS.
const LIMIT_BYTES: usize = 128 * 1024;

/// A kind of slow client.
struct Kind {
    /// What it sends first.
    opening: Vec<u8>,
    /// Whether it waits for an answer to that.
    answered: bool,
    /// Whether it then sends a byte now and again.
    drips: bool,
}

fn kinds(subject: &Subject<'_>) -> [Kind; 5] {
    let (method, path) = (subject.method(), subject.path);
    let kind = |opening: &[u8]| Kind { opening: opening.into(), answered: false, drips: false };
    let half_head = kind(b"GET / HTTP/1.1\r\nHo");
    let dripping = Kind { drips: true, ..kind(&half_head.opening) };
    let idle = Kind { answered: true, ..kind(subject.right) };
    let half_body = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
    let not_reading = kind(&subject.right.repeat(UNREAD_ANSWERS));
    [half_head, dripping, idle, kind(half_body.as_bytes()), not_reading]
}

pub(super) fn cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    let kinds = kinds(subject);
    cases.case("500 slow clients, again and again", || {
        wake_all_workers(subject, running)?;
        let before = running.resident_bytes()?;
        let mut resident = vec![visit(&kinds, subject, running).context("the first time")?];
        let each = resident[0].saturating_sub(before) / (kinds.len() * CLIENTS);
        ensure!(each < LIMIT_BYTES, "{each} bytes for each");
        // What one crowd takes differs: on a busy machine some of it is gone before the rest is in.
        // What leaks grows with every crowd.
        while resident.len() < CROWDS {
            resident.push(visit(&kinds, subject, running).context("another time")?);
            if let [.., earlier, later] = resident[..]
                && later < earlier + resident[0] / 4
            {
                return Ok(());
            }
        }
        Err(anyhow!("more with every crowd: {resident:?} bytes"))
    });
}

/// Has every worker serve, so that all have opened what they need for themselves: on a busy machine one
/// may still be starting when another answers already.
fn wake_all_workers(subject: &Subject<'_>, running: &Running) -> Result<()> {
    let mut clients = Vec::new();
    // A new connection goes to the worker with the fewest.
    for _ in 0..2 * thread::available_parallelism()?.get() {
        let mut client = running.connect()?;
        client.send(subject.right)?;
        client.read_response(false)?;
        clients.push(client);
    }
    let at_rest = running.descriptors()?.saturating_sub(clients.len());
    drop(clients);
    wait_until_gone(running, at_rest, Duration::from_millis(10), || ())
        .context("connections that were closed")
}

/// Waits until the server has no more descriptors than `at_rest`, and does `meanwhile` between two looks.
fn wait_until_gone(
    running: &Running,
    at_rest: usize,
    pause: Duration,
    mut meanwhile: impl FnMut(),
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while running.descriptors()? > at_rest {
        ensure!(Instant::now() < deadline, "{} are still there", running.descriptors()? - at_rest);
        meanwhile();
        thread::sleep(pause);
    }
    Ok(())
}

/// Lets them in, sees that others are answered, and waits until the server has sent them away.
/// Returns its resident memory with all of them.
fn visit(kinds: &[Kind], subject: &Subject<'_>, running: &Running) -> Result<usize> {
    let at_rest = running.descriptors()?;
    let mut clients = Vec::new();
    for kind in kinds {
        for _ in 0..CLIENTS {
            clients.push((kind, open(kind, running)?));
        }
    }
    subject.answers(running).context("another client meanwhile")?;
    let resident = running.resident_bytes()?;
    wait_until_gone(running, at_rest, Duration::from_millis(250), || {
        for (_, client) in clients.iter_mut().filter(|(kind, _)| kind.drips) {
            // One that was sent away cannot.
            let _ = client.send("s");
        }
    })?;
    Ok(resident)
}

fn open(kind: &Kind, running: &Running) -> Result<Client> {
    let mut client = running.connect()?;
    client.send(&kind.opening)?;
    if kind.answered {
        let response = client.read_response(false)?;
        ensure!(response.status < 300, "status {}", response.status);
    }
    Ok(client)
}
