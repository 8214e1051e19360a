//! Tests of the response parser: every split of every fixture, and httparse as a second opinion.

use proptest::prelude::*;

use super::head::{self, Framing};
use super::*;

/// What a response came to: status, body, whether the connection may be used again, bytes used.
type Outcome = Result<(u16, Vec<u8>, bool, usize), String>;

#[derive(Default)]
struct Collect {
    heads: usize,
    body: Vec<u8>,
}

impl Sink for Collect {
    fn head(&mut self, head: &[u8]) {
        assert!(head.starts_with(b"HTTP/1."));
        self.heads += 1;
    }
    fn body(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

/// Feeds `bytes` in pieces that end at `cuts`; then the connection closes.
fn feed(parser: &mut ResponseParser, bytes: &[u8], cuts: &[usize]) -> Outcome {
    parser.start();
    let mut sink = Collect::default();
    let mut from = 0;
    for &to in cuts.iter().chain([&bytes.len()]) {
        if to <= from || to > bytes.len() {
            continue;
        }
        let progress = parser.advance(&bytes[from..to], &mut sink);
        match progress.map_err(|error| error.to_string())? {
            Progress::Complete(used) => {
                assert_eq!(sink.heads, 1);
                assert_eq!(sink.body.len() as u64, parser.body_len());
                return Ok((parser.status(), sink.body, parser.keep_alive(), from + used));
            }
            Progress::Partial => from = to,
        }
    }
    match parser.end_of_input() {
        AtEnd::Complete => Ok((parser.status(), sink.body, parser.keep_alive(), from)),
        other => Err(format!("{other:?}")),
    }
}

fn whole(bytes: &[u8]) -> Outcome {
    feed(&mut ResponseParser::new(false), bytes, &[])
}

/// The same for all splits in two and three, and byte by byte.
fn all_splits(bytes: &[u8], answers_head: bool) -> Outcome {
    let mut parser = ResponseParser::new(answers_head);
    let expected = feed(&mut parser, bytes, &[]);
    for a in 0..=bytes.len() {
        assert_eq!(feed(&mut parser, bytes, &[a]), expected, "cut at {a}");
        for b in a..=bytes.len() {
            assert_eq!(feed(&mut parser, bytes, &[a, b]), expected, "cut at {a} and {b}");
        }
    }
    let each: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(feed(&mut parser, bytes, &each), expected, "byte by byte");
    expected
}

fn right(bytes: &str, status: u16, body: &str, keep_alive: bool) {
    let used = bytes.len();
    let outcome = all_splits(bytes.as_bytes(), false);
    assert_eq!(outcome, Ok((status, body.as_bytes().to_vec(), keep_alive, used)), "{bytes:?}");
}

fn wrong(bytes: &str, what: &str) {
    let error = all_splits_error(bytes.as_bytes());
    assert!(error.contains(what), "{bytes:?}: {error:?} does not say {what:?}");
}

/// Errors may show more or fewer of the bytes, depending on the split, but are errors always.
fn all_splits_error(bytes: &[u8]) -> String {
    let mut parser = ResponseParser::new(false);
    for a in 0..=bytes.len() {
        assert!(feed(&mut parser, bytes, &[a]).is_err(), "cut at {a}");
    }
    feed(&mut parser, bytes, &[]).unwrap_err()
}

#[test]
fn plain_responses() {
    right("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    right("HTTP/1.1 200 OK\r\ncontent-length:2\r\nConnection: Close\r\n\r\nok", 200, "ok", false);
    right("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, "ok", true);
    right("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", true);
    right("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false);
    let kept = "HTTP/1.0 200 OK\r\nConnection: x, Keep-Alive\r\nContent-Length: 2\r\n\r\nok";
    right(kept, 200, "ok", true);
    right("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
}

#[test]
fn a_missing_reason_phrase_is_fine() {
    right("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    right("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
}

#[test]
fn informational_responses_are_not_results() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    right(early, 200, "ok", true);
    let twice = "HTTP/1.1 100 Continue\r\n\r\n";
    right(&format!("{twice}{twice}HTTP/1.1 204 No\r\n\r\n"), 204, "", true);
    wrong(&twice.repeat(101), "more than 100 informational");
    wrong("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101");
}

#[test]
fn some_responses_have_no_body_whatever_they_say() {
    right("HTTP/1.1 204 No Content\r\nContent-Length: 138\r\n\r\n", 204, "", true);
    right("HTTP/1.1 304 Not Modified\r\nContent-Length: 512\r\n\r\n", 304, "", true);
    for framing in ["Content-Length: 1192", "Transfer-Encoding: chunked"] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        assert_eq!(all_splits(bytes.as_bytes(), true), Ok((200, vec![], true, bytes.len())));
    }
}

#[test]
fn bodies_that_end_with_the_connection() {
    right("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", 200, "hello", false);
    right("HTTP/1.0 200 OK\r\n\r\nhello", 200, "hello", false);
    right("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", 200, "hello", false);
}

#[test]
fn chunked_bodies() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = |body: &str| format!("{HEAD}{body}");
    right(&chunked("5;a=b\r\nhello\r\n0\r\nETag: \"x\"\r\n\r\n"), 200, "hello", true);
    right(
        &chunked("5 ;a=\"b c\"\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n"),
        200,
        "hello0123456789",
        true,
    );
    right(&chunked("0\r\n\r\n"), 200, "", true);
    let twice = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    right(twice, 200, "ok", true);
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    right(both, 200, "ok", false);
    wrong(&chunked("x\r\n"), "no chunk size");
    wrong(&chunked("\r\n"), "no chunk size");
    wrong(&chunked("-1\r\n"), "no chunk size");
    wrong(&chunked("2\r\nokk\r\n"), "longer than its size");
    wrong(&chunked("2\rok"), "no LF");
    wrong(&chunked("2\nok"), "no chunk size");
    wrong(&chunked("11111111111111111\r\n"), "over 16 digits");
    wrong(&chunked("2\r\no"), "received: 1");
    wrong(&chunked("ffffffffffffffff\r\nabc"), "received: 3");
    let mut parser = ResponseParser::new(false);
    let extension = chunked(&format!("1;{}", "x".repeat(5000)));
    assert!(feed(&mut parser, extension.as_bytes(), &[]).unwrap_err().contains("extension"));
    let trailer = chunked(&format!("0\r\n{}", "a: b\r\n".repeat(20_000)));
    assert!(feed(&mut parser, trailer.as_bytes(), &[]).unwrap_err().contains("trailer"));
}

#[test]
fn repeated_framing_headers() {
    right("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true);
    right("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", 200, "ok", true);
    let different = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nok";
    wrong(different, "two different Content-Length headers: 2 and 5");
}

#[test]
fn lengths_that_are_no_lengths() {
    for length in ["", "-1", "+1", "0x10", "1 2", "99999999999999999999", "2;", "a"] {
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nok");
        wrong(&bytes, "Content-Length");
    }
}

#[test]
fn what_is_not_http() {
    for junk in [
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 099 X\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n",
        "\0\0\0",
        "\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "<html>",
    ] {
        wrong(junk, "not an HTTP/1.x status line");
    }
    for line in ["NoColon", ": v", "a b: c", "a : c", "\u{e9}: c"] {
        wrong(&format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n"), "not a header line");
    }
    wrong("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 5\r\n\r\nok", "folded framing header");
    for value in ["a\0b", "a\rb", "a\x7fb", "\x1b[0m"] {
        wrong(&format!("HTTP/1.1 200 OK\r\nX: {value}\r\n\r\n"), "control character");
    }
}

#[test]
fn endless_heads_end() {
    let mut parser = ResponseParser::new(false);
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(257));
    assert!(feed(&mut parser, many.as_bytes(), &[]).unwrap_err().contains("256"));
    let long = format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "x".repeat(70_000));
    for cut in [0, 10, 40_000, 69_999] {
        let error = feed(&mut parser, long.as_bytes(), &[cut]).unwrap_err();
        assert!(error.contains("over 65536 bytes"), "cut at {cut}: {error}");
    }
    let endless = vec![b'x'; 70_000];
    let error = feed(&mut parser, &[b"HTTP/1.1 200 ", &endless[..]].concat(), &[]).unwrap_err();
    assert!(error.contains("over 65536 bytes"), "{error}");
}

#[test]
fn what_an_end_means() {
    wrong("", "Nothing");
    wrong("HTTP/1.1 200 OK\r\nContent-", "InHead");
    wrong("HTTP/1.1 100 Continue\r\n\r\n", "InHead");
    let truncated = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
    wrong(truncated, "InBody { received: 3, expected: Some(5) }");
}

#[test]
fn bytes_after_a_response_are_left_over() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let (_, body, _, used) = whole(format!("{response}HTTP").as_bytes()).unwrap();
    assert_eq!((body.as_slice(), used), (&b"ok"[..], response.len()));
}

/// A response that may be right, from parts that are often wrong.
fn near_response() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        8 => Just("HTTP/1.1 200 OK\r\n"), 1 => Just("HTTP/1.0 404 Not Found\r\n"), 1 => Just("HTTP/1.1 204\r\n"),
        1 => Just("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), 1 => Just("HTTP/1.1 \r\n"), 1 => Just("\r\n"),
    ];
    let header = prop_oneof![
        Just("Content-Length: 3\r\n"),
        Just("content-length: 3, 3\r\n"),
        Just("Content-Length: x\r\n"),
        Just("Transfer-Encoding: chunked\r\n"),
        Just("Connection: close\r\n"),
        Just("X-A: b\r\n"),
        Just("Date: today\n"),
        Just(" folded\r\n"),
        Just("bad\r\n"),
        Just("A:\r\n"),
        Just("E: \u{e9}\r\n"),
    ];
    let body = prop_oneof![
        Just("abc"),
        Just("3\r\nabc\r\n0\r\n\r\n"),
        Just("3;x\r\nabc\r\n0\r\nt: u\r\n\r\n"),
        Just("0\r\n\r\n"),
        Just(""),
    ];
    (start, proptest::collection::vec(header, 0..5), body, any::<Option<(u8, u8)>>()).prop_map(
        |(start, headers, body, flip)| {
            let mut bytes = format!("{start}{}\r\n{body}", headers.concat()).into_bytes();
            if let Some((at, to)) = flip {
                let at = usize::from(at) % bytes.len();
                bytes[at] = to;
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(bytes in near_response(), cuts in proptest::collection::vec(0_usize..200, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut < bytes.len()).collect();
        cuts.sort_unstable();
        let expected = whole(&bytes);
        let split = feed(&mut ResponseParser::new(false), &bytes, &cuts);
        match (&expected, &split) {
            (Ok(expected), Ok(split)) => prop_assert_eq!(expected, split),
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{:?} against {:?}", expected, split),
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0_usize..300) {
        let _ = feed(&mut ResponseParser::new(false), &bytes, &[cut.min(bytes.len())]);
        let chunked = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &bytes[..]].concat();
        let _ = feed(&mut ResponseParser::new(false), &chunked, &[cut]);
    }

    /// Where httparse accepts a head, so does this parser unless the framing is at fault, and
    /// with the same status and length; where this one accepts, httparse does.
    #[test]
    fn httparse_agrees_on_heads(bytes in near_response()) {
        let mut headers = [httparse::EMPTY_HEADER; 300];
        let mut response = httparse::Response::new(&mut headers);
        let theirs = response.parse(&bytes);
        let ours = head::parse(&bytes, false);
        match (ours, theirs) {
            (Ok(Some((head, length))), Ok(httparse::Status::Complete(their_length))) => {
                prop_assert_eq!(length, their_length);
                prop_assert_eq!(Some(head.status), response.code);
                check_framing(head.framing, head.status, response.headers)?;
            }
            (Ok(Some(_)), Err(httparse::Error::HeaderName)) => {
                prop_assert!(bytes.windows(2).any(|pair| matches!(pair, b"\n " | b"\n\t")), "only folding");
            }
            // A higher minor version is read as the highest known one (RFC 9110 section 2.5).
            (Ok(Some(_)), Err(httparse::Error::Version)) => {
                prop_assert!((b'2'..=b'9').contains(&bytes[7]) || bytes.starts_with(b"HTTP/1.1 100"));
            }
            (Ok(Some((head, _))), theirs) => {
                prop_assert!(false, "{:?} against {:?}", head, theirs);
            }
            // Framing at fault, which httparse does not judge, or both refuse, or both want more, or
            // this one is earlier about what can never become a response.
            (
                Err(
                    ParseError::ContentLength(_)
                    | ParseError::ContentLengths(..)
                    | ParseError::SwitchingProtocols
                    | ParseError::Folded(_),
                ),
                _,
            )
            | (Err(_) | Ok(None), Err(_) | Ok(httparse::Status::Partial)) => {}
            (Err(ParseError::StatusLine(_)), Ok(_)) => {
                let blank_first = bytes.starts_with(b"\r\n") || bytes.starts_with(b"\n");
                prop_assert!(blank_first || response.code < Some(100));
            }
            (ours, theirs) => prop_assert!(false, "{:?} against {:?}", ours, theirs),
        }
    }
}

fn check_framing(
    framing: Framing,
    status: u16,
    headers: &[httparse::Header<'_>],
) -> Result<(), TestCaseError> {
    let has = |name: &str| headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    let chunked = headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("transfer-encoding")
            && header.value.eq_ignore_ascii_case(b"chunked")
    });
    let expected = match framing {
        Framing::None => status < 200 || status == 204 || status == 304,
        Framing::Chunked => chunked,
        Framing::Length(_) => has("content-length") && !has("transfer-encoding"),
        Framing::UntilClose => !chunked && !has("content-length") || has("transfer-encoding"),
    };
    prop_assert!(expected, "{:?}", framing);
    Ok(())
}
