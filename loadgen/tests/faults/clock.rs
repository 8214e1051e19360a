//! A wall clock that is stepped all the time: only dates come from it, never a duration.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, HELLO, contender, spawn as spawn_piped};
use crate::support::{Next, Server, check, ok, start};

/// Every other reading of the wall clock is a day ahead, and the next one a day behind it. The
/// monotonic clock is the kernel's.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long step(void) {
    static long readings;
    return __atomic_fetch_add(&readings, 1, __ATOMIC_RELAXED) % 2 * 86400;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += step();
    return result;
}

int gettimeofday(struct timeval *time, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (time)
        *time = now.tv_sec;
    return now.tv_sec;
}
"#;

/// Builds the shim in `folder`; the C compiler is the one that the cryptography is built with.
fn shim(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    std::fs::write(&source, SHIM).unwrap();
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built =
        Command::new(cc).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.unwrap().success());
    library
}

#[test]
fn a_stepped_clock_changes_no_figure_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::canned(ok("ok"), Next::Keep);
    for load in [&["-n", "500"][..], &["-d", "600ms"], &["-d", "600ms", "--rate", "100"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
        command.args(["run", "--format", "json", "-c", "2"]).args(load).arg(server.url("/"));
        let outcome = start(command.env("LD_PRELOAD", shim(folder.path())), b"").wait();
        check(&outcome);
        outcome.assert_all_right();
        assert!(outcome.number("elapsed_s") <= outcome.wall.as_secs_f64(), "{outcome:#?}");
        let longest = outcome.number("service_time_us.max");
        assert!(longest <= outcome.wall.as_secs_f64() * 1e6, "{outcome:#?}");
    }
}

#[test]
fn a_stepped_clock_changes_no_figure_of_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[])]);
    let mut command = bench.command(&["--trials", "2"]);
    let began = std::time::Instant::now();
    let outcome = bench.outcome(spawn_piped(command.env("LD_PRELOAD", shim(folder.path()))));
    let wall = began.elapsed().as_secs_f64();
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let trials = outcome.result()["trials"].as_array().unwrap().clone();
    assert_eq!(trials.len(), 2);
    for trial in trials {
        assert!(trial["load"]["elapsed_s"].as_f64().unwrap() <= wall, "{trial}");
        assert!(trial["server"]["elapsed_s"].as_f64().unwrap() <= wall, "{trial}");
        assert!(trial["ready_ms"].as_f64().unwrap() <= wall * 1e3, "{trial}");
        let longest = trial["load"]["service_time_us"]["max"].as_f64().unwrap();
        assert!(longest <= wall * 1e6, "{trial}");
    }
}
