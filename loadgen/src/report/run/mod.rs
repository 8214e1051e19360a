//! The result of one run: one serialisable struct, of which every other format is a rendering.

mod build;
mod csv;
mod markdown;
mod merge;
mod notes;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::engine::{ErrorTally as Failure, RequestCounts as Requests};
pub use crate::histogram::{HistogramError, Times, decode, encode};
pub use csv::csv;
pub use markdown::markdown;
pub use merge::{MergeError, merge};
pub use text::text;

/// Value of [`RunReport::schema`].
pub const SCHEMA: &str = "loadgen-run/1";

/// What one run measured. `null` is "not measured"; every unit is in its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of loadgen.
    pub version: String,
    /// Start of the run, UTC, RFC 3339.
    pub started_at: String,
    /// The URL, without credentials.
    pub url: String,
    /// Request method.
    pub method: String,
    /// The address that was connected to; `null` if none could be.
    pub address: Option<String>,
    /// How sockets were driven.
    pub transport: String,
    /// What TLS negotiated; `null` without TLS.
    pub tls: Option<Tls>,
    /// `closed`: the next request waits for the response; `open`: requests are due at fixed times.
    #[serde(rename = "loop")]
    pub load: Loop,
    /// Connections asked for.
    pub connections: u64,
    /// Threads that sent.
    pub threads: u64,
    /// CPUs the threads were pinned to; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Whether connections were used for more than one request.
    pub keep_alive: bool,
    /// Seed of random placeholders; `null` if the request has none.
    pub seed: Option<u64>,
    /// Length of the measured window.
    pub elapsed_s: f64,
    /// Whether a signal ended the run early.
    pub interrupted: bool,
    /// Where each request of the window ended.
    pub requests: Requests,
    /// Completed requests per second.
    pub rate_per_s: Option<f64>,
    /// From the first byte of a request to the last of its response; completed requests.
    pub service_time_us: Times,
    /// The same from the moment the request was due; `null` in a closed loop.
    pub response_time_us: Option<Times>,
    /// Time until the failure of failed and timed-out requests.
    pub failed_time_us: Times,
    /// Time to connect.
    pub connect_time_us: Times,
    /// Time of the TLS handshake; `null` without TLS.
    pub handshake_time_us: Option<Times>,
    /// Final responses by status code, right or not.
    pub status: BTreeMap<u16, u64>,
    /// Failures by kind.
    pub errors: BTreeMap<String, Failure>,
    /// Bytes on the connections in the window.
    pub bytes: Bytes,
    /// Connects over the whole run.
    pub connects: Connects,
    /// What was left out of everything else.
    pub warmup: Warmup,
    /// The schedule asked for and kept; `null` in a closed loop.
    pub schedule: Option<Schedule>,
    /// Content checks; `null` if none were asked for.
    pub samples: Option<Samples>,
    /// What the generator itself spent in the window.
    pub generator: Generator,
    /// Completed requests over the window.
    pub timeline: Timeline,
    /// The histograms that the times are taken from.
    pub histograms: Histograms,
    /// Sentences a reader of the figures must know.
    pub notes: Vec<String>,
}

/// Whether requests wait for responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// Each connection sends its next request when the response is complete.
    Closed,
    /// Requests are due at a fixed rate.
    Open,
}

/// What TLS negotiated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: String,
    /// Cipher suite.
    pub cipher: String,
    /// Protocol selected by ALPN.
    pub alpn: Option<String>,
}

/// Bytes on the connections; for TLS, of the plaintext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Requests.
    pub sent: u64,
    /// Responses, heads and framing included.
    pub received: u64,
    /// Response bodies, framing removed.
    pub received_body: u64,
}

/// Connects over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connects {
    /// Begun.
    pub attempted: u64,
    /// Finished, handshake included.
    pub established: u64,
    /// Failed; each also counts in `errors`.
    pub failed: u64,
    /// Of the established ones, those that resumed an earlier TLS session.
    pub resumed: u64,
    /// Most open at one time.
    pub peak_open: u64,
}

/// The part before the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Warmup {
    pub elapsed_s: f64,
    pub sent: u64,
    pub completed: u64,
    pub failed: u64,
}

/// A fixed rate, asked for and kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Requests per second asked for.
    pub rate_per_s: f64,
    /// Requests per second sent.
    pub sent_per_s: Option<f64>,
    /// Requests due in the window.
    pub due: u64,
    /// How late requests were handed to the kernel.
    pub lag_us: Times,
}

/// Outcome of the content checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Samples {
    pub checked: u64,
    pub wrong: u64,
}

/// What the generator spent in the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// User CPU of its threads.
    pub cpu_user_s: f64,
    /// System CPU of its threads.
    pub cpu_system_s: f64,
    /// CPU per completed request.
    pub cpu_us_per_request: Option<f64>,
    /// Share of the window that its busiest thread was on a CPU, 0 to 1.
    pub busy_fraction: f64,
}

/// Completed requests over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Width of one step.
    pub step_s: f64,
    /// Requests completed in each step.
    pub completed: Vec<u64>,
}

/// HdrHistogram V2 with DEFLATE, base64, values in ns: what other HDR tools read, and what makes
/// merging exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Histograms {
    pub service_time_ns: String,
    pub response_time_ns: Option<String>,
    pub failed_time_ns: String,
    pub connect_time_ns: String,
    pub handshake_time_ns: Option<String>,
    pub lag_ns: Option<String>,
}

impl RunReport {
    /// The result as one strict JSON object with a final newline.
    ///
    /// # Errors
    /// Never for a report built by this module: it holds no number that JSON cannot hold.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Whether anything failed, requests or connects.
    pub fn has_failures(&self) -> bool {
        self.requests.failed + self.requests.timed_out > 0 || !self.errors.is_empty()
    }
}
