//! Ctrl-C, pipes and terminals.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Next, Server, check, loadgen_raw, ok, spawn, start, until};

#[test]
fn lg36_the_first_signal_ends_the_run_and_keeps_what_was_measured() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::canned(ok("ok"), Next::Keep);
        let run = spawn(&["run", "--format", "json", "-d", "50s", "-c", "4", &server.url("/")]);
        until(|| server.requests() > 500);
        run.signal(signal);
        let outcome = run.wait();
        check(&outcome);
        outcome.assert_all_right();
        assert_eq!(outcome.get("interrupted"), true);
        assert!(outcome.count("requests.completed") > 400);
        assert_eq!(outcome.count("requests.sent"), server.requests());
        let (elapsed, wall) = (outcome.number("elapsed_s"), outcome.wall.as_secs_f64());
        assert!(elapsed <= wall && wall < elapsed + 20.0, "{elapsed} s of {wall} s");
    }
}

#[test]
fn lg36_a_second_signal_exits_at_once() {
    let server = Server::start(|_, conn| {
        let _ = conn.read(&mut [0]);
        Next::Close
    });
    let run = spawn(&["run", "-d", "50s", "-c", "4", "--timeout", "50s", &server.url("/")]);
    until(|| server.requests() == 4);
    run.signal(Signal::INT);
    // Two pending signals of a kind are one, so a second one is sent until it was taken.
    until(|| {
        run.signal(Signal::INT);
        run.has_ended()
    });
    let outcome = run.wait();
    assert_eq!(outcome.code, Some(130), "{outcome:#?}");
    assert!(outcome.wall < Duration::from_secs(40), "{outcome:#?}");
}

#[test]
fn lg36_a_hung_server_does_not_keep_an_interrupted_run() {
    let server = Server::start(|_, conn| {
        let _ = conn.read(&mut [0]);
        Next::Close
    });
    let url = server.url("/");
    let run = spawn(&["run", "--format", "json", "-d", "50s", "-c", "4", "--timeout", "50s", &url]);
    until(|| server.requests() == 4);
    run.signal(Signal::INT);
    let outcome = run.wait();
    check(&outcome);
    assert_eq!(outcome.code, Some(3));
    assert_eq!(outcome.count("requests.in_flight_at_end"), 4);
    assert!(outcome.wall < Duration::from_secs(40), "{outcome:#?}");
}

#[test]
fn lg36_a_reader_that_goes_away_is_no_panic() {
    let server = Server::canned(ok("ok"), Next::Keep);
    for arguments in ["run -n 20 $1", "run -n 20 --format json $1", "run --help"] {
        let script = format!(r#"("$0" {arguments}; echo "status $?" >&2) | head -1 >/dev/null"#);
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_loadgen"), &server.url("/")]);
        let outcome = start(&mut command, b"").wait();
        assert_eq!(outcome.stderr, "status 0\n", "{arguments}");
    }
    // Nobody reads from the start.
    let script = r#"("$0" run -n 20 $1; echo "status $?" >&2) | exec true"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_loadgen"), &server.url("/")]);
    assert_eq!(start(&mut command, b"").wait().stderr, "status 0\n");
}

#[test]
fn lg36_closed_streams_and_dumb_terminals() {
    let server = Server::canned(ok("ok"), Next::Keep);
    for script in [
        r#"exec "$0" run -n 20 "$1" <&-"#,
        r#"exec "$0" run -n 20 "$1" <&- >&-"#,
        r#"TERM=dumb exec "$0" run -n 20 "$1""#,
        r#"unset TERM; NO_COLOR=1 exec "$0" run -n 20 "$1""#,
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_loadgen"), &server.url("/")]);
        let outcome = start(&mut command, b"").wait();
        assert_eq!(outcome.code, Some(0), "{script}: {outcome:#?}");
        assert_eq!(outcome.stderr, "", "{script}");
        assert!(!outcome.stdout.contains('\x1b'), "{script}: {outcome:#?}");
    }
}

#[test]
fn lg36_json_is_alone_on_standard_output() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let url = server.url("/");
    let outcome = loadgen_raw(&["run", "--format", "json", "-d", "700ms", "-c", "2", &url]);
    check(&outcome);
    assert_eq!(outcome.stderr, "", "no progress outside a terminal");
    assert!(outcome.stdout.starts_with('{') && outcome.stdout.ends_with("}\n"));
}

#[test]
fn lg36_progress_is_shown_on_a_terminal_that_can_redraw() {
    // `script` of util-linux gives the program a terminal; a machine may lack it.
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let server = Server::canned(ok("ok"), Next::Keep);
    let binary = env!("CARGO_BIN_EXE_loadgen");
    let run = format!("{binary} run -d 3s -c 2 {}", server.url("/"));
    for (term, redraws) in [("xterm", true), ("dumb", false)] {
        let mut command = Command::new("script");
        command.args(["-qec", &run, "/dev/null"]).env("TERM", term);
        let outcome = start(&mut command, b"").wait();
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        assert_eq!(outcome.stdout.contains("requests/s, p50 "), redraws, "{term}: {outcome:#?}");
        assert_eq!(outcome.stdout.contains('\x1b'), redraws, "{term}: {outcome:#?}");
        assert!(outcome.stdout.contains("closed loop, 2 connections"), "{term}: {outcome:#?}");
    }
}
