//! Limits: memory, samples, file descriptors.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Signal;

use crate::support::{Next, Server, loadgen, ok, spawn, start, until};

/// The leanest server of all, for millions of requests: no bodies, nothing kept but the count.
fn lean_server() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                // One request is in flight on a connection, and it fits one segment.
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                    seen.fetch_add(1, Ordering::Relaxed);
                    if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, requests)
}

#[test]
fn lg24_every_sample_counts_and_memory_is_flat() {
    let (url, requests) = lean_server();
    let run = spawn(&["run", "--format", "json", "-n", "1000001", "-c", "32", &url]);
    until(|| requests.load(Ordering::Relaxed) > 100_000);
    let early_kib = run.status_kib("VmRSS");
    until(|| requests.load(Ordering::Relaxed) > 700_000);
    let late_kib = run.status_kib("VmHWM");
    let outcome = run.wait();
    outcome.assert_all_right();
    assert_eq!(outcome.count("requests.completed"), 1_000_001);
    assert_eq!(outcome.count("service_time_us.count"), 1_000_001);
    assert_eq!(requests.load(Ordering::Relaxed), 1_000_001);
    assert!(late_kib < early_kib + 1024, "grew from {early_kib} to {late_kib} KiB");
}

/// Takes any number of bytes on each connection and keeps none; answers each whole body of `length`.
fn sink(length: usize) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let bodies = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&bodies);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let mut buffer = vec![0; 256 * 1024];
                while read_body(&mut stream, &mut buffer, length).is_some() {
                    seen.fetch_add(1, Ordering::Relaxed);
                    if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, bodies)
}

/// Reads one head and exactly `length` bytes after it.
fn read_body(stream: &mut impl Read, buffer: &mut [u8], length: usize) -> Option<()> {
    let mut filled = 0;
    let head = loop {
        filled += stream.read(&mut buffer[filled..]).ok().filter(|&count| count > 0)?;
        if let Some(at) = buffer[..filled].windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let mut left = length.checked_sub(filled - head)?;
    while left > 0 {
        let most = left.min(buffer.len());
        left -= stream.read(&mut buffer[..most]).ok().filter(|&count| count > 0)?;
    }
    Some(())
}

#[test]
fn lg35_connections_share_one_copy_of_a_large_file() {
    const LENGTH: usize = 100_000_000;
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LENGTH as u64).unwrap();
    let (url, bodies) = sink(LENGTH);
    let path = file.path().to_str().unwrap();
    let run = spawn(&["run", "--format", "json", "-d", "50s", "-c", "50", "-f", path, &url]);
    until(|| bodies.load(Ordering::Relaxed) >= 50);
    let peak_mib = run.status_kib("VmHWM") / 1024;
    run.signal(Signal::INT);
    let outcome = run.wait();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.count("connects.peak_open"), 50);
    assert!(outcome.count("bytes.sent") >= 50 * LENGTH as u64, "{outcome:#?}");
    assert!((95..135).contains(&peak_mib), "50 connections with 100 MB each took {peak_mib} MiB");
}

#[test]
fn lg32_too_few_file_descriptors_are_named_with_both_numbers() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let mut command = Command::new("sh");
    let script = r#"ulimit -n 64; exec "$0" run -c 200 -n 200 "$1""#;
    command.args(["-c", script, env!("CARGO_BIN_EXE_loadgen"), &server.url("/")]);
    let outcome = start(&mut command, b"").wait();
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("64") && outcome.stderr.contains("200"), "{outcome:#?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:#?}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn lg32_the_soft_limit_of_file_descriptors_is_raised() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let mut command = Command::new("sh");
    let script = r#"ulimit -Sn 64; exec "$0" run --format json -c 200 -n 400 "$1""#;
    command.args(["-c", script, env!("CARGO_BIN_EXE_loadgen"), &server.url("/")]);
    let outcome = start(&mut command, b"").wait();
    outcome.assert_all_right();
    assert_eq!(outcome.count("connects.peak_open"), 200);
}

#[test]
fn threads_are_pinned_to_the_cpus_given() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let outcome = loadgen(&["--cpus", "0", "-n", "100", &server.url("/")]);
    // A machine may forbid CPU 0 to this process.
    if outcome.code == Some(0) {
        assert_eq!(outcome.get("cpus").to_string(), "[0]");
        assert_eq!(outcome.count("threads"), 1);
    }
}
