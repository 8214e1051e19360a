//! How many requests are sent, where each ends, and how long the run takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{Next, Server, loadgen, loadgen_raw, ok, write};

fn instant() -> Server {
    Server::canned(ok("ok"), Next::Keep)
}

#[test]
fn lg13_exactly_n_requests_for_every_combination_with_c_and_t() {
    for (n, c, threads) in [
        (1, 200, 1),
        (401, 400, 2),
        (49, 50, 1),
        (50_000, 120, 2),
        (5, 2, 2),
        (7, 7, 7),
        (1000, 3, 3),
        (1, 1, 1),
    ] {
        let server = instant();
        let (n_text, c_text, t_text) = (n.to_string(), c.to_string(), threads.to_string());
        let outcome = loadgen(&["-n", &n_text, "-c", &c_text, "-t", &t_text, &server.url("/")]);
        outcome.assert_all_right();
        assert_eq!(server.requests(), n, "-n {n} -c {c} -t {threads}");
        assert_eq!(outcome.count("requests.sent"), n);
        assert_eq!(outcome.count("requests.completed"), n);
    }
}

#[test]
fn lg13_n_is_exact_when_connections_die() {
    let server = Server::start(|request, conn| {
        let next = if request.number % 3 == 0 { Next::Reset } else { Next::Keep };
        write(conn, if next == Next::Keep { b"HTTP/1.1 204 x\r\n\r\n" } else { b"" }, next)
    });
    let outcome = loadgen(&["-n", "999", "-c", "7", &server.url("/")]);
    assert_eq!(server.requests(), 999);
    assert_eq!(outcome.count("requests.completed"), 666);
    assert_eq!(outcome.count("requests.failed"), 333);
}

#[test]
fn lg13_zero_requests_and_two_limits_are_usage_errors() {
    let server = instant();
    for args in [&["-n", "0"][..], &["-n", "5", "-d", "1s"], &["-c", "0"], &["-d", "0s"]] {
        let url = server.url("/");
        let mut all = vec!["run"];
        all.extend(args);
        all.push(&url);
        let outcome = loadgen_raw(&all);
        assert_eq!(outcome.code, Some(2), "{outcome:#?}");
        assert!(outcome.stderr.starts_with("error: "), "{outcome:#?}");
        assert_eq!(outcome.stdout, "");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn lg15_refused_connections_end_the_run_soon() {
    // Bound and dropped: nothing listens there now.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    for limit in [&["-n", "100"][..], &["-d", "20s"]] {
        let mut args = limit.to_vec();
        args.push(&url);
        let outcome = loadgen(&args);
        assert_eq!(outcome.code, Some(3));
        assert!(outcome.errors("connect_refused") > 0, "{outcome:#?}");
        assert!(outcome.errors("connect_refused") < 2000, "connects are not repeated in a spin");
        assert_eq!(outcome.count("requests.sent"), 0);
        assert!(outcome.wall < Duration::from_secs(8), "{outcome:#?}");
        assert!(outcome.get("rate_per_s").as_f64().is_none_or(|rate| rate == 0.0));
    }
}

#[test]
fn lg15_a_server_that_always_refuses_has_no_latency_of_successes() {
    let bytes = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    let server = Server::canned(bytes, Next::Keep);
    let outcome = loadgen(&["-n", "50", "-c", "5", &server.url("/")]);
    assert_eq!(outcome.code, Some(3));
    assert_eq!(outcome.errors("status"), 50);
    assert!(outcome.example("status").contains("400"), "{outcome:#?}");
    assert_eq!(outcome.count("status.400"), 50);
    assert_eq!(outcome.count("requests.failed"), 50);
    assert_eq!(outcome.count("service_time_us.count"), 0);
    assert_eq!(server.connections(), 5, "a wrong status does not cost the connection");
}

#[test]
fn lg15_a_server_that_never_answers_times_out_and_is_counted() {
    let server = Server::start(|_, conn| {
        let _ = conn.read(&mut [0]);
        Next::Close
    });
    let outcome = loadgen(&["-n", "6", "-c", "3", "--timeout", "200ms", &server.url("/")]);
    assert_eq!(outcome.code, Some(3));
    assert_eq!(outcome.count("requests.timed_out"), 6);
    assert_eq!(outcome.errors("timeout"), 6);
    assert_eq!(server.requests(), 6);
    let elapsed = outcome.number("elapsed_s");
    assert!((0.4..2.0).contains(&elapsed), "{elapsed}");
}

#[test]
fn lg16_elapsed_and_rate_when_the_server_stops_answering() {
    let server = Server::start(|request, conn| {
        if request.number < 1000 {
            return write(conn, &ok("ok"), Next::Keep);
        }
        let _ = conn.read(&mut [0]);
        Next::Close
    });
    let outcome = loadgen(&["-d", "2s", "--timeout", "500ms", "-c", "16", &server.url("/")]);
    let elapsed = outcome.number("elapsed_s");
    assert!((2.0..2.2).contains(&elapsed), "{elapsed}");
    assert_eq!(outcome.count("requests.completed"), 1000);
    assert_eq!(outcome.count("requests.sent"), server.requests());
    assert!(outcome.count("requests.timed_out") >= 16, "{outcome:#?}");
}

#[test]
fn lg16_many_threads_and_connections_measure_one_window() {
    let server = instant();
    let outcome = loadgen(&["-d", "2s", "-c", "1000", "-t", "64", &server.url("/")]);
    outcome.assert_all_right();
    let elapsed = outcome.number("elapsed_s");
    assert!((2.0..2.2).contains(&elapsed), "{elapsed}");
    assert_eq!(outcome.count("connects.peak_open"), 1000);
    assert_eq!(outcome.count("requests.sent"), server.requests());
}

#[test]
fn lg17_requests_in_flight_at_the_deadline_are_reported_apart() {
    let server = Server::start(|_, conn| {
        std::thread::sleep(Duration::from_millis(300));
        write(conn, &ok("ok"), Next::Keep)
    });
    let outcome = loadgen(&["-d", "1s", "-c", "10", &server.url("/")]);
    outcome.assert_all_right();
    let (sent, completed) = (outcome.count("requests.sent"), outcome.count("requests.completed"));
    let in_flight = outcome.count("requests.in_flight_at_end");
    assert_eq!((sent, sent), (server.requests(), completed + in_flight), "{outcome:#?}");
    // Each takes 300 ms, so a connection completes three in a second, fewer on a busy machine.
    assert!((1..=30).contains(&completed) && in_flight <= 10, "{completed} {in_flight}");
}

#[test]
fn lg19_connection_close_and_a_duration_end_on_time() {
    let server = Server::start(|request, conn| {
        assert_eq!(request.header("connection"), ["close"]);
        write(conn, &ok("ok"), Next::Close)
    });
    for _ in 0..20 {
        for rate in [&[][..], &["--rate", "10"]] {
            let url = server.url("/");
            let mut args = vec!["-H", "Connection: close", "-d", "500ms", "-c", "50", &url];
            args.extend(rate);
            let outcome = loadgen(&args);
            outcome.assert_all_right();
            assert!(outcome.wall < Duration::from_secs(3), "{outcome:#?}");
        }
    }
    // Every run has ended: what it opened was opened before its end, and nothing is cut short.
    assert_eq!(server.requests(), server.heads());
}

#[test]
fn without_keepalive_every_request_has_its_own_connection() {
    let server = Server::start(|request, conn| {
        assert_eq!(request.header("connection"), ["close"]);
        write(conn, &ok("ok"), Next::Keep)
    });
    let outcome = loadgen(&["--no-keepalive", "-n", "300", "-c", "4", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!((server.requests(), server.connections()), (300, 300));
    assert_eq!(outcome.count("connect_time_us.count"), 300);
}

#[test]
fn the_warm_up_is_counted_nowhere_else() {
    static SLOW: AtomicU64 = AtomicU64::new(0);
    let server = Server::start(|request, conn| {
        // The first answers are slow, as those of a cold runtime are.
        if request.number < 4 {
            SLOW.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(150));
        }
        write(conn, &ok("ok"), Next::Keep)
    });
    let outcome = loadgen(&["-c", "4", "-n", "500", "--warmup", "400ms", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(SLOW.load(Ordering::SeqCst), 4);
    assert_eq!(outcome.count("requests.sent"), 500);
    let warm_up = outcome.count("warmup.sent");
    assert!(warm_up > 4, "{outcome:#?}");
    assert_eq!(warm_up + 500, server.requests());
    assert!(outcome.number("warmup.elapsed_s") >= 0.4);
    assert!(outcome.number("service_time_us.p90") < 150_000.0, "{outcome:#?}");
}

#[test]
fn a_ramp_opens_connections_one_after_the_other() {
    let server = instant();
    let args = ["-c", "5", "--ramp", "60ms", "--warmup", "1ms", "-n", "50"];
    let url = server.url("/");
    let mut all = args.to_vec();
    all.push(&url);
    let outcome = loadgen(&all);
    outcome.assert_all_right();
    assert_eq!(server.connections(), 5);
    assert!(outcome.wall >= Duration::from_millis(240), "{outcome:#?}");
}
