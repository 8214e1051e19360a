//! The bytes of a request: made once, or expanded for each request without allocation.

use std::sync::Arc;

use super::spec::{Body, Framing, RequestSpec, RunSpec};
use super::template::{Template, Values, push_decimal};

/// Fixed bodies up to this size are kept in one piece with their head.
const INLINE_BODY: usize = 64 * 1024;
/// Data bytes in one chunk of a chunked request body.
const CHUNK: usize = 64 * 1024;

/// Writes the same request again and again; shared by the workers of a run.
#[derive(Clone, Debug)]
pub(crate) struct RequestPlan {
    prefix: Prefix,
    tail: Option<Tail>,
    answers_head: bool,
    asks_close: bool,
}

/// The head, with the body where that is small or a template.
#[derive(Clone, Debug)]
enum Prefix {
    Fixed(Arc<[u8]>),
    Expanded(Arc<Expanded>),
}

/// Head and body as templates, in the order of the wire.
#[derive(Debug)]
struct Expanded {
    before_length: Vec<Template>,
    body: Option<(Template, Framing)>,
    fixed_end: Vec<u8>,
}

/// A large body, never copied.
#[derive(Clone, Debug)]
struct Tail {
    body: Arc<[u8]>,
    framing: Framing,
    /// Size line of the last, shorter chunk.
    last_line: Vec<u8>,
}

impl RequestPlan {
    /// The plan for the request of `spec`.
    pub(crate) fn new(spec: &RunSpec) -> Self {
        let request = &spec.request;
        let asks_close = !spec.keep_alive || header_has_token(request, "connection", b"close");
        let mut head = head_templates(spec, asks_close);
        let (inline, tail) = split_body(&request.body, &mut head);
        let prefix = match fixed_bytes(&head, inline.as_ref()) {
            Some(bytes) => Prefix::Fixed(bytes.into()),
            None => Prefix::Expanded(Arc::new(Expanded {
                before_length: head,
                fixed_end: if inline.is_some() { Vec::new() } else { b"\r\n".to_vec() },
                body: inline,
            })),
        };
        Self { prefix, tail, answers_head: request.method.eq_ignore_ascii_case("HEAD"), asks_close }
    }

    /// Whether the method is HEAD, whose responses have no body.
    pub(crate) fn is_head(&self) -> bool {
        self.answers_head
    }

    /// Whether the request itself ends the connection.
    pub(crate) fn asks_close(&self) -> bool {
        self.asks_close
    }

    /// Whether every request is different.
    pub(crate) fn is_expanded(&self) -> bool {
        matches!(self.prefix, Prefix::Expanded(_))
    }

    /// Expands the next request into `out`, which is empty for a request that never changes.
    #[inline]
    pub(crate) fn expand(&self, values: &mut Values, out: &mut Vec<u8>) {
        if let Prefix::Expanded(expanded) = &self.prefix {
            out.clear();
            expanded.expand(values, out);
            values.advance();
        }
    }

    /// The next bytes to write when `written` have been; empty at the end. `expanded` is what
    /// [`RequestPlan::expand`] made.
    #[inline]
    pub(crate) fn unwritten<'a>(&'a self, expanded: &'a [u8], written: u64) -> &'a [u8] {
        let prefix = self.prefix(expanded);
        match (prefix.len() as u64).checked_sub(written) {
            Some(left) if left > 0 => &prefix[prefix.len() - left as usize..],
            _ => match &self.tail {
                None => &[],
                Some(tail) => tail.unwritten(written - prefix.len() as u64),
            },
        }
    }

    /// Head, and the body unless it is large.
    pub(crate) fn prefix<'a>(&'a self, expanded: &'a [u8]) -> &'a [u8] {
        match &self.prefix {
            Prefix::Fixed(bytes) => bytes,
            Prefix::Expanded(_) => expanded,
        }
    }

    /// Whether a large body follows the prefix.
    #[inline]
    pub(crate) fn has_tail(&self) -> bool {
        self.tail.is_some()
    }
}

impl Expanded {
    fn expand(&self, values: &mut Values, out: &mut Vec<u8>) {
        for template in &self.before_length {
            template.expand(values, out);
        }
        out.extend_from_slice(&self.fixed_end);
        let Some((body, framing)) = &self.body else { return };
        let length = body.expanded_len(values.seq());
        match framing {
            Framing::ContentLength => {
                out.extend_from_slice(b"Content-Length: ");
                push_decimal(length as u64, out);
                out.extend_from_slice(b"\r\n\r\n");
                body.expand(values, out);
            }
            Framing::Chunked => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                if length > 0 {
                    push_hex(length, out);
                    body.expand(values, out);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n\r\n");
            }
        }
    }
}

impl Tail {
    fn new(body: &Arc<[u8]>, framing: Framing) -> Self {
        let mut last_line = Vec::new();
        if !body.len().is_multiple_of(CHUNK) {
            push_hex(body.len() % CHUNK, &mut last_line);
        }
        Self { body: body.clone(), framing, last_line }
    }

    fn unwritten(&self, written: u64) -> &[u8] {
        const FULL_LINE: &[u8] = b"10000\r\n";
        let written = usize::try_from(written).unwrap_or(usize::MAX);
        if self.framing == Framing::ContentLength {
            return &self.body[written.min(self.body.len())..];
        }
        let full_frame = FULL_LINE.len() + CHUNK + 2;
        let full = self.body.len() / CHUNK;
        let index = (written / full_frame).min(full);
        let within = written - index * full_frame;
        let (line, data) = if index < full {
            (FULL_LINE, &self.body[index * CHUNK..(index + 1) * CHUNK])
        } else {
            (self.last_line.as_slice(), &self.body[full * CHUNK..])
        };
        let after: &[u8] = match (index < full, data.is_empty()) {
            (true, _) => b"\r\n",
            (false, false) => b"\r\n0\r\n\r\n",
            (false, true) => b"0\r\n\r\n",
        };
        if within < line.len() {
            &line[within..]
        } else if within < line.len() + data.len() {
            &data[within - line.len()..]
        } else {
            &after[(within - line.len() - data.len()).min(after.len())..]
        }
    }
}

/// Request line and headers, `Host` first unless given, without the framing header.
fn head_templates(spec: &RunSpec, asks_close: bool) -> Vec<Template> {
    let request = &spec.request;
    let text = |text: String| Template::literal(text);
    let mut head = vec![text(format!("{} ", request.method)), request.path.clone()];
    head.push(text(" HTTP/1.1\r\n".into()));
    if !has_header(request, "host") {
        head.push(text(format!("Host: {}\r\n", spec.target.authority)));
    }
    for (name, value) in &request.headers {
        head.push(text(format!("{name}: ")));
        head.push(value.clone());
        head.push(text("\r\n".into()));
    }
    if asks_close && !has_header(request, "connection") {
        head.push(text("Connection: close\r\n".into()));
    }
    head
}

/// The part of the body that goes with the head, and the part that is too large for it.
fn split_body(
    body: &Body,
    head: &mut Vec<Template>,
) -> (Option<(Template, Framing)>, Option<Tail>) {
    match body {
        Body::None => (None, None),
        Body::Template(template, framing) => (Some((template.clone(), *framing)), None),
        Body::Fixed(bytes, framing) if bytes.len() <= INLINE_BODY => {
            (Some((Template::literal(bytes.to_vec()), *framing)), None)
        }
        Body::Fixed(bytes, framing) => {
            head.push(Template::literal(match framing {
                Framing::ContentLength => format!("Content-Length: {}\r\n", bytes.len()),
                Framing::Chunked => "Transfer-Encoding: chunked\r\n".into(),
            }));
            (None, Some(Tail::new(bytes, *framing)))
        }
    }
}

/// All of it, when nothing changes from request to request.
fn fixed_bytes(head: &[Template], body: Option<&(Template, Framing)>) -> Option<Vec<u8>> {
    let fixed = head.iter().chain(body.map(|(body, _)| body)).all(|t| t.as_literal().is_some());
    fixed.then(|| {
        let whole = Expanded {
            before_length: head.to_vec(),
            fixed_end: if body.is_some() { Vec::new() } else { b"\r\n".to_vec() },
            body: body.cloned(),
        };
        let mut out = Vec::new();
        whole.expand(&mut Values::new(0, 0, 1), &mut out);
        out
    })
}

fn has_header(request: &RequestSpec, name: &str) -> bool {
    request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

fn header_has_token(request: &RequestSpec, name: &str, token: &[u8]) -> bool {
    request.headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name)).any(
        |(_, value)| {
            let value = value.as_literal().unwrap_or_default();
            value
                .split(|&byte| byte == b',')
                .any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
        },
    )
}

fn push_hex(value: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{value:x}\r\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
    use std::time::Duration;

    use super::*;
    use crate::engine::spec::{Addresses, Expectations, Pacing, Stop, Target};

    fn spec(headers: Vec<(&str, &str)>, body: Body) -> RunSpec {
        let headers = headers
            .into_iter()
            .map(|(name, value)| (name.to_string(), Template::parse(value).unwrap()))
            .collect();
        RunSpec {
            target: Target {
                url: "http://h:8000/p".into(),
                authority: "h:8000".into(),
                addresses: Addresses::Tcp(Vec::new()),
                tls: None,
            },
            request: RequestSpec {
                method: "POST".into(),
                path: Template::parse("/p?{seq}").unwrap(),
                headers,
                body,
            },
            connections: NonZeroU32::MIN,
            threads: NonZeroUsize::MIN,
            pacing: Pacing::Closed,
            stop: Stop::Requests(NonZeroU64::MIN),
            warmup: Duration::ZERO,
            ramp: Duration::ZERO,
            timeout: Duration::ZERO,
            connect_timeout: Duration::ZERO,
            drain: Duration::ZERO,
            keep_alive: true,
            expect: Expectations::default(),
            sampling: None,
            cpus: Vec::new(),
            seed: 1,
        }
    }

    /// Whole requests, written in steps of at most `step` bytes.
    fn written(plan: &RequestPlan, values: &mut Values, step: usize) -> Vec<u8> {
        let (mut expanded, mut all) = (Vec::new(), Vec::new());
        plan.expand(values, &mut expanded);
        loop {
            let bytes = plan.unwritten(&expanded, all.len() as u64);
            if bytes.is_empty() {
                return all;
            }
            all.extend_from_slice(&bytes[..bytes.len().min(step)]);
        }
    }

    fn text(plan: &RequestPlan, values: &mut Values) -> String {
        String::from_utf8(written(plan, values, usize::MAX)).unwrap()
    }

    #[test]
    fn a_request_that_never_changes_is_made_once() {
        let mut spec = spec(vec![("A", "b"), ("Empty", "")], Body::None);
        spec.request.path = Template::literal("/");
        let plan = RequestPlan::new(&spec);
        assert!(!plan.is_expanded());
        let expected = "POST / HTTP/1.1\r\nHost: h:8000\r\nA: b\r\nEmpty: \r\n\r\n";
        assert_eq!(text(&plan, &mut Values::new(1, 0, 1)), expected);
        spec.keep_alive = false;
        spec.request.headers = vec![("host".into(), Template::literal("other"))];
        let expected = "POST / HTTP/1.1\r\nhost: other\r\nConnection: close\r\n\r\n";
        let plan = RequestPlan::new(&spec);
        assert_eq!(text(&plan, &mut Values::new(1, 0, 1)), expected);
        assert!(plan.asks_close());
    }

    #[test]
    fn the_length_follows_the_expansion() {
        let body = Template::parse("{\"n\":{seq},\"é\":1}").unwrap();
        let plan = RequestPlan::new(&spec(vec![], Body::Template(body, Framing::ContentLength)));
        let mut values = Values::new(1, 0, 1);
        for n in 0..12 {
            let body = format!("{{\"n\":{n},\"é\":1}}");
            let expected = format!(
                "POST /p?{n} HTTP/1.1\r\nHost: h:8000\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            assert_eq!(text(&plan, &mut values), expected);
        }
    }

    #[test]
    fn small_bodies_are_framed_as_asked() {
        let body: Arc<[u8]> = b"a\0b"[..].into();
        let plan =
            RequestPlan::new(&spec(vec![], Body::Fixed(body.clone(), Framing::ContentLength)));
        let request = text(&plan, &mut Values::new(1, 0, 1));
        assert!(request.ends_with("Content-Length: 3\r\n\r\na\0b"), "{request}");
        let plan = RequestPlan::new(&spec(vec![], Body::Fixed(body, Framing::Chunked)));
        let request = text(&plan, &mut Values::new(1, 0, 1));
        assert!(request.ends_with("chunked\r\n\r\n3\r\na\0b\r\n0\r\n\r\n"), "{request}");
        let empty = Body::Fixed(Arc::default(), Framing::Chunked);
        let request = text(&RequestPlan::new(&spec(vec![], empty)), &mut Values::new(1, 0, 1));
        assert!(request.ends_with("chunked\r\n\r\n0\r\n\r\n"), "{request}");
    }

    #[test]
    fn large_bodies_are_whole_wherever_a_write_ends() {
        for length in [INLINE_BODY + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1, 300_000] {
            let data: Arc<[u8]> = (0..length).map(|at| at as u8).collect::<Vec<_>>().into();
            let sized = Body::Fixed(data.clone(), Framing::ContentLength);
            let plan = RequestPlan::new(&spec(vec![], sized));
            for step in [usize::MAX, 1000, 65_543] {
                let all = written(&plan, &mut Values::new(1, 0, 1), step);
                assert!(all.ends_with(&data));
                let head = String::from_utf8_lossy(&all[..all.len() - length]).into_owned();
                assert!(head.ends_with(&format!("Content-Length: {length}\r\n\r\n")), "{head}");
            }
            let plan = RequestPlan::new(&spec(vec![], Body::Fixed(data.clone(), Framing::Chunked)));
            for step in [usize::MAX, 1000, 65_543] {
                let all = written(&plan, &mut Values::new(1, 0, 1), step);
                assert_eq!(dechunked(&all), data.as_ref(), "{length} in steps of {step}");
            }
        }
    }

    fn dechunked(request: &[u8]) -> Vec<u8> {
        let line_end = |bytes: &[u8]| bytes.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let head = request.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
        let (mut rest, mut data) = (&request[head + 4..], Vec::new());
        loop {
            let end = line_end(rest);
            let size = usize::from_str_radix(str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
            rest = &rest[end + 2..];
            data.extend_from_slice(&rest[..size]);
            assert_eq!(&rest[size..size + 2], b"\r\n");
            rest = &rest[size + 2..];
            if size == 0 {
                assert!(rest.is_empty());
                return data;
            }
        }
    }
}
