//! Responses: where each one ends, and which of them are errors.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::support::{Next, Outcome, Server, fixture, loadgen, ok, write};

/// Requests sent where a connection is used again and again.
const MANY: u64 = 2000;

/// Loads a keep-alive server of these bytes over one connection; all must be right.
fn all_right_on_one_connection(bytes: Vec<u8>, args: &[&str]) -> Outcome {
    let server = Server::canned(bytes, Next::Keep);
    let url = server.url("/");
    let many = MANY.to_string();
    let mut all = vec!["-c", "1", "-n", &many, &url];
    all.extend(args);
    let outcome = loadgen(&all);
    outcome.assert_all_right();
    assert_eq!(outcome.count("requests.completed"), MANY);
    assert_eq!(server.requests(), MANY, "one result per request");
    assert_eq!(server.connections(), 1, "the connection is used again");
    outcome
}

/// Sends `n` requests over one connection at a time; all must fail with `kind`.
fn all_fail(bytes: Vec<u8>, next: Next, kind: &str) -> Outcome {
    let server = Server::canned(bytes, next);
    let outcome = loadgen(&["-c", "1", "-n", "5", "--timeout", "20s", &server.url("/")]);
    assert_eq!(outcome.count("requests.failed"), 5, "{outcome:#?}");
    assert_eq!(outcome.errors(kind), 5, "{outcome:#?}");
    assert_eq!(server.requests(), 5, "one error per request, and no silent retry");
    assert!(outcome.get("service_time_us.p50").is_null(), "failures are not in the latency");
    assert_eq!(outcome.count("failed_time_us.count"), 5);
    outcome
}

#[test]
fn lg01_informational_responses_are_not_results() {
    for name in ["early.raw", "cont2.raw"] {
        let outcome = all_right_on_one_connection(fixture(name), &[]);
        assert_eq!(outcome.count("status.200"), MANY, "{name}");
        assert_eq!(outcome.get("status").as_object().unwrap().len(), 1, "{name}");
        assert_eq!(outcome.count("bytes.received_body"), 2 * MANY);
    }
}

#[test]
fn lg01_latency_runs_to_the_end_of_the_final_response() {
    let server = Server::start(|_, conn| {
        write(conn, b"HTTP/1.1 103 Early Hints\r\n\r\n", Next::Keep);
        std::thread::sleep(Duration::from_millis(30));
        write(conn, &ok("ok"), Next::Keep)
    });
    let outcome = loadgen(&["-c", "1", "-n", "3", &server.url("/")]);
    outcome.assert_all_right();
    assert!(outcome.number("service_time_us.min") >= 30_000.0, "{outcome:#?}");
}

#[test]
fn lg02_no_body_follows_204_and_304_whatever_their_length_says() {
    for (name, status) in [("n204.raw", "204"), ("n304.raw", "304")] {
        let outcome = all_right_on_one_connection(fixture(name), &[]);
        assert_eq!(outcome.count(&format!("status.{status}")), MANY);
        assert_eq!(outcome.count("bytes.received_body"), 0);
    }
}

#[test]
fn lg03_no_body_follows_the_answer_to_head() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for bytes in [fixture("head.raw"), chunked] {
        let outcome = all_right_on_one_connection(bytes, &["-m", "HEAD"]);
        assert_eq!(outcome.count("bytes.received_body"), 0);
    }
}

#[test]
fn lg05_a_body_may_end_with_the_connection() {
    let old = b"HTTP/1.0 200 OK\r\n\r\nhello".to_vec();
    for bytes in [fixture("eof.raw"), old] {
        let server = Server::canned(bytes, Next::Close);
        let outcome = loadgen(&["-c", "2", "-n", "100", &server.url("/")]);
        outcome.assert_all_right();
        assert_eq!(outcome.count("bytes.received_body"), 500);
        assert_eq!((server.requests(), server.connections()), (100, 100));
        assert_eq!(outcome.count("connects.established"), 100);
    }
}

#[test]
fn lg05_latency_of_such_a_body_ends_at_its_end() {
    let server = Server::start(|_, conn| {
        write(conn, &fixture("eof.raw"), Next::Close);
        std::thread::sleep(Duration::from_millis(30));
        Next::Close
    });
    let outcome = loadgen(&["-c", "1", "-n", "3", &server.url("/")]);
    outcome.assert_all_right();
    assert!(outcome.number("service_time_us.min") >= 30_000.0, "{outcome:#?}");
}

#[test]
fn lg07_a_truncated_body_is_an_error_that_says_how_much_came() {
    let outcome = all_fail(fixture("trunc.raw"), Next::Close, "truncated");
    assert!(outcome.example("truncated").contains("3 of 5 bytes"), "{outcome:#?}");
    let head = b"HTTP/1.1 200 OK\r\nContent-Le".to_vec();
    all_fail(head, Next::Close, "truncated");
    let chunk =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n".to_vec();
    all_fail(chunk, Next::Close, "truncated");
}

#[test]
fn a_connection_closed_or_reset_before_the_response_is_an_error_of_its_own() {
    all_fail(Vec::new(), Next::Close, "closed_before_response");
    all_fail(Vec::new(), Next::Reset, "reset");
}

#[test]
fn lg08_extensions_and_trailers_end_where_they_should() {
    let outcome = all_right_on_one_connection(fixture("trail.raw"), &[]);
    assert_eq!(outcome.count("bytes.received_body"), 5 * MANY);
    let outcome = all_right_on_one_connection(fixture("te2.raw"), &[]);
    assert_eq!(outcome.count("bytes.received_body"), 5 * MANY);
}

/// Reads a request without a body.
fn read_request(stream: &mut TcpStream) {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the client left");
        head.extend_from_slice(&buffer[..count]);
    }
}

/// Answers one request after the other with `responses`, each in pieces that are read one by one; returns
/// the result and how many body bytes it has of them.
///
/// Between two pieces a whole exchange takes place on a second connection of the same worker. It reads
/// what has come, in the order it came, before it sends: with that request it has read the piece.
#[track_caller]
fn loadgen_on_pieces(responses: Vec<Vec<Vec<u8>>>) -> (Outcome, u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let count = responses.len() as u64;
    let between: u64 = responses.iter().map(|pieces| pieces.len() as u64 - 1).sum();
    let server = std::thread::spawn(move || {
        let [mut split, mut other] = [(), ()].map(|()| {
            let (stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            stream
        });
        read_request(&mut other);
        for response in responses {
            read_request(&mut split);
            for (number, piece) in response.iter().enumerate() {
                if number > 0 {
                    other.write_all(&ok("ok")).unwrap();
                    read_request(&mut other);
                }
                split.write_all(piece).unwrap();
            }
        }
        other.write_all(&ok("ok")).unwrap();
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "no third connection");
    });
    let all = (count + between + 1).to_string();
    let outcome = loadgen(&["-c", "2", "-t", "1", "-n", &all, &url]);
    outcome.assert_all_right();
    server.join().unwrap();
    let body = outcome.count("bytes.received_body") - 2 * (between + 1);
    (outcome, body)
}

#[test]
fn lg08_every_split_of_every_fixture_is_the_same_response() {
    for (name, body) in [
        ("trail.raw", 5),
        ("te2.raw", 5),
        ("early.raw", 2),
        ("cont2.raw", 2),
        ("noreason.raw", 2),
        ("dupsame.raw", 2),
    ] {
        let bytes = fixture(name);
        let halves = |at| vec![bytes[..at].to_vec(), bytes[at..].to_vec()];
        let splits = bytes.len() as u64 - 1;
        let (outcome, bodies) = loadgen_on_pieces((1..bytes.len()).map(halves).collect());
        assert_eq!(bodies, splits * body, "{name}");
        assert_eq!(outcome.count("requests.completed"), 2 * splits + 1, "{name}");
    }
}

#[test]
fn lg08_bytes_may_come_one_at_a_time() {
    for (name, body) in [("trail.raw", 5), ("early.raw", 2), ("n204.raw", 0)] {
        let bytes: Vec<Vec<u8>> = fixture(name).iter().map(|byte| vec![*byte]).collect();
        let (_, bodies) = loadgen_on_pieces(vec![bytes; 8]);
        assert_eq!(bodies, 8 * body, "{name}");
    }
}

#[test]
fn lg10_a_status_line_needs_no_reason() {
    all_right_on_one_connection(fixture("noreason.raw"), &[]);
    let with_space = b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok".to_vec();
    all_right_on_one_connection(with_space, &[]);
}

#[test]
fn lg10_junk_is_one_error_per_request_and_shown() {
    let outcome = all_fail(b"HTTP/1.1 abc\r\n\r\n".to_vec(), Next::Keep, "bad_response");
    assert!(outcome.example("bad_response").contains("HTTP/1.1 abc"), "{outcome:#?}");
    all_fail(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec(), Next::Keep, "bad_response");
}

#[test]
fn lg11_repeated_framing_headers() {
    all_right_on_one_connection(fixture("dupsame.raw"), &[]);
    let outcome = all_fail(fixture("dupdiff.raw"), Next::Keep, "bad_response");
    let example = outcome.example("bad_response").to_ascii_lowercase();
    assert!(example.contains("content-length"), "{outcome:#?}");
}

#[test]
fn lengths_that_overflow_and_hostile_chunks_are_errors() {
    for framing in [
        "Content-Length: 18446744073709551616\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 0x10\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
        "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nokNO",
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{framing}").into_bytes();
        all_fail(bytes, Next::Keep, "bad_response");
    }
}

#[test]
fn a_head_without_end_is_an_error_within_the_limit() {
    let server = Server::start(|_, conn| {
        write(conn, b"HTTP/1.1 200 OK\r\n", Next::Keep);
        while write(conn, &b"X-Endless: header\r\n".repeat(100), Next::Keep) == Next::Keep {}
        Next::Close
    });
    let outcome = loadgen(&["-c", "1", "-n", "2", "--timeout", "20s", &server.url("/")]);
    assert_eq!(outcome.errors("bad_response"), 2, "{outcome:#?}");
    assert!(outcome.count("bytes.received") < 4 << 20, "{outcome:#?}");
}

#[test]
fn bytes_after_a_response_are_an_error_and_no_result() {
    let mut bytes = ok("ok");
    bytes.extend_from_slice(b"extra");
    let server = Server::canned(bytes, Next::Keep);
    let outcome = loadgen(&["-c", "1", "-n", "20", &server.url("/")]);
    assert!(outcome.errors("bad_response") > 0, "{outcome:#?}");
    assert_eq!(server.requests(), 20);
}

#[test]
fn large_bodies_are_counted_to_the_byte() {
    let body = "x".repeat(3_000_000);
    let chunk = format!("2dc6c0\r\n{body}\r\n0\r\n\r\n");
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    for bytes in [ok(&body), chunked.into_bytes()] {
        let server = Server::canned(bytes.clone(), Next::Keep);
        let outcome = loadgen(&["-c", "3", "-n", "30", &server.url("/")]);
        outcome.assert_all_right();
        assert_eq!(outcome.count("bytes.received_body"), 30 * 3_000_000);
        assert_eq!(outcome.count("bytes.received"), 30 * bytes.len() as u64);
    }
}

#[test]
fn an_announced_close_is_followed_by_a_new_connection() {
    let bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let server = Server::canned(bytes, Next::Close);
    let outcome = loadgen(&["-c", "3", "-n", "60", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!((server.requests(), server.connections()), (60, 60));
}

#[test]
fn an_early_answer_to_an_upload_is_a_result_and_not_a_reset() {
    // Answers from the head alone, and closes; the body is never read.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 1024];
            let _ = std::io::Read::read(&mut stream, &mut head);
            let answer =
                b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            write(&mut stream, answer, Next::Keep);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // A polite server reads on, so that its answer is not lost to a reset.
            let mut sink = [0; 65536];
            while std::io::Read::read(&mut stream, &mut sink).is_ok_and(|n| n > 0) {}
        }
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 20 << 20]).unwrap();
    let path = file.path().to_str().unwrap();
    let outcome = loadgen(&["-c", "1", "-n", "3", "-f", path, "--expect-status", "413", &url]);
    outcome.assert_all_right();
    assert_eq!(outcome.count("status.413"), 3);
}
