//! The contract of upload: `POST /` is 204 once the whole body was read; `GET /stats` counts.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::case::Cases;
use crate::expect::{self, Surface, post_chunked, request};
use crate::{Framing, Program, Response, Running, Scheme, Traits};

/// The largest file of the scenario.
const LARGEST: usize = 100_450_390;

/// Starts the program and asks it everything.
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check(program: &Program, traits: &Traits) -> Result<()> {
    let running = program.start(Scheme::Http)?;
    let mut cases = Cases::default();
    cases.case("nothing counted yet", || counted(&running, 0, 0));
    for length in [0, 1, 1_095, 511_274, 1_922_394, LARGEST, 140_000_000] {
        cases.case(&format!("{length} bytes with Content-Length"), || sized(&running, length));
    }
    for chunk in [1, 1_000, 65_536, 300_000] {
        cases.case(&format!("chunks of {chunk} bytes"), || chunked(&running, chunk));
    }
    cases.case("Expect: 100-continue", || continued(&running));
    cases.case("no answer before the end of the body", || answered_late(&running));
    cases.case("a truncated body", || {
        truncated(
            &running,
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nten bytes.",
        )
    });
    cases.case("a truncated chunked body", || {
        let whole = post_chunked("/", &[b"ten bytes."]);
        truncated(&running, &whole[..whole.len() - 5])
    });
    cases.case("HEAD /stats", || expect::head_like_get(&running, "/stats", traits));
    let right = sized_head(0);
    let surface = Surface { right: right.as_bytes(), path: "/", beside: "/x", allow: &["POST"] };
    surface.cases(&mut cases, &running, traits);
    cases.finish(&running)
}

fn sized_head(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
}

/// What the program counted: requests and bytes of complete uploads.
fn stats(running: &Running) -> Result<(u64, u64)> {
    let response = running.connect()?.request(request("GET", "/stats"))?;
    expect::success(&response, "application/json")?;
    let value: Value = serde_json::from_slice(&response.body).context("/stats is not JSON")?;
    let count = |name: &str| value[name].as_u64().with_context(|| format!("no {name}: {value}"));
    Ok((count("requests")?, count("bytes")?))
}

fn counted(running: &Running, requests: u64, bytes: u64) -> Result<()> {
    let found = stats(running)?;
    ensure!(found == (requests, bytes), "/stats {found:?} instead of {:?}", (requests, bytes));
    Ok(())
}

/// Runs an upload that must end in 204 and be counted with `bytes`.
fn complete(
    running: &Running,
    bytes: usize,
    upload: impl FnOnce() -> Result<Response>,
) -> Result<()> {
    let before = stats(running)?;
    let response = upload()?;
    expect::status(&response, 204)?;
    ensure!(response.header("content-length").is_none(), "204 with Content-Length");
    ensure!(response.framing == Framing::NoBody, "framing {:?}", response.framing);
    counted(running, before.0 + 1, before.1 + bytes as u64)
}

fn sized(running: &Running, length: usize) -> Result<()> {
    complete(running, length, || {
        let mut client = running.connect()?;
        client.send(sized_head(length))?;
        let block = vec![b'x'; length.min(1 << 20)];
        let mut left = length;
        while left > 0 {
            let part = left.min(block.len());
            client.send(&block[..part]).with_context(|| format!("{left} bytes left"))?;
            left -= part;
        }
        client.read_response(false)
    })
}

fn chunked(running: &Running, chunk: usize) -> Result<()> {
    let block = vec![b'x'; chunk];
    let chunks = [block.as_slice(), &block, &block];
    complete(running, 3 * chunk, || running.connect()?.request(post_chunked("/", &chunks)))
}

fn continued(running: &Running) -> Result<()> {
    complete(running, 5, || {
        let mut client = running.connect()?;
        client.send(sized_head(5).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"))?;
        client.wait_for_bytes().context("waiting for 100 Continue")?;
        client.send("hello")?;
        let response = client.read_response(false)?;
        ensure!(response.informational == [100], "{:?} before it", response.informational);
        Ok(response)
    })
}

fn answered_late(running: &Running) -> Result<()> {
    complete(running, 200_000, || {
        let mut client = running.connect()?;
        client.send(sized_head(200_000))?;
        client.send(vec![b'x'; 150_000])?;
        // A whole exchange on another connection gives the program its time to answer too early.
        stats(running)?;
        ensure!(!client.has_received()?, "it answered before the body was complete");
        client.send(vec![b'x'; 50_000])?;
        client.read_response(false)
    })
}

/// Neither 204 nor counted.
fn truncated(running: &Running, bytes: &[u8]) -> Result<()> {
    let before = stats(running)?;
    let mut client = running.connect()?;
    client.send(bytes)?;
    client.finish_sending()?;
    let end = String::from_utf8_lossy(&client.read_to_end()?).into_owned();
    ensure!(!end.starts_with("HTTP/1.1 2"), "answered with {end:?}");
    counted(running, before.0, before.1)
}
