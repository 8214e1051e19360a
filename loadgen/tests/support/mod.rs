//! What the tests of `loadgen run` share: a programmable server, and a runner of the real binary.

mod client;
mod server;
mod tls;

pub(crate) use client::{Outcome, check, loadgen, loadgen_raw, spawn, start, until};
pub(crate) use server::{Conn, Next, Request, Server, write};
pub(crate) use tls::Identity;

/// The bytes of a file in `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A 200 response with this body.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
