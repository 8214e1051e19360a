//! Looks into a response beyond status and length, where it was asked for.

use aws_lc_rs::digest::{Context, SHA256};

use super::failure::Failure;
use super::response::Sink;
use super::spec::{Exchange, Expectations};

/// Bodies over this are not captured for a content check.
const MAX_CAPTURE: usize = 64 * 1024 * 1024;

/// What one connection does with the responses it receives.
#[derive(Default)]
pub(crate) struct Tap {
    /// Headers that must be there, lower case name and value.
    headers: Vec<(String, Option<String>)>,
    header_failure: Option<String>,
    hash: Option<([u8; 32], Context)>,
    /// The exchange being captured for a content check.
    pub(crate) capture: Option<Box<Exchange>>,
}

impl Tap {
    /// The tap that `expect` needs on every connection, if any.
    pub(crate) fn for_expectations(expect: &Expectations) -> Option<Box<Self>> {
        (!expect.headers.is_empty() || expect.body_sha256.is_some()).then(|| {
            Box::new(Self {
                headers: expect.headers.clone(),
                header_failure: None,
                hash: expect.body_sha256.map(|hash| (hash, Context::new(&SHA256))),
                capture: None,
            })
        })
    }

    /// A new response begins.
    pub(crate) fn start(&mut self) {
        self.header_failure = None;
        if let Some((_, context)) = &mut self.hash {
            *context = Context::new(&SHA256);
        }
    }

    /// What was wrong with the response that is now complete.
    pub(crate) fn verdict(&mut self) -> Option<Failure> {
        if let Some(text) = self.header_failure.take() {
            return Some(Failure::Header(text));
        }
        let (expected, context) = self.hash.as_ref()?;
        let got = context.clone().finish();
        (got.as_ref() != expected)
            .then(|| Failure::Body(got.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Whether nothing is left to look at.
    pub(crate) fn is_idle(&self) -> bool {
        self.headers.is_empty() && self.hash.is_none() && self.capture.is_none()
    }
}

impl Sink for Option<Box<Tap>> {
    #[inline]
    fn head(&mut self, head: &[u8]) {
        let Some(tap) = self else { return };
        tap.header_failure = missing_header(&tap.headers, head);
        if let Some(exchange) = &mut tap.capture {
            exchange.response_head.extend_from_slice(head);
        }
    }

    #[inline]
    fn body(&mut self, piece: &[u8]) {
        let Some(tap) = self else { return };
        if let Some((_, context)) = &mut tap.hash {
            context.update(piece);
        }
        if let Some(exchange) = &mut tap.capture {
            if exchange.response_body.len() + piece.len() > MAX_CAPTURE {
                tap.capture = None;
            } else {
                exchange.response_body.extend_from_slice(piece);
            }
        }
    }
}

/// The first expected header that `head` has not, in words.
fn missing_header(expected: &[(String, Option<String>)], head: &[u8]) -> Option<String> {
    expected.iter().find_map(|(name, value)| {
        let mut other = None;
        for (_, found) in
            fields(head).filter(|(given, _)| given.eq_ignore_ascii_case(name.as_bytes()))
        {
            if value.as_ref().is_none_or(|value| found == value.as_bytes()) {
                return None;
            }
            other = Some(found.escape_ascii().to_string());
        }
        Some(match (value, other) {
            (Some(value), Some(other)) => format!("{name}: {other} instead of {value}"),
            _ => format!("no header {name}"),
        })
    })
}

fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|&byte| byte == b'\n').skip(1).filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] =
        b"HTTP/1.1 200 OK\r\nVary: a\r\nvary: b\r\nX-Url: http://h:1/\r\nE:\r\n\r\n";

    fn check(name: &str, value: Option<&str>) -> Option<String> {
        missing_header(&[(name.into(), value.map(Into::into))], HEAD)
    }

    #[test]
    fn expected_headers() {
        assert_eq!(check("VARY", None), None);
        assert_eq!(check("Vary", Some("b")), None);
        assert_eq!(check("x-url", Some("http://h:1/")), None);
        assert_eq!(check("e", Some("")), None);
        assert_eq!(check("Vary", Some("c")).as_deref(), Some("Vary: b instead of c"));
        assert_eq!(check("Etag", None).as_deref(), Some("no header Etag"));
    }

    #[test]
    fn expected_hash() {
        let digest = aws_lc_rs::digest::digest(&SHA256, b"hello");
        let body_sha256 = digest.as_ref().try_into().ok();
        let expect = Expectations { body_sha256, ..Expectations::default() };
        let mut tap = Tap::for_expectations(&expect);
        for (body, right) in [(["hel", "lo"], true), (["hel", "l0"], false), (["hello", ""], true)]
        {
            tap.as_mut().unwrap().start();
            body.iter().for_each(|piece| tap.body(piece.as_bytes()));
            assert_eq!(tap.as_mut().unwrap().verdict().is_none(), right);
        }
    }
}
