//! Open loop: requests are due at fixed times, and what becomes of that is told.

use std::time::{Duration, Instant};

use crate::support::{Next, Server, loadgen, ok, write};

fn instant() -> Server {
    Server::canned(ok("ok"), Next::Keep)
}

/// When the requests came, from the first on.
fn arrivals(server: &Server) -> Vec<Duration> {
    let log = server.log();
    let first = log.iter().map(|request| request.read_at).min().unwrap_or_else(Instant::now);
    let mut arrivals: Vec<Duration> =
        log.iter().map(|request| request.read_at.duration_since(first)).collect();
    arrivals.sort();
    arrivals
}

#[test]
fn lg20_a_count_at_a_rate_takes_its_time_without_a_burst() {
    let server = instant();
    let outcome = loadgen(&["--rate", "50", "-c", "100", "-n", "100", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(server.requests(), 100);
    let arrivals = arrivals(&server);
    // With room for a machine that was busy when the first came; a burst would be all at once.
    assert!((1.5..20.0).contains(&arrivals[99].as_secs_f64()), "{arrivals:?}");
    let early = arrivals.iter().filter(|at| at.as_millis() < 1000).count();
    assert!((25..=75).contains(&early), "{early} of 50 in the first second");
    assert!(outcome.number("response_time_us.p50") < 500_000.0, "{outcome:#?}");
    assert_eq!(outcome.get("loop"), "open");
}

#[test]
fn lg20_rates_below_the_threads_and_below_one_a_second() {
    for (rate, duration, due) in [("2", "2s", 4), ("0.5", "4s", 2), ("1.5", "4s", 6)] {
        let server = instant();
        let url = server.url("/");
        let outcome = loadgen(&["--rate", rate, "-d", duration, "-t", "8", "-c", "16", &url]);
        outcome.assert_all_right();
        assert!(server.requests().abs_diff(due) <= 1, "{rate}: {}", server.requests());
        assert_eq!(outcome.count("requests.sent"), server.requests());
        assert!(outcome.count("schedule.due").abs_diff(due) <= 1);
    }
}

#[test]
fn lg20_a_rate_that_is_not_reached_is_said() {
    let server = Server::start(|_, conn| {
        std::thread::sleep(Duration::from_millis(400));
        write(conn, &ok("ok"), Next::Keep)
    });
    let outcome = loadgen(&["--rate", "10", "-c", "1", "-d", "2s", &server.url("/")]);
    assert_eq!(outcome.number("schedule.rate_per_s"), 10.0);
    assert!((19..=21).contains(&outcome.count("schedule.due")), "{outcome:#?}");
    // Five take two seconds, fewer are sent on a busy machine.
    assert!((2..=6).contains(&outcome.count("requests.sent")), "{outcome:#?}");
    assert!(outcome.number("schedule.sent_per_s") < 3.1);
    let notes = outcome.get("notes").to_string();
    assert!(notes.contains("The rate was not reached"), "{notes}");
}

#[test]
fn a_closed_loop_has_no_response_time_and_says_what_it_is() {
    let server = instant();
    let outcome = loadgen(&["-n", "10", "-c", "1", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(outcome.get("loop"), "closed");
    for absent in ["response_time_us", "schedule", "histograms.response_time_ns"] {
        assert!(outcome.get(absent).is_null(), "{absent}");
    }
}
