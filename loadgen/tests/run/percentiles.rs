//! Percentiles against the times that the server really took.
//!
//! A busy machine only ever makes times longer, so a figure that is right in one of a few attempts
//! is right; one that is wrong by construction is wrong in all of them. A machine that stays busy gets
//! more room with each attempt, up to 1.6 ms: a figure from the wrong peak is further off.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Conn, Next, Outcome, Request, Server, check, loadgen, ok, spawn, until, write,
};

/// What may come on top of the server's own time: two wake-ups and the loopback.
const TOLERANCE_US: f64 = 200.0;
/// Three significant digits.
const PRECISION: f64 = 0.001;
const ATTEMPTS: usize = 8;

const FIGURES: [(&str, f64); 7] = [
    ("min", 0.0),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("max", 1.0),
];

/// The true value of a quantile: the smallest sample that enough samples do not exceed.
fn truth_us(times: &[Duration], quantile: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort();
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1].as_secs_f64() * 1e6
}

/// Figures of `kind` that are not the truth, by name.
fn wrong_figures(
    outcome: &Outcome,
    kind: &str,
    times: &[Duration],
    tolerance_us: f64,
) -> BTreeMap<&'static str, String> {
    let mut wrong = BTreeMap::new();
    for (figure, quantile) in FIGURES {
        let (value, truth) =
            (outcome.number(&format!("{kind}.{figure}")), truth_us(times, quantile));
        let (least, most) = (truth * (1.0 - PRECISION), truth * (1.0 + PRECISION) + tolerance_us);
        // A time below the server's own cannot be noise.
        assert!(value >= least - 1.0, "{kind}.{figure}: {value} µs is below {truth} µs");
        if value > most {
            wrong.insert(figure, format!("{kind}.{figure}: {value} µs, not {truth} µs"));
        }
    }
    wrong
}

/// Runs `args` against a server with these delays until each of its figures was the truth once.
fn holds(args: &[&str], delay: fn(&Request) -> Duration) {
    let mut wrong: Option<BTreeMap<_, _>> = None;
    for attempt in 1..=ATTEMPTS {
        let server = Server::start(move |request: &Request, conn: &mut dyn Conn| {
            std::thread::sleep(delay(request));
            write(conn, &ok("ok"), Next::Keep)
        });
        let url = server.url("/");
        let mut all = args.to_vec();
        all.push(&url);
        let outcome = loadgen(&all);
        outcome.assert_all_right();
        let times = server.delays();
        assert_eq!(outcome.count("service_time_us.count"), times.len() as u64);
        let tolerance_us = TOLERANCE_US * attempt as f64;
        let mut now = wrong_figures(&outcome, "service_time_us", &times, tolerance_us);
        now.retain(|figure, _| wrong.as_ref().is_none_or(|wrong| wrong.contains_key(figure)));
        if now.is_empty() {
            return;
        }
        wrong = Some(now);
    }
    panic!("in each of {ATTEMPTS} attempts: {wrong:#?}");
}

#[test]
fn lg21_a_constant_delay() {
    holds(&["-c", "1", "-n", "60"], |_| Duration::from_millis(5));
}

#[test]
fn lg21_two_peaks() {
    holds(&["-c", "1", "-n", "100"], |request| {
        Duration::from_millis(if request.number % 5 == 4 { 20 } else { 2 })
    });
}

/// p99 and p99.9 each in the middle of a peak of their own, where a few slow wake-ups move nothing.
#[test]
fn lg21_rare_peaks_are_where_p99_and_p99_9_say() {
    holds(&["-c", "1", "-n", "1200"], |request| {
        Duration::from_millis(match request.number {
            number if number % 600 == 599 => 50,
            number if number % 50 == 49 => 20,
            _ => 1,
        })
    });
}

#[test]
fn lg21_two_peaks_at_a_fixed_rate() {
    holds(&["-c", "1", "-n", "60", "--rate", "40"], |request| {
        Duration::from_millis(if request.number % 5 == 4 { 20 } else { 2 })
    });
}

#[test]
fn lg21_tiny_samples() {
    for n in ["1", "2", "10"] {
        holds(&["-c", "1", "-n", n], |_| Duration::from_millis(3));
    }
    let server = Server::canned(ok("ok"), Next::Keep);
    let outcome = loadgen(&["-n", "1", &server.url("/")]);
    let max = outcome.get("service_time_us.max");
    for figure in ["min", "mean", "p25", "p50", "p90", "p99", "p99_9"] {
        assert_eq!(outcome.get(&format!("service_time_us.{figure}")), max, "{figure}");
    }
}

/// Stalls once for a second; otherwise answers at once.
fn one_stall(at: u64) -> Server {
    Server::start(move |request, conn| {
        if request.number == at {
            std::thread::sleep(Duration::from_secs(1));
        }
        write(conn, &ok("ok"), Next::Keep)
    })
}

#[test]
fn lg23_a_stall_is_one_sample_in_a_closed_loop() {
    let server = one_stall(500);
    let outcome = loadgen(&["-c", "1", "-n", "1500", &server.url("/")]);
    outcome.assert_all_right();
    assert!((1.0e6..2.0e6).contains(&outcome.number("service_time_us.max")), "{outcome:#?}");
    assert!(outcome.number("service_time_us.p99") < 100_000.0, "{outcome:#?}");
}

#[test]
fn lg23_a_stall_delays_all_requests_that_were_due_in_it_at_a_fixed_rate() {
    let server = one_stall(100);
    let outcome = loadgen(&["-c", "1", "--rate", "100", "-d", "3s", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(outcome.count("requests.sent"), server.requests());
    assert_eq!(outcome.count("schedule.due"), 300);
    // 100 of 300 requests were due in the stall; the k-th of them waited 1 s - k * 10 ms.
    for (figure, truth) in [("p50", 0.0), ("p75", 0.25e6), ("p90", 0.70e6), ("p99", 0.97e6)] {
        let value = outcome.number(&format!("response_time_us.{figure}"));
        assert!((truth - 20_000.0..truth + 500_000.0).contains(&value), "{figure}: {outcome:#?}");
    }
    assert!((1.0e6..2.0e6).contains(&outcome.number("response_time_us.max")), "{outcome:#?}");
    // The server itself was slow only once.
    assert!(outcome.number("service_time_us.p99") < 100_000.0, "{outcome:#?}");
    assert!(outcome.number("schedule.lag_us.max") > 0.9e6, "{outcome:#?}");
}

/// Freezes a server process for 5 of 10 seconds, beginning 3 seconds after its first request, under
/// the load of `args`.
fn frozen(args: &[&str]) -> Outcome {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new(env!("CARGO_BIN_EXE_loadgen"))
        .args(["null-server", "--port", &port.to_string()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let pid = Pid::from_child(&server);
    let url = format!("http://127.0.0.1:{port}/");
    let mut all = vec!["run", "--format", "json", "-c", "1", "-d", "10s"];
    all.extend(args);
    all.push(&url);
    let run = spawn(&all);
    std::thread::sleep(Duration::from_secs(3));
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    kill_process(pid, Signal::CONT).unwrap();
    let outcome = run.wait();
    server.kill().unwrap();
    server.wait().unwrap();
    check(&outcome);
    outcome.assert_all_right();
    let max = outcome.number("service_time_us.max");
    assert!((4.9e6..7.0e6).contains(&max), "{outcome:#?}");
    outcome
}

#[test]
fn lg23_a_process_frozen_for_five_of_ten_seconds_in_a_closed_loop() {
    let outcome = frozen(&[]);
    assert!(outcome.number("service_time_us.p50") < 20_000.0, "{outcome:#?}");
    assert_eq!(outcome.get("loop"), "closed");
}

#[test]
fn lg23_a_process_frozen_for_five_of_ten_seconds_at_a_fixed_rate() {
    let outcome = frozen(&["--rate", "100"]);
    assert_eq!(outcome.count("schedule.due"), 1000);
    // Half of the requests were due in the freeze: p75 waited for half of it.
    let p75 = outcome.number("response_time_us.p75");
    assert!((2.3e6..4.0e6).contains(&p75), "{outcome:#?}");
    assert!(outcome.number("response_time_us.p25") < 500_000.0, "{outcome:#?}");
    assert!(outcome.number("service_time_us.p99") < 100_000.0, "{outcome:#?}");
}

#[test]
fn failures_are_not_in_the_latency_of_successes() {
    let server = Server::start(|request, conn| {
        if request.number % 2 == 0 {
            return write(conn, b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", Next::Keep);
        }
        std::thread::sleep(Duration::from_millis(5));
        write(conn, &ok("ok"), Next::Keep)
    });
    let outcome = loadgen(&["-c", "1", "-n", "40", &server.url("/")]);
    assert_eq!(outcome.count("service_time_us.count"), 20);
    assert_eq!(outcome.count("failed_time_us.count"), 20);
    assert!(outcome.number("service_time_us.min") >= 4995.0, "fast errors do not win");
}
