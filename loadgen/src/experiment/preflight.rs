//! Before measuring: wait until a contender answers right, then check it with random input.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rustls::ClientConfig;
use serde::{Deserialize, Serialize};

use super::contender::{self, Logs};
use super::probe::{BodyFraming, Probe};
use super::process_group::ProcessGroup;
use crate::engine::{Exchange, StopFlag};
use crate::scenario::{Content, Scenario, head_fields, request_bytes};

/// Bound on one exchange.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests of a preflight, all on one connection.
const REQUESTS: usize = 3;
/// Polling starts fast and is throttled: a contender that answers 503 must not be loaded by it.
const FIRST_PAUSE: Duration = Duration::from_millis(3);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How a contender is reached.
#[derive(Clone)]
pub struct Reach {
    /// Its address.
    pub address: SocketAddr,
    /// TLS that accepts the certificate it was given, for HTTPS.
    pub tls: Option<Arc<ClientConfig>>,
}

/// What a contender's answers look like, for the comparison of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerShape {
    /// Header names in lower case, sorted.
    pub headers: Vec<String>,
    /// Media type with parameters, as sent.
    pub content_type: Option<String>,
    /// Bytes of the head.
    pub head_bytes: usize,
    /// Bytes of the body, framing removed; of the last answer where they vary.
    pub body_bytes: usize,
    /// `content-length`, `chunked` or `none`.
    pub framing: String,
    /// Differences that do not make a contender wrong, but its work less or more.
    pub warnings: Vec<String>,
}

/// Why a contender is not measured.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// Its process ended; the tail of its output follows.
    #[error("ended before it was ready: {0}")]
    Died(String),
    /// It never gave a right answer.
    #[error("not ready within {timeout:.0?}: {last}")]
    TimedOut {
        /// The bound.
        timeout: Duration,
        /// What was wrong at last.
        last: String,
    },
    /// It answers, but not right.
    #[error("{0}")]
    Wrong(String),
    /// The run was ended.
    #[error("interrupted")]
    Interrupted,
}

/// Polls until the contender gives a right answer; returns how long that took.
///
/// # Errors
/// It died (at once), or gave no right answer in time.
pub fn wait_until_ready(
    group: &mut ProcessGroup,
    reach: &Reach,
    scenario: &Scenario,
    timeout: Duration,
    random: &mut SmallRng,
    stop: &StopFlag,
) -> Result<Duration, NotReady> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let request = request_bytes(scenario, &reach.address.to_string(), random);
        let attempt = one_exchange(reach, &request).map_err(|error| describe(reach, &error));
        let last = match attempt.and_then(|exchange| scenario.answer.check(&exchange)) {
            Ok(()) => return Ok(start.elapsed()),
            Err(last) => last,
        };
        if let Some(status) = group.exit() {
            return Err(NotReady::Died(exit_in_words(status)));
        }
        if stop.is_raised() {
            return Err(NotReady::Interrupted);
        }
        if start.elapsed() >= timeout {
            return Err(NotReady::TimedOut { timeout, last: with_listeners(last, group, reach) });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Asks once more when the load is over: requests that were in flight at its end are no failures, but
/// a contender that gives no answer ever again is none that was measured.
///
/// # Errors
/// It gave no right answer in time.
pub fn check_alive(
    reach: &Reach,
    scenario: &Scenario,
    random: &mut SmallRng,
) -> Result<(), NotReady> {
    let request = request_bytes(scenario, &reach.address.to_string(), random);
    one_exchange(reach, &request)
        .map_err(|error| describe(reach, &error))
        .and_then(|exchange| scenario.answer.check(&exchange))
        .map_err(|error| NotReady::Wrong(format!("no right answer after the load: {error}")))
}

/// How a process ended, in words.
pub fn exit_in_words(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(9)) => "signal 9 (killed, as by the kernel when memory is short)".into(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn one_exchange(reach: &Reach, request: &[u8]) -> io::Result<Exchange> {
    let mut probe = Probe::connect(reach.address, reach.tls.as_ref(), EXCHANGE_TIMEOUT)?;
    probe.exchange(request).map(|(exchange, _)| exchange)
}

fn describe(reach: &Reach, error: &io::Error) -> String {
    let scheme = if reach.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}: {error}", reach.address)
}

/// A contender that listens elsewhere is told so.
fn with_listeners(last: String, group: &ProcessGroup, reach: &Reach) -> String {
    let elsewhere: Vec<String> = contender::listening_addresses(group)
        .into_iter()
        .filter(|address| address.port() != reach.address.port() || !covers(address, reach))
        .map(|address| address.to_string())
        .collect();
    if elsewhere.is_empty() {
        return last;
    }
    format!("{last}; it listens on {} instead of HOST and PORT", elsewhere.join(", "))
}

fn covers(address: &SocketAddr, reach: &Reach) -> bool {
    address.ip() == reach.address.ip() || address.ip().is_unspecified()
}

/// Checks a ready contender with random input on one connection.
///
/// # Errors
/// What differed, in one line.
pub fn check(
    reach: &Reach,
    scenario: &Scenario,
    random: &mut SmallRng,
) -> Result<AnswerShape, NotReady> {
    let failed = |error: &io::Error| NotReady::Wrong(describe(reach, error));
    let counted = matches!(scenario.answer.content, Content::Counted);
    let before = if counted { Some(counts(reach).map_err(NotReady::Wrong)?) } else { None };
    let mut probe = Probe::connect(reach.address, reach.tls.as_ref(), EXCHANGE_TIMEOUT)
        .map_err(|error| failed(&error))?;
    let mut shape = AnswerShape::default();
    let mut body_bytes = 0;
    for number in 0..REQUESTS {
        let request = request_bytes(scenario, &reach.address.to_string(), random);
        body_bytes += request.len() - head_length(&request);
        let (exchange, framing) = probe.exchange(&request).map_err(|error| match number {
            0 => failed(&error),
            _ => NotReady::Wrong(format!("did not keep the connection open: {error}")),
        })?;
        scenario.answer.check(&exchange).map_err(NotReady::Wrong)?;
        shape = shape_of(&exchange, framing, scenario).map_err(NotReady::Wrong)?;
    }
    if let Some(before) = before {
        let after = counts(reach).map_err(NotReady::Wrong)?;
        let expected = (before.0 + REQUESTS as u64, before.1 + body_bytes as u64);
        if after != expected {
            let text = format!(
                "GET /stats counts {} requests and {} bytes, not {} and {}",
                after.0, after.1, expected.0, expected.1
            );
            return Err(NotReady::Wrong(text));
        }
    }
    Ok(shape)
}

/// Requests and bytes that the server counted.
///
/// # Errors
/// `GET /stats` did not answer them.
pub fn counts(reach: &Reach) -> Result<(u64, u64), String> {
    let request = format!("GET /stats HTTP/1.1\r\nHost: {}\r\n\r\n", reach.address);
    let exchange = one_exchange(reach, request.as_bytes()).map_err(|e| describe(reach, &e))?;
    let parsed: Option<serde_json::Value> = serde_json::from_slice(&exchange.response_body).ok();
    let number = |name: &str| parsed.as_ref()?.get(name)?.as_u64();
    number("requests").zip(number("bytes")).ok_or_else(|| {
        let body = String::from_utf8_lossy(&exchange.response_body).into_owned();
        format!("GET /stats answers {} {body:?}, not requests and bytes", exchange.status)
    })
}

fn head_length(request: &[u8]) -> usize {
    request.windows(4).position(|four| four == b"\r\n\r\n").map_or(request.len(), |at| at + 4)
}

fn shape_of(
    exchange: &Exchange,
    framing: BodyFraming,
    scenario: &Scenario,
) -> Result<AnswerShape, String> {
    let fields = head_fields(&exchange.response_head)?;
    let mut headers: Vec<String> = fields.iter().map(|(name, _)| name.to_lowercase()).collect();
    headers.sort();
    let value = |name: &str| {
        let field = fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.clone())
    };
    if value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
        return Err("answers `Connection: close` and keeps no connection open".into());
    }
    let framing = match framing {
        BodyFraming::ContentLength(_) => "content-length",
        BodyFraming::Chunked => "chunked",
        BodyFraming::None => "none",
        BodyFraming::Close => return Err("the answer has no length, only an end".into()),
        BodyFraming::Both => return Err("the answer has both Content-Length and chunks".into()),
    };
    let mut warnings = Vec::new();
    if value("date").is_none() {
        warnings.push("no Date header (RFC 9110 section 6.6.1 asks for it)".to_owned());
    }
    if value("content-type").is_none() && scenario.answer.status != 204 {
        warnings.push("no Content-Type header".to_owned());
    }
    if let Some(encoding) = value("content-encoding") {
        warnings.push(format!("Content-Encoding {encoding}, which was not asked for"));
    }
    Ok(AnswerShape {
        headers,
        content_type: value("content-type"),
        head_bytes: exchange.response_head.len(),
        body_bytes: exchange.response_body.len(),
        framing: framing.into(),
        warnings,
    })
}

/// The tail of a contender's output, indented for a message; empty if it said nothing.
pub fn output_tail(logs: &Logs) -> String {
    let tail = logs.tail();
    if tail.is_empty() { String::new() } else { format!("\n    {}", tail.replace('\n', "\n    ")) }
}
