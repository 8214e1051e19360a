//! What one run sends, to whom, how fast, and until when.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::template::Template;

/// Everything one run needs; built by the command line or by a scenario, read by the engine.
#[derive(Clone)]
pub struct RunSpec {
    /// The server to load.
    pub target: Target,
    /// The request that every connection repeats.
    pub request: RequestSpec,
    /// Connections kept open, over all threads.
    pub connections: NonZeroU32,
    /// Worker threads; never more than connections.
    pub threads: NonZeroUsize,
    /// Closed loop, or a fixed rate.
    pub pacing: Pacing,
    /// What ends the measured window.
    pub stop: Stop,
    /// Load before the measured window that counts nowhere but in [`super::RunResult::warmup`].
    pub warmup: Duration,
    /// Gap between the openings of two connections.
    pub ramp: Duration,
    /// Bound on one request, from its first byte to the last of its response.
    pub timeout: Duration,
    /// Bound on TCP connect plus TLS handshake.
    pub connect_timeout: Duration,
    /// How long after the end of the window responses still in flight are waited for; they are
    /// reported as in flight at the end, never as errors.
    pub drain: Duration,
    /// `false`: a new connection for every request.
    pub keep_alive: bool,
    /// What a right response looks like.
    pub expect: Expectations,
    /// Content check of some responses, off the path of the requests.
    pub sampling: Option<Sampling>,
    /// CPUs the worker threads are pinned to, round robin; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Seed of every random value in templates and schedules.
    pub seed: u64,
}

/// Where to connect, and under which name.
#[derive(Clone, Debug)]
pub struct Target {
    /// The URL as given, for messages and results.
    pub url: String,
    /// Value of the `Host` header (with the port unless it is the scheme's default).
    pub authority: String,
    /// Resolved once; tried in order until one connects.
    pub addresses: Addresses,
    /// TLS, for `https`.
    pub tls: Option<TlsSpec>,
}

/// The transport addresses of a target.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// TCP, in the resolver's order.
    Tcp(Vec<SocketAddr>),
    /// A unix stream socket.
    Unix(PathBuf),
}

/// How TLS is spoken to the target.
#[derive(Clone, Debug, Default)]
pub struct TlsSpec {
    /// Name in the certificate and in SNI; an IP literal sends no SNI (RFC 6066 section 3).
    pub server_name: String,
    /// Accept any certificate (`-k`).
    pub insecure: bool,
    /// Trust these PEM certificates instead of the built-in roots.
    pub ca_file: Option<PathBuf>,
    /// Client certificate chain and key, PEM.
    pub client_identity: Option<(PathBuf, PathBuf)>,
    /// Restrict to one protocol version.
    pub version: Option<TlsVersion>,
}

/// A TLS protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    V1_2,
    /// TLS 1.3 (RFC 8446).
    V1_3,
}

/// The request as templates; framing headers and `Host` are added by the writer unless given.
#[derive(Clone, Debug)]
pub struct RequestSpec {
    /// Method, as it goes on the wire.
    pub method: String,
    /// Request target in origin form (RFC 9112 section 3.2.1).
    pub path: Template,
    /// Headers in order, as given.
    pub headers: Vec<(String, Template)>,
    /// The body and how it is framed.
    pub body: Body,
}

/// A request body.
#[derive(Clone, Debug)]
pub enum Body {
    /// No body, no framing headers.
    None,
    /// Expanded for each request; `Content-Length` follows the expansion.
    Template(Template, Framing),
    /// Fixed bytes, one copy for all connections.
    Fixed(Arc<[u8]>, Framing),
}

/// How a request body is delimited (RFC 9112 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`.
    ContentLength,
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// Each connection sends its next request when the response is complete.
    Closed,
    /// Open loop: requests are due at a fixed rate over all connections.
    Rate {
        /// Requests per second, over all connections; finite and positive.
        per_second: f64,
    },
}

/// What ends the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Exactly this many requests are sent.
    Requests(NonZeroU64),
    /// No request is sent after this much time.
    Duration(Duration),
}

/// What every response is checked against; a mismatch is an error, never a success.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// Accepted status codes; empty: any 2xx or 3xx.
    pub status: Vec<u16>,
    /// Exact body length in bytes.
    pub length: Option<u64>,
    /// Headers that must be there, name (any case) and, where given, exact value.
    pub headers: Vec<(String, Option<String>)>,
    /// SHA-256 of the body.
    pub body_sha256: Option<[u8; 32]>,
}

/// Checks the content of a sample of the responses on a thread of its own.
#[derive(Clone)]
pub struct Sampling {
    /// At most one response in this time, per worker thread, is checked.
    pub interval: Duration,
    /// The check; an error says what differed.
    pub check: SampleCheck,
}

/// A check of one exchange: what was sent, what came back.
pub type SampleCheck = Arc<dyn Fn(&Exchange) -> Result<(), String> + Send + Sync>;

/// One request and its response, as captured for a [`Sampling`] check.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The whole request as sent: head and, for templates, the expanded body.
    pub request: Vec<u8>,
    /// Status code.
    pub status: u16,
    /// The response head as received, up to and including its blank line.
    pub response_head: Vec<u8>,
    /// The response body, chunking removed.
    pub response_body: Vec<u8>,
}
