//! Servers and contenders that are killed, stopped, or leave processes behind.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Bench, HELLO, contender, processes_named_in};
use crate::means::Stub;
use crate::support::{check, loadgen, spawn, until};

/// How long a server is stopped, and what then shows at least in the longest service time.
const HELD: Duration = Duration::from_secs(2);
const SHOWS_US: f64 = 1.5e6;

#[test]
fn a_server_killed_mid_run_is_counted_and_named() {
    for limit in [["-d", "3s"], ["-n", "1000000"]] {
        let stub = Stub::start("killed-under-load", &[]);
        let outcome = loadgen(&["-c", "4", limit[0], limit[1], &stub.url]);
        assert_eq!(outcome.code, Some(1), "{outcome:#?}");
        assert!(outcome.count("requests.completed") >= 40, "what was measured is kept");
        assert!(outcome.errors("connect_refused") > 0, "{outcome:#?}");
        assert!(outcome.example("connect_refused").contains("connection refused"));
    }
}

#[test]
fn a_contender_killed_mid_trial_is_invalid_and_the_others_are_measured() {
    let bench = Bench::new(&[
        HELLO,
        &contender("killed", "hello", &[("MODE", "killed-under-load")]),
        &contender("right", "hello", &[]),
    ]);
    let outcome = bench.compare(&["--trials", "2"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.reason("killed").contains("signal 9"), "{}", outcome.reason("killed"));
    assert_eq!(outcome.cell("killed")["trials"]["run"], 1, "a wrong one is not measured again");
    assert_eq!(outcome.cell("right")["trials"]["run"], 2);
    assert_ne!(outcome.cell("right")["verdict"], "invalid", "{}", outcome.reason("right"));
}

#[test]
fn a_stall_of_the_server_is_latency_and_no_error() {
    let stub = Stub::start("right", &[]);
    let run = spawn(&["run", "--format", "json", "-d", "6s", "-c", "4", &stub.url]);
    hold(&stub);
    let outcome = run.wait();
    check(&outcome);
    outcome.assert_all_right();
    assert!(outcome.number("service_time_us.max") > SHOWS_US, "{outcome:#?}");
}

#[test]
fn at_a_fixed_rate_a_stall_delays_all_that_was_due() {
    let stub = Stub::start("right", &[]);
    let rate = ["run", "--format", "json", "--rate", "200", "-d", "6s", "-c", "4", &stub.url];
    let run = spawn(&rate);
    hold(&stub);
    let outcome = run.wait();
    check(&outcome);
    outcome.assert_all_right();
    assert!(outcome.number("response_time_us.max") > SHOWS_US, "{outcome:#?}");
    // Of the requests of six seconds, those of nearly two came late, and four at most show it
    // in their service time.
    let p90 = |times: &str| outcome.number(&format!("{times}.p90"));
    assert!(p90("response_time_us") > 1e5, "{outcome:#?}");
    assert!(p90("service_time_us") < p90("response_time_us"), "{outcome:#?}");
}

fn hold(stub: &Stub) {
    stub.await_load();
    stub.process.signal(Signal::STOP);
    std::thread::sleep(HELD);
    stub.process.signal(Signal::CONT);
}

#[test]
fn a_stall_in_a_trial_is_latency_and_no_error() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])]);
    let child = bench.start(&["--warmup", "0s", "--duration", "6s"]);
    until(|| bench.notes().contains("answered 50"));
    let pid = i32::try_from(bench.noted_pids()[0]).unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(HELD);
    kill_process(pid, Signal::CONT).unwrap();
    let outcome = bench.outcome(child);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let cell = outcome.cell("one");
    assert_ne!(cell["verdict"], "invalid", "{cell}");
    assert_eq!(cell["errors"], 0, "{cell}");
    assert!(cell["service_time_us"]["max"].as_f64().unwrap() > SHOWS_US, "{cell}");
}

#[test]
fn a_contender_that_stops_for_good_is_invalid_and_gone() {
    let stopped = [("MODE", "stops-under-load"), ("NOTES", "{notes}")];
    let bench = Bench::new(&[
        HELLO,
        &contender("stopped", "hello", &stopped),
        &contender("right", "hello", &[]),
    ]);
    // No warm-up: what it answers before it stops is in the window.
    let outcome = bench.compare(&["--warmup", "0s"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert_eq!(outcome.cell("stopped")["verdict"], "invalid");
    let reason = outcome.reason("stopped");
    assert!(reason.contains("no right answer after the load"), "{reason}");
    assert_ne!(outcome.cell("right")["verdict"], "invalid", "{}", outcome.reason("right"));
    assert_eq!(processes_named_in(&bench.noted_pids()), Vec::<u32>::new());
}

#[test]
fn daemons_that_a_contender_leaves_behind_are_ended() {
    let bench = Bench::new(&[
        HELLO,
        &contender("leaks", "hello", &[("MODE", "leaks"), ("NOTES", "{notes}")]),
        &contender("next", "hello", &[]),
    ]);
    let began = Instant::now();
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "after {:?}: {outcome:?}", began.elapsed());
    let pids = bench.noted_pids();
    assert_eq!(pids.len(), 2, "the server and its daemon: {}", bench.notes());
    assert_eq!(processes_named_in(&pids), Vec::<u32>::new());
}

#[test]
fn when_the_comparison_is_killed_the_daemons_of_its_contender_are_gone_too() {
    let bench = Bench::new(&[
        HELLO,
        &contender("leaks", "hello", &[("MODE", "leaks"), ("NOTES", "{notes}")]),
    ]);
    let child = bench.start(&["--duration", "50s"]);
    until(|| bench.noted_pids().len() == 2);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    let outcome = bench.outcome(child);
    assert_eq!(outcome.status, None, "{outcome:?}");
    until(|| processes_named_in(&bench.noted_pids()).is_empty());
}

#[test]
fn a_second_server_on_a_taken_port_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let outcome = spawn(&["null-server", "--port", &port]).wait();
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    let words = format!("127.0.0.1:{port}: Address already in use");
    assert!(outcome.stderr.contains(&words), "{outcome:#?}");
}
