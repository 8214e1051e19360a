//! Requests to send and what every contract expects of an answer.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};

use crate::case::Cases;
use crate::client::{Framing, Response};
use crate::{Running, Traits};

/// A request without a body.
#[must_use]
pub fn request(method: &str, target: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A request with a body of known length and JSON's media type.
#[must_use]
pub fn post(target: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A request with a chunked body, one chunk for each of `chunks`.
#[must_use]
pub fn post_chunked(target: &str, chunks: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in chunks {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(*chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// Expects a status code; the error shows the start of the body.
///
/// # Errors
/// When it is another.
pub fn status(response: &Response, expected: u16) -> Result<()> {
    let start = String::from_utf8_lossy(&response.body[..response.body.len().min(200)]);
    ensure!(
        response.status == expected,
        "status {} instead of {expected}, body {start:?}",
        response.status
    );
    Ok(())
}

/// Expects 200, `Date`, and the media type.
///
/// # Errors
/// When one of them is wrong.
pub fn success(response: &Response, media_type: &str) -> Result<()> {
    status(response, 200)?;
    ensure!(response.header("date").is_some(), "no Date");
    self::media_type(response, media_type)
}

/// Expects a media type; parameters such as `charset` are not compared.
///
/// # Errors
/// When it is another or missing.
pub fn media_type(response: &Response, expected: &str) -> Result<()> {
    let found = response.media_type();
    ensure!(found.as_deref() == Some(expected), "media type {found:?} instead of {expected:?}");
    Ok(())
}

/// Expects exactly these bytes as the body.
///
/// # Errors
/// When they differ; the error shows the start of both.
pub fn body(response: &Response, expected: &[u8]) -> Result<()> {
    let show = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
    ensure!(
        response.body == expected,
        "body of {} bytes {:?} instead of {} bytes {:?}",
        response.body.len(),
        show(&response.body),
        expected.len(),
        show(expected)
    );
    Ok(())
}

/// Expects a JSON object with a `message` that says something.
///
/// # Errors
/// When it is not.
pub fn json_message(response: &Response) -> Result<String> {
    media_type(response, "application/json")?;
    let value: serde_json::Value =
        serde_json::from_slice(&response.body).context("the error is not JSON")?;
    let message = value["message"].as_str().unwrap_or_default();
    ensure!(!message.is_empty(), "no message in {value}");
    Ok(message.to_owned())
}

/// Expects that HEAD tells what GET told: status, type and length, and no body.
///
/// # Errors
/// When they differ. The length may be absent where GET was chunked.
pub fn head_like_get(running: &Running, target: &str, traits: &Traits) -> Result<()> {
    let mut client = running.connect()?;
    let get = client.request(request("GET", target)).context("GET")?;
    let head = client.request(request("HEAD", target)).context("HEAD")?;
    ensure!(head.status == get.status, "HEAD {} but GET {}", head.status, get.status);
    ensure!(
        head.media_type() == get.media_type()
            || (head.media_type().is_none() && !traits.complete_head),
        "HEAD {:?} but GET {:?}",
        head.media_type(),
        get.media_type()
    );
    let length = head.header("content-length");
    match get.framing {
        Framing::Length(expected) => ensure!(
            length.and_then(|length| length.parse().ok()) == Some(expected),
            "HEAD has Content-Length {length:?} but GET {expected}"
        ),
        _ => ensure!(length.is_none_or(|l| l != "0"), "HEAD says Content-Length 0"),
    }
    // The connection would be out of step now if HEAD had a body.
    status(&client.request(request("GET", target)).context("GET after HEAD")?, get.status)
}

/// What one scenario serves: everything else is 404, or 405 on its path.
pub(crate) struct Surface<'a> {
    /// A request that is right, and its path.
    pub(crate) right: &'a [u8],
    pub(crate) path: &'a str,
    /// A path close to it that is not served.
    pub(crate) beside: &'a str,
    /// `Allow` of the path.
    pub(crate) allow: &'a [&'a str],
}

impl Surface<'_> {
    /// The cases that are the same in every scenario.
    pub(crate) fn cases(&self, cases: &mut Cases, running: &Running, traits: &Traits) {
        cases.case("keep-alive", || {
            let mut client = running.connect()?;
            let first = client.request(self.right)?;
            let again = client.request(self.right).context("the second request")?;
            ensure!(client.is_open()?, "closed after the second request");
            ensure!(first.version == "HTTP/1.1", "version {}", first.version);
            ensure!(first.status == again.status, "{} then {}", first.status, again.status);
            Ok(())
        });
        cases.case("Connection: close", || self.close(running));
        if traits.pipelines {
            cases.case("pipelined requests", || self.pipelined(running));
        }
        cases.case("a request in small pieces", || self.in_pieces(running));
        for target in ["/nope", "/nope/", self.beside] {
            let method = self.allow[0];
            cases.case(&format!("{method} {target}"), || self.not_found(running, target));
        }
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"] {
            if !self.allow.contains(&method) {
                cases.case(&format!("{method} {}", self.path), || {
                    self.method_not_allowed(running, method)
                });
            }
        }
        if traits.requires_host {
            cases.case("no Host", || {
                let bytes = format!("{} {} HTTP/1.1\r\n\r\n", self.allow[0], self.path);
                status(&running.connect()?.request(bytes)?, 400)
            });
        }
    }

    fn close(&self, running: &Running) -> Result<()> {
        let mut client = running.connect()?;
        let text = self.right.windows(2).position(|bytes| bytes == b"\r\n").context("no line")?;
        let (line, rest) = self.right.split_at(text + 2);
        let response = client.request([line, b"Connection: close\r\n", rest].concat())?;
        ensure!(response.status < 300, "status {}", response.status);
        let rest = client.read_to_end()?;
        ensure!(rest.is_empty(), "{} bytes after the response", rest.len());
        Ok(())
    }

    fn pipelined(&self, running: &Running) -> Result<()> {
        let mut client = running.connect()?;
        client.send(self.right.repeat(3))?;
        for nth in 1..=3 {
            let response = client.read_response(false).with_context(|| format!("answer {nth}"))?;
            ensure!(response.status < 300, "answer {nth} has status {}", response.status);
        }
        Ok(())
    }

    fn in_pieces(&self, running: &Running) -> Result<()> {
        let mut client = running.connect()?;
        for piece in self.right.chunks(7) {
            client.send(piece)?;
        }
        let response = client.read_response(false)?;
        ensure!(response.status < 300, "status {}", response.status);
        Ok(())
    }

    fn not_found(&self, running: &Running, target: &str) -> Result<()> {
        let bytes = match self.allow[0] {
            "POST" => post(target, b"{}"),
            method => request(method, target).into_bytes(),
        };
        let mut client = running.connect()?;
        status(&client.request(&bytes)?, 404)?;
        let again = client.request(self.right).context("a right request after it")?;
        ensure!(again.status < 300, "a right request after it: status {}", again.status);
        Ok(())
    }

    fn method_not_allowed(&self, running: &Running, method: &str) -> Result<()> {
        let mut client = running.connect()?;
        let response = match method {
            "GET" | "HEAD" | "DELETE" => client.request(request(method, self.path))?,
            _ => client.request(
                String::from_utf8_lossy(&post(self.path, b"{}")).replace("POST", method),
            )?,
        };
        status(&response, 405)?;
        let allow: BTreeSet<_> =
            response.all("allow").flat_map(|value| value.split(',')).map(str::trim).collect();
        let expected: BTreeSet<_> = self.allow.iter().copied().collect();
        ensure!(allow == expected, "Allow {allow:?} instead of {expected:?}");
        Ok(())
    }
}
