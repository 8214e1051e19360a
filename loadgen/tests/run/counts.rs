//! How many requests are sent, where each ends, and how long the run takes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Next, Server, loadgen, loadgen_raw, ok, until, write};

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
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    for limit in [&["-n", "100"][..], &["-d", "50s"]] {
        let mut args = limit.to_vec();
        args.push(&url);
        let outcome = loadgen(&args);
        assert_eq!(outcome.code, Some(3));
        assert!(outcome.errors("connect_refused") > 0, "{outcome:#?}");
        assert!(outcome.errors("connect_refused") < 2000, "connects are not repeated in a spin");
        assert_eq!(outcome.count("requests.sent"), 0);
        assert!(outcome.wall < Duration::from_secs(40), "{outcome:#?}");
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
    assert!((0.4..20.0).contains(&elapsed), "{elapsed}");
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
    let outcome = loadgen(&["-d", "4s", "--timeout", "1s", "-c", "16", &server.url("/")]);
    let elapsed = outcome.number("elapsed_s");
    assert!((4.0..outcome.wall.as_secs_f64()).contains(&elapsed), "{elapsed}");
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
    assert!((2.0..outcome.wall.as_secs_f64()).contains(&elapsed), "{elapsed}");
    assert_eq!(outcome.count("connects.peak_open"), 1000);
    assert_eq!(outcome.count("requests.sent"), server.requests());
}

/// Loads a server that answers twenty requests in the window, and not the ten that follow.
fn ten_are_in_flight_at_the_end(server: &Server) {
    let outcome = loadgen(&["-d", "500ms", "-c", "10", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(outcome.count("requests.completed"), 20);
    assert_eq!(outcome.count("requests.in_flight_at_end"), 10);
    assert_eq!(outcome.count("requests.sent"), server.requests());
}

#[test]
fn lg17_requests_in_flight_at_the_deadline_are_reported_apart() {
    // Twenty are answered; the ten that follow never are.
    let server = Server::start(|request, conn| {
        if request.number < 20 {
            return write(conn, &ok("ok"), Next::Keep);
        }
        let _ = conn.read(&mut [0]);
        Next::Close
    });
    ten_are_in_flight_at_the_end(&server);
}

#[test]
fn lg17_requests_that_end_in_the_drain_are_reported_apart_too() {
    let server = Server::start(|request, conn| {
        if request.number >= 20 {
            // Longer than the window, shorter than the drain.
            std::thread::sleep(Duration::from_millis(700));
        }
        write(conn, &ok("ok"), Next::Keep)
    });
    ten_are_in_flight_at_the_end(&server);
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
            assert!(outcome.wall < Duration::from_secs(20), "{outcome:#?}");
        }
    }
    // Every run has ended: what it opened was opened before its end, and nothing is cut short.
    until(|| server.requests() == server.heads());
}

/// Connections that come to a server this long after the window must have ended were begun after its end.
const LATE: Duration = Duration::from_millis(400);

/// Keeps the first connection's request for ever, so that the run waits for it after its deadline, and
/// does `then` to all others, each on a thread of its own, so that none waits to be accepted; counts those
/// that come [`LATE`].
fn with_one_in_flight(window: Duration, then: fn(TcpStream)) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let late = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&late);
    std::thread::spawn(move || {
        let (first, ended) = first_request(&listener, window);
        for stream in listener.incoming() {
            counted.fetch_add(u64::from(Instant::now() > ended + LATE), Ordering::SeqCst);
            let stream = stream.unwrap();
            std::thread::spawn(move || then(stream));
        }
        drop(first);
    });
    (url, late)
}

/// The first connection when its request is here, and when the window must have ended: it was open by
/// then.
fn first_request(listener: &TcpListener, window: Duration) -> (TcpStream, Instant) {
    let (mut first, _) = listener.accept().unwrap();
    assert!(first.read(&mut [0; 1024]).unwrap() > 0);
    (first, Instant::now() + window)
}

#[test]
fn lg19_nothing_connects_after_the_deadline() {
    let answer = |mut stream: TcpStream| {
        // Fails for a connection that is closed before its request.
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(&ok("ok"));
    };
    let reset = |stream: TcpStream| {
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    };
    for then in [answer as fn(TcpStream), reset] {
        // The server may be late itself on a busy machine, but not each time.
        let late: Vec<_> = (0..3).map_while(|_| late_connects(then)).collect();
        assert!(late.len() < 3, "{late:?}");
    }
}

/// How many connections came late to a server that does `then`, if any did.
fn late_connects(then: fn(TcpStream)) -> Option<u64> {
    let (url, late) = with_one_in_flight(Duration::from_millis(500), then);
    let outcome = loadgen(&["-d", "500ms", "-c", "4", "--no-keepalive", &url]);
    assert!(outcome.count("requests.in_flight_at_end") >= 1, "{outcome:#?}");
    assert!(outcome.count("connects.attempted") > 4, "it did connect: {outcome:#?}");
    Some(late.load(Ordering::SeqCst)).filter(|&late| late > 0)
}

#[test]
fn lg19_a_server_that_refused_is_not_tried_after_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let window = Duration::from_millis(500);
    let server = std::thread::spawn(move || {
        let (mut first, ended) = first_request(&listener, window);
        drop(listener);
        std::thread::sleep(ended.saturating_duration_since(Instant::now()));
        // Listens again: whoever waits for its next attempt would now get through.
        let listener = TcpListener::bind(address).unwrap();
        // Until the client has given up the request, and so has ended.
        let _ = first.read(&mut [0]);
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    });
    let url = format!("http://{address}/");
    let outcome = loadgen(&["-d", "500ms", "-c", "4", "--no-keepalive", &url]);
    assert!(outcome.errors("connect_refused") > 0, "{outcome:#?}");
    assert_eq!(outcome.count("requests.in_flight_at_end"), 1, "{outcome:#?}");
    assert!(!server.join().unwrap(), "connected after its deadline: {outcome:#?}");
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
    let server = Server::start(|request, conn| {
        // The first answers are others, as those of a cold runtime are slower.
        let body = if request.number < 4 { "cold" } else { "ok" };
        write(conn, &ok(body), Next::Keep)
    });
    let outcome = loadgen(&["-c", "4", "-n", "500", "--warmup", "400ms", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(outcome.count("requests.sent"), 500);
    assert_eq!(outcome.count("service_time_us.count"), 500);
    assert_eq!(outcome.count("bytes.received_body"), 500 * 2, "none of the first answers");
    let warm_up = outcome.count("warmup.sent");
    assert!(warm_up > 4, "{outcome:#?}");
    assert_eq!(warm_up + 500, server.requests());
    assert!(outcome.number("warmup.elapsed_s") >= 0.4);
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
