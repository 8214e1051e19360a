//! The contract of hello and https: `GET /` is 200, `text/plain`, `Hello world!` (12 bytes).

use anyhow::{Context as _, Result, ensure};

use crate::case::Cases;
use crate::client::Framing;
use crate::expect::{self, Surface, request};
use crate::{Program, Running, Scheme, Traits};

/// The whole body.
pub const BODY: &[u8] = b"Hello world!";

/// Starts the program and asks it everything; hello is [`Scheme::Http`], https [`Scheme::Https`].
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check(program: &Program, scheme: Scheme, traits: &Traits) -> Result<()> {
    let running = program.start(scheme)?;
    let mut cases = Cases::default();
    cases.case("GET /", || hello(&running, "/"));
    cases.case("GET / with a query", || hello(&running, "/?a=1&b=%20"));
    cases.case("HEAD /", || expect::head_like_get(&running, "/", traits));
    cases.case("HTTP/1.0", || {
        let mut client = running.connect()?;
        let response = client.request("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        expect::status(&response, 200)?;
        expect::body(&response, BODY)?;
        client.read_to_end().context("it must close")?;
        Ok(())
    });
    let right = request("GET", "/");
    let surface =
        Surface { right: right.as_bytes(), path: "/", beside: "/x", allow: &["GET", "HEAD"] };
    surface.cases(&mut cases, &running, traits);
    cases.finish(&running)
}

fn hello(running: &Running, target: &str) -> Result<()> {
    let mut client = running.connect()?;
    for _ in 0..2 {
        let response = client.request(request("GET", target))?;
        expect::success(&response, "text/plain")?;
        expect::body(&response, BODY)?;
        ensure!(response.framing == Framing::Length(12), "framing {:?}", response.framing);
    }
    Ok(())
}
