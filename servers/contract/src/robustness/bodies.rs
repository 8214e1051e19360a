//! Request bodies that nobody reads: the answer arrives all the same (case SRV-05).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};

use super::Subject;
use crate::case::Cases;
use crate::{Running, expect};

/// How often each large body is sent, by a few clients at once: a lost answer is a race.
const TIMES: usize = 200;
const CLIENTS: usize = 4;

/// A body that is sent in full before the answer is read, and the status of that answer.
struct Unread<'a> {
    method: &'a str,
    target: &'a str,
    megabytes: usize,
    status: u16,
}

/// Bodies that are short, or not even sent.
pub(super) fn small_cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    cases.case("a short body nobody reads keeps the connection", || {
        let mut client = running.connect()?;
        for _ in 0..3 {
            expect::status(&client.request(expect::post("/nope", &[b'x'; 5_000]))?, 404)?;
        }
        let chunks: [&[u8]; 2] = [b"some", b"more"];
        expect::status(&client.request(expect::post_chunked("/nope", &chunks))?, 404)?;
        let response = client.request(subject.right)?;
        ensure!(response.status < 300, "status {}", response.status);
        Ok(())
    });
    cases.case("Expect: 100-continue where the body is not wanted", || {
        let head =
            "POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
        let response = running.connect()?.request(head)?;
        ensure!(response.informational.is_empty(), "it asked for the body");
        expect::status(&response, 404)
    });
}

/// Bodies too large to be read to their end.
pub(super) fn large_cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    let nowhere = Unread { method: "POST", target: "/nope", megabytes: 100, status: 404 };
    let mut bodies = vec![nowhere];
    if let Some(status) = subject.large_post {
        bodies.push(Unread { method: "POST", target: subject.path, megabytes: 100, status });
    }
    if subject.method() == "GET" {
        bodies.push(Unread { method: "GET", target: subject.path, megabytes: 1, status: 200 });
    }
    for body in bodies {
        let Unread { method, target, megabytes, .. } = body;
        cases.case(&format!("{method} {target} with {megabytes} MB, {TIMES} times"), || {
            many_times(|| body.send(running))?;
            subject.answers(running)
        });
    }
}

/// Calls `exchange` [`TIMES`] times on [`CLIENTS`] threads; the first error ends it.
fn many_times(exchange: impl Fn() -> Result<()> + Sync) -> Result<()> {
    let begun = AtomicUsize::new(0);
    let work = || -> Result<()> {
        loop {
            let nth = begun.fetch_add(1, Ordering::Relaxed) + 1;
            if nth > TIMES {
                return Ok(());
            }
            exchange().with_context(|| format!("time {nth}"))?;
        }
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(work)).collect();
        clients.into_iter().try_for_each(|client| {
            client.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a client panicked")))
        })
    })
}

impl Unread<'_> {
    fn send(&self, running: &Running) -> Result<()> {
        static MEGABYTE: [u8; 1_000_000] = [b'x'; 1_000_000];
        let mut client = running.connect()?;
        let length = self.megabytes * MEGABYTE.len();
        let (method, target) = (self.method, self.target);
        client.send(format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        ))?;
        for sent in 0..self.megabytes {
            client.send(MEGABYTE).with_context(|| format!("after {sent} MB of the body"))?;
        }
        let response = client.read_response(false)?;
        expect::status(&response, self.status)?;
        ensure!(response.header("connection") == Some("close"), "no Connection: close");
        ensure!(client.read_to_end()?.is_empty(), "more after the answer");
        Ok(())
    }
}
