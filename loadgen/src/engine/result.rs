//! What one run measured; the only thing that leaves the engine.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The figures of one run. Invariant: `sent = completed + failed + timed_out + in_flight_at_end`.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Length of the measured window, monotonic clock.
    pub elapsed: Duration,
    /// Requests of the measured window.
    pub requests: RequestCounts,
    /// What was left out of everything else.
    pub warmup: Warmup,
    /// Connections over the whole run.
    pub connections: ConnectionCounts,
    /// Service time of completed requests, ns.
    pub service_time_ns: Histogram<u64>,
    /// Response time from the due moment of completed requests, ns; only at a fixed rate.
    pub response_time_ns: Option<Histogram<u64>>,
    /// Time until the failure of failed and timed-out requests, ns.
    pub failed_time_ns: Histogram<u64>,
    /// TCP (or unix) connect times, ns.
    pub connect_time_ns: Histogram<u64>,
    /// TLS handshake times, ns.
    pub handshake_time_ns: Histogram<u64>,
    /// Final responses by status code, right or not.
    pub status: BTreeMap<u16, u64>,
    /// Failures by kind.
    pub errors: BTreeMap<ErrorKind, ErrorTally>,
    /// Bytes on the connections in the measured window (for TLS: plaintext).
    pub bytes: ByteCounts,
    /// The schedule kept, at a fixed rate.
    pub schedule: Option<Schedule>,
    /// What the generator itself spent in the measured window.
    pub generator: GeneratorCost,
    /// Completed requests per [`TIMELINE_STEP`] of the measured window.
    pub timeline: Vec<u64>,
    /// The address that was connected to.
    pub address: Option<String>,
    /// Negotiated protocol, for TLS.
    pub tls: Option<TlsInfo>,
    /// How sockets were driven (`epoll`).
    pub transport: &'static str,
    /// Content checks of the sample.
    pub samples: SampleCounts,
    /// Ended early by a signal.
    pub interrupted: bool,
}

/// Width of one bar of [`RunResult::timeline`].
pub const TIMELINE_STEP: Duration = Duration::from_millis(100);

/// Where each request of the measured window ended; in every result as it stands here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// First byte handed to the kernel.
    pub sent: u64,
    /// Complete and right.
    pub completed: u64,
    /// Ended by an error or a wrong response.
    pub failed: u64,
    /// Ended by the request timeout.
    pub timed_out: u64,
    /// Not complete when the window ended.
    pub in_flight_at_end: u64,
}

/// The part before the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Warmup {
    /// Its length.
    pub elapsed: Duration,
    /// Requests sent in it.
    pub sent: u64,
    /// Requests completed in it.
    pub completed: u64,
    /// Requests failed in it.
    pub failed: u64,
}

/// Connections over the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionCounts {
    /// Connects begun.
    pub attempted: u64,
    /// Connects (and handshakes) finished.
    pub established: u64,
    /// Connects or handshakes that failed; each also counts in `errors`.
    pub failed: u64,
    /// Of the established ones over TLS, those that resumed an earlier session.
    pub resumed: u64,
    /// Most connections open at one time.
    pub peak_open: u64,
}

/// Bytes sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteCounts {
    /// Request bytes.
    pub sent: u64,
    /// Response bytes, heads and framing included.
    pub received: u64,
    /// Response body bytes, framing removed.
    pub received_body: u64,
}

/// A kind of failure a person can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// Connection refused.
    ConnectRefused,
    /// Connect or handshake exceeded its bound.
    ConnectTimeout,
    /// Any other connect failure.
    Connect,
    /// No local port left (EADDRNOTAVAIL).
    NoFreePort,
    /// The generator ran out of file descriptors.
    NoFileDescriptor,
    /// TLS failure: certificate, protocol, alert.
    Tls,
    /// Connection reset by the peer.
    Reset,
    /// Closed before any byte of a response.
    ClosedBeforeResponse,
    /// Closed in the middle of a response.
    Truncated,
    /// Not HTTP/1.x, or framing that cannot be trusted.
    BadResponse,
    /// Request timeout.
    Timeout,
    /// A status that was not expected.
    Status,
    /// A body length that was not expected.
    Length,
    /// A header that was expected and is missing or different.
    Header,
    /// A body hash that was not expected.
    Body,
    /// A sampled response whose content is wrong.
    Content,
    /// Any other I/O error.
    Io,
}

impl ErrorKind {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::Connect => "connect",
            Self::NoFreePort => "no_free_port",
            Self::NoFileDescriptor => "no_file_descriptor",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::ClosedBeforeResponse => "closed_before_response",
            Self::Truncated => "truncated",
            Self::BadResponse => "bad_response",
            Self::Timeout => "timeout",
            Self::Status => "status",
            Self::Length => "length",
            Self::Header => "header",
            Self::Body => "body",
            Self::Content => "content",
            Self::Io => "io",
        }
    }
}

/// How often a kind of failure was seen, and what the first one looked like; in every result as it
/// stands here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTally {
    /// Occurrences.
    pub count: u64,
    /// The first one, in words, with the bytes where they help.
    pub example: String,
}

/// A fixed-rate schedule, asked for and kept.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Requests per second asked for.
    pub rate_per_s: f64,
    /// Requests that were due in the measured window.
    pub due: u64,
    /// How late each was handed to the kernel, ns.
    pub lag_ns: Histogram<u64>,
}

/// What the generator spent in the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneratorCost {
    /// User CPU of the worker threads.
    pub cpu_user: Duration,
    /// System CPU of the worker threads.
    pub cpu_system: Duration,
    /// Largest share of the window that one worker thread was on the CPU, 0 to 1.
    pub busy_fraction: f64,
}

/// What was negotiated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: String,
    /// Cipher suite, IANA name.
    pub cipher: String,
    /// Protocol selected by ALPN, if any.
    pub alpn: Option<String>,
}

/// Outcome of the content checks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleCounts {
    /// Exchanges checked.
    pub checked: u64,
    /// Of these, wrong.
    pub wrong: u64,
}
