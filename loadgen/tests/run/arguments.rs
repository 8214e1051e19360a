//! Arguments: what is refused, in one line, before anything is sent.

use crate::support::{Next, Server, loadgen, loadgen_raw, ok};

/// Runs with `args`, which must be refused; returns the line.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let mut all = vec!["run"];
    all.extend(args);
    let outcome = loadgen_raw(&all);
    assert_eq!(outcome.code, Some(2), "{args:?}: {outcome:#?}");
    assert_eq!(outcome.stdout, "", "{args:?}");
    let first = outcome.stderr.lines().next().unwrap_or("").to_owned();
    assert!(first.starts_with("error: "), "{args:?}: {outcome:#?}");
    first
}

#[test]
fn lg27_targets_are_sent_as_they_were_written() {
    for (given, target) in [
        ("", "/"),
        ("?a=1", "/?a=1"),
        ("/p?a=b#frag", "/p?a=b"),
        ("/münchen", "/m%C3%BCnchen"),
        ("/?family=A|B", "/?family=A|B"),
        ("/a b", "/a%20b"),
        ("/a/../b//c/.", "/a/../b//c/."),
    ] {
        let server = Server::canned(ok("ok"), Next::Keep);
        let outcome = loadgen(&["-n", "1", "-c", "1", &server.url(given)]);
        outcome.assert_all_right();
        assert_eq!(server.log()[0].target(), target, "{given}");
    }
}

#[test]
fn lg27_bad_urls_are_refused_in_one_line() {
    for (url, part) in [
        ("htt", "http://htt"),
        ("localhost:8000", "http://localhost:8000"),
        ("http://h:99999/", "99999"),
        ("http:///x", "no host"),
        ("ftp://h/", "not http or https"),
        ("http://h/\r\nX: y", "control character"),
    ] {
        assert!(refused(&[url]).contains(part), "{url}");
    }
    assert!(refused(&["http://does-not-exist.invalid/"]).contains("does-not-exist.invalid"));
}

#[test]
fn lg27_credentials_are_sent_as_curl_sends_them_and_not_shown() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let url = format!("http://Aladdin:open%20sesame@127.0.0.1:{}/", server.port());
    let outcome = loadgen(&["-n", "1", &url]);
    outcome.assert_all_right();
    let log = server.log();
    assert_eq!(log[0].header("authorization"), ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]);
    assert!(!outcome.stdout.contains("sesame"), "{outcome:#?}");
}

#[test]
fn lg26_what_cannot_be_a_header_is_refused() {
    let url = "http://127.0.0.1:1/";
    assert!(refused(&["-H", "NoColon", url]).contains("NoColon"));
    assert!(refused(&["-H", "A: b\r\nC: d", url]).contains('A'));
    assert!(refused(&["-H", "Content-Length: 3", url]).contains("Content-Length"));
    assert!(refused(&["-H", "Host: a", "-H", "host: b", url]).contains("Host"));
}

#[test]
fn lg35_files_are_checked_before_the_first_request() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let url = server.url("/");
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    for path in [dir.path(), &missing] {
        let path = path.to_str().unwrap();
        assert!(refused(&["-f", path, &url]).contains(path));
    }
    let (result, path) = (missing.join("result.json"), dir.path().to_str().unwrap());
    refused(&["-o", result.to_str().unwrap(), &url]);
    refused(&["-o", path, &url]);
    assert_eq!(server.connections(), 0);
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let url = "http://127.0.0.1:1/";
    for args in [
        &["-k"][..],
        &["--sni", "a.test"],
        &["--tls-version", "1.3"],
        &["--cacert", "/dev/null"],
        &["--cert", "/dev/null", "--key", "/dev/null"],
        &["--chunked"],
        &["--seed", "1"],
        &["-b", "x", "-f", "y"],
        &["-t", "3", "-c", "2"],
        &["--cpus", "0-4000"],
        &["--rate", "0"],
        &["--rate", "-1"],
        &["--rate", "nan"],
        &["-d", "10x"],
        &["-m", "GE T"],
        &["-m", "CONNECT"],
        &["--expect-status", "20"],
        &["--expect-body-sha256", "abc"],
        &["--expect-header", "a b"],
        &["--pipeline", "2"],
        &["-H", "X: {rand:x}"],
    ] {
        let mut all = args.to_vec();
        all.push(url);
        refused(&all);
    }
    refused(&["--sni", "127.0.0.1", "https://127.0.0.1:1/"]);
    refused(&["--cacert", "/does/not/exist", "https://127.0.0.1:1/"]);
    refused(&["--cert", "/dev/null", "https://127.0.0.1:1/"]);
    refused(&[]);
}

#[test]
fn the_help_states_defaults_exit_status_and_why_there_is_no_pipelining() {
    let outcome = loadgen_raw(&["run", "--help"]);
    assert_eq!(outcome.code, Some(0));
    for part in ["[default: 50]", "[default: 10s]", "--pipeline", "Exit status", "{rand:N}"] {
        assert!(outcome.stdout.contains(part), "{part}");
    }
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 100), "fits a terminal");
    assert_eq!(loadgen_raw(&["run", "-h"]).stdout, outcome.stdout);
}
