//! Requests: what goes on the wire, byte for byte, and what a right response is.

use std::collections::HashSet;
use std::process::Command;

use crate::support::{Next, Request, Server, loadgen, ok, start, write};

fn echo_nothing() -> Server {
    Server::canned(ok("ok"), Next::Keep)
}

/// The first request of a run with these arguments.
#[track_caller]
fn sent(args: &[&str]) -> Request {
    let server = echo_nothing();
    let url = server.url("/");
    let mut all = vec!["-n", "1", "-c", "1", &url];
    all.extend(args);
    loadgen(&all).assert_all_right();
    server.log().remove(0)
}

#[test]
fn lg26_headers_are_sent_as_given() {
    let request = sent(&[
        "-H",
        "foo:bar",
        "-H",
        "Referer:http://a:8080/x",
        "-H",
        "Empty:",
        "-H",
        "twice: 1",
        "-H",
        "twice: 2",
    ]);
    assert_eq!(request.header("foo"), ["bar"]);
    assert_eq!(request.header("referer"), ["http://a:8080/x"]);
    assert_eq!(request.header("empty"), [""]);
    assert_eq!(request.header("twice"), ["1", "2"]);
}

#[test]
fn lg26_there_is_one_host_whatever_its_case() {
    let server = echo_nothing();
    loadgen(&["-n", "1", &server.url("/")]).assert_all_right();
    assert_eq!(server.log()[0].header("host"), [format!("127.0.0.1:{}", server.port())]);
    for given in ["host: other.test", "HOST: other.test", "Host:other.test"] {
        assert_eq!(sent(&["-H", given]).header("host"), ["other.test"]);
    }
}

#[test]
fn nothing_is_sent_that_was_not_asked_for() {
    let request = sent(&[]);
    let version = env!("CARGO_PKG_VERSION");
    let lines: HashSet<&str> = request.head.trim_end().split("\r\n").collect();
    assert!(lines.contains("GET / HTTP/1.1"));
    assert!(lines.contains(&*format!("User-Agent: loadgen/{version}")));
    assert_eq!(lines.len(), 3, "request line, Host, User-Agent: {lines:?}");
    assert_eq!(sent(&["-H", "user-agent: x"]).header("user-agent"), ["x"]);
}

#[test]
fn the_method_is_post_with_a_body_unless_given() {
    assert!(sent(&["-b", "x"]).head.starts_with("POST / "));
    assert!(sent(&["-b", "x", "-m", "PUT"]).head.starts_with("PUT / "));
    let request = sent(&["-m", "POST"]);
    assert_eq!(request.header("content-length"), ["0"]);
    assert!(sent(&["-m", "GET"]).header("content-length").is_empty());
}

#[test]
fn lg35_bodies_are_sent_unchanged_with_their_length_in_bytes() {
    let request = sent(&["-b", "{\"test\":\"é\"}"]);
    assert_eq!(request.header("content-length"), ["13"]);
    assert_eq!(request.body, "{\"test\":\"é\"}".as_bytes());
    assert!(request.header("transfer-encoding").is_empty());
    let file = tempfile::NamedTempFile::new().unwrap();
    for bytes in [&b""[..], b"ends in a newline\n", b"\0\xff\r\n\r\n\0 {uuid}"] {
        std::fs::write(file.path(), bytes).unwrap();
        for chunked in [false, true] {
            let mut args = vec!["-f", file.path().to_str().unwrap()];
            args.extend(chunked.then_some("--chunked"));
            let request = sent(&args);
            assert_eq!(request.body, bytes);
            assert_eq!(request.header("content-length").is_empty(), chunked);
            assert_eq!(request.header("transfer-encoding").is_empty(), !chunked);
        }
    }
}

#[test]
fn lg35_a_body_may_come_from_standard_input() {
    let server = echo_nothing();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.args(["run", "-n", "3", "-c", "2", "-f", "-", &server.url("/")]);
    let outcome = start(&mut command, b"from standard input\n").wait();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(server.log().iter().all(|request| request.body == b"from standard input\n"));
    assert_eq!(server.requests(), 3);
}

#[test]
fn placeholders_make_every_request_different_and_keep_the_framing() {
    let server = echo_nothing();
    let mut url = server.url("/");
    url.push_str("{seq}?q={rand:9}");
    let outcome = loadgen(&[
        "-n",
        "300",
        "-c",
        "7",
        "-b",
        "{\"id\":\"{uuid}\",\"n\":{seq}}",
        "-H",
        "X-Id: a{rand:5}b",
        &url,
    ]);
    outcome.assert_all_right();
    assert!(outcome.get("seed").is_u64());
    let log = server.log();
    let distinct = |value: fn(&Request) -> String| log.iter().map(value).collect::<HashSet<_>>();
    assert_eq!(distinct(|request| request.target().to_owned()).len(), 300);
    assert_eq!(distinct(|request| request.header("x-id")[0].to_owned()).len(), 300);
    assert_eq!(distinct(|request| format!("{:?}", request.body)).len(), 300);
    let numbers: HashSet<u64> = log
        .iter()
        .map(|request| {
            let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(body["id"].as_str().map(str::len), Some(36));
            body["n"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(numbers.len(), 300, "each number once");
}

#[test]
fn a_seed_repeats_the_placeholders() {
    let values = |seed: &str| {
        let server = echo_nothing();
        let url = server.url("/{rand:20}{uuid}");
        loadgen(&["-n", "50", "-c", "1", "--seed", seed, &url]).assert_all_right();
        server.log().iter().map(|request| request.target().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values("7"), values("7"));
    assert_ne!(values("7"), values("8"));
}

#[test]
fn a_response_that_is_not_as_expected_is_an_error_of_its_own_kind() {
    let right = "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df"; // "ok"
    let wrong = right.replace('2', "3");
    for (args, kind) in [
        (["--expect-status", "404"], "status"),
        (["--expect-length", "3"], "length"),
        (["--expect-header", "ETag"], "header"),
        (["--expect-header", "X-A: c"], "header"),
        (["--expect-body-sha256", &*wrong], "body"),
    ] {
        let answer = b"HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok".to_vec();
        let server = Server::canned(answer, Next::Keep);
        let url = server.url("/");
        let outcome = loadgen(&["-n", "20", "-c", "2", args[0], args[1], &url]);
        assert_eq!(outcome.code, Some(3), "{args:?}");
        assert_eq!(outcome.errors(kind), 20, "{args:?}: {outcome:#?}");
        assert_eq!((server.requests(), server.connections()), (20, 2), "{args:?}");
    }
    let answer = b"HTTP/1.1 200 OK\r\nx-a:  b \r\nContent-Length: 2\r\n\r\nok".to_vec();
    let server = Server::canned(answer, Next::Keep);
    loadgen(&[
        "-n",
        "20",
        "-c",
        "2",
        "--expect-status",
        "200,201",
        "--expect-length",
        "2",
        "--expect-header",
        "X-A: b",
        "--expect-header",
        "Content-Length",
        "--expect-body-sha256",
        right,
        &server.url("/"),
    ])
    .assert_all_right();
}

#[test]
fn some_wrong_responses_make_exit_status_1() {
    let server = Server::start(|request, conn| {
        write(conn, &ok(if request.number == 3 { "bad!" } else { "ok" }), Next::Keep)
    });
    let outcome = loadgen(&["-n", "10", "-c", "1", "--expect-length", "2", &server.url("/")]);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(outcome.count("requests.completed"), 9);
    assert!(outcome.example("length").contains('4'), "{outcome:#?}");
}

#[test]
fn a_unix_socket_is_an_address_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let server = Server::unix(&path, ok("ok"));
    let path = path.to_str().unwrap();
    let outcome = loadgen(&["-n", "100", "-c", "3", "--unix", path, "http://name.test/x?y"]);
    outcome.assert_all_right();
    assert_eq!((server.requests(), server.connections()), (100, 3));
    assert_eq!(server.log()[0].header("host"), ["name.test"]);
    assert_eq!(server.log()[0].target(), "/x?y");
    assert!(outcome.get("address").as_str().unwrap().contains(path), "{outcome:#?}");
}

#[test]
fn lg29_all_addresses_of_a_name_are_tried() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let server = Server::bind(address, None, |_, conn| write(conn, &ok("ok"), Next::Keep));
        // A machine without IPv6 has no second half of this test.
        let Ok(server) = server else { continue };
        let url = format!("http://localhost:{}/", server.port());
        if address.starts_with('[') && !localhost_is_also_ipv6(server.port()) {
            continue;
        }
        let outcome = loadgen(&["-n", "50", "-c", "5", &url]);
        outcome.assert_all_right();
        assert_eq!((server.requests(), server.connections()), (50, 5));
        let expected = server.url("").replace("http://", "");
        assert_eq!(outcome.get("address").as_str(), Some(&*expected));
    }
}

fn localhost_is_also_ipv6(port: u16) -> bool {
    use std::net::ToSocketAddrs;
    ("localhost", port).to_socket_addrs().is_ok_and(|mut all| all.any(|a| a.is_ipv6()))
}

#[test]
fn an_ipv6_literal_is_an_address() {
    let server = Server::bind("[::1]:0", None, |_, conn| write(conn, &ok("ok"), Next::Keep));
    let Ok(server) = server else { return };
    let outcome = loadgen(&["-n", "5", "-c", "1", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(server.log()[0].header("host"), [format!("[::1]:{}", server.port())]);
}
