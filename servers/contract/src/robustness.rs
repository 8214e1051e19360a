//! What a server that may be exposed survives, whatever its scenario: hostile heads, bodies nobody
//! reads, slow clients, and the stop signals.
//!
//! Each function takes a started server, or starts one with short time limits of its own.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use crate::case::Cases;
use crate::expect;
use crate::{Client, Program, Running, Scheme};

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server's scenario, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The program.
    pub program: &'a Program,
    /// Whether it speaks TLS.
    pub scheme: Scheme,
    /// A request that is answered 2xx.
    pub right: &'a [u8],
    /// The path of that request.
    pub path: &'a str,
}

impl Subject<'_> {
    /// Starts it with time limits of a second.
    fn start_impatient(&self) -> Result<Running> {
        ["handshake", "head", "idle", "stall"]
            .iter()
            .fold(self.program.clone(), |program, limit| {
                program.arg(format!("--{limit}-timeout")).arg("1")
            })
            .start(self.scheme)
    }

    fn answers(&self, running: &Running) -> Result<()> {
        let response = running.connect()?.request(self.right).context("a right request")?;
        ensure!(response.status < 300, "a right request: status {}", response.status);
        Ok(())
    }
}

/// Asks a server everything in this file.
///
/// # Errors
/// When it cannot be started, or one of the cases fails; each is named.
pub fn check(subject: &Subject<'_>) -> Result<()> {
    let running = subject.program.start(subject.scheme)?;
    let mut cases = Cases::default();
    heads(&mut cases, subject, &running);
    unread_bodies(&mut cases, subject, &running);
    cases.case("out of descriptors", || out_of_descriptors(subject));
    cases.case("a port in use", || port_in_use(subject, running.address()));
    if subject.scheme == Scheme::Https {
        not_tls(&mut cases, subject, &running);
    }
    let impatient = subject.start_impatient()?;
    slow_clients(&mut cases, subject, &impatient);
    cases.case("SIGTERM under load", || stop_under_load(subject));
    cases.case("a second signal", || second_signal(subject));
    cases.finish(&running)
}

/// Request targets, Host, methods and limits of the head (cases SRV-04 and SRV-20).
fn heads(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    let path = subject.path;
    let long_path = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(70_000));
    let long_field = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(17_000));
    let many_fields = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(101));
    let with = |head: &str| format!("{head}\r\n\r\n").into_bytes();
    let lists: [(&str, Vec<u8>, &[u16]); 20] = [
        ("two Hosts", with("GET / HTTP/1.1\r\nHost: a\r\nHost: a"), &[400]),
        ("a Host that is none", with("GET / HTTP/1.1\r\nHost: a b"), &[400]),
        ("CONNECT", with("CONNECT h:443 HTTP/1.1\r\nHost: h:443"), &[405]),
        ("TRACE", with("TRACE / HTTP/1.1\r\nHost: x"), &[405]),
        ("OPTIONS *", with("OPTIONS * HTTP/1.1\r\nHost: x"), &[200, 204]),
        ("a method in lower case", with(&format!("get {path} HTTP/1.1\r\nHost: x")), &[405]),
        ("Expect: else", with("GET / HTTP/1.1\r\nHost: x\r\nExpect: else"), &[417]),
        ("HTTP/1.2", with("GET / HTTP/1.2\r\nHost: x"), &[400, 505]),
        ("HTTP/2.0", with("GET / HTTP/2.0\r\nHost: x"), &[400, 505]),
        ("a space before the colon", with("GET / HTTP/1.1\r\nHost : x"), &[400]),
        ("a folded field", with("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c"), &[400]),
        (
            "two lengths",
            with("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2"),
            &[400],
        ),
        ("a signed length", with("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1"), &[400]),
        (
            "an unknown coding",
            with("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunkedd"),
            &[400, 501],
        ),
        ("a raw byte", b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[400, 404, 405]),
        ("a NUL", b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[400]),
        ("a path of 70,000 bytes", long_path.into_bytes(), &[400, 414, 431]),
        ("a field of 17,000 bytes", long_field.into_bytes(), &[431]),
        ("101 fields", many_fields.into_bytes(), &[431]),
        ("an escaped NUL", with("GET /%00 HTTP/1.1\r\nHost: x"), &[400, 404, 405]),
    ];
    for (name, bytes, expected) in lists {
        cases.case(name, || {
            let response = running.connect()?.request(&bytes)?;
            ensure!(expected.contains(&response.status), "status {}", response.status);
            subject.answers(running)
        });
    }
    for host in ["", "[::1]:8080", "a.b-c:1"] {
        cases.case(&format!("Host: {host:?}"), || {
            let right = String::from_utf8_lossy(subject.right).replace("localhost", host);
            let response = running.connect()?.request(right)?;
            ensure!(response.status < 300, "status {}", response.status);
            Ok(())
        });
    }
    cases.case("an absolute target", || {
        let absolute = format!(" http://localhost{path} ");
        let right =
            String::from_utf8_lossy(subject.right).replacen(&format!(" {path} "), &absolute, 1);
        let response = running.connect()?.request(right)?;
        ensure!(response.status < 300, "status {}", response.status);
        Ok(())
    });
}

/// The answer always arrives, however much of the body is unread (case SRV-05).
fn unread_bodies(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    for (megabytes, times) in [(1, 50), (8, 10), (100, 2)] {
        cases.case(&format!("{megabytes} MB nobody reads, {times} times"), || {
            for _ in 0..times {
                unread(running, megabytes * 1_000_000)?;
            }
            subject.answers(running)
        });
    }
    cases.case("a short body nobody reads keeps the connection", || {
        let mut client = running.connect()?;
        for _ in 0..3 {
            expect::status(&client.request(expect::post("/nope", &[b'x'; 5_000]))?, 404)?;
        }
        let chunks: [&[u8]; 2] = [b"some", b"more"];
        expect::status(&client.request(expect::post_chunked("/nope", &chunks))?, 404)?;
        let response = client.request(subject.right)?;
        ensure!(response.status < 300, "status {}", response.status);
        Ok(())
    });
    cases.case("Expect: 100-continue where the body is not wanted", || {
        let head =
            "POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
        let response = running.connect()?.request(head)?;
        ensure!(response.informational.is_empty(), "it asked for the body");
        expect::status(&response, 404)
    });
}

/// Sends a body in full to where it is not read, and only then reads.
fn unread(running: &Running, length: usize) -> Result<()> {
    let mut client = running.connect()?;
    client.send(format!("POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"))?;
    let block = vec![b'x'; 1 << 20];
    let mut left = length;
    while left > 0 {
        let part = left.min(block.len());
        client.send(&block[..part]).with_context(|| format!("{left} bytes left to send"))?;
        left -= part;
    }
    let response = client.read_response(false)?;
    expect::status(&response, 404)?;
    ensure!(response.header("connection") == Some("close"), "no Connection: close");
    Ok(())
}

/// What is not TLS on a TLS port, and who never finishes a handshake (cases SRV-02 and SRV-10).
fn not_tls(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    let noise: Vec<u8> =
        (0..1024_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let inputs: [(&str, &[u8]); 2] =
        [("plain HTTP to TLS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ("noise to TLS", &noise)];
    for (name, input) in inputs {
        cases.case(name, || {
            let mut tcp = connect(running.address())?;
            tcp.write_all(input)?;
            closes_within(&mut tcp, Duration::from_secs(5))?;
            subject.answers(running)
        });
    }
    cases.case("200 connections without a handshake", || {
        let idle = (0..200).map(|_| connect(running.address())).collect::<Result<Vec<_>>>()?;
        for (index, mut tcp) in idle.iter().enumerate() {
            if index % 2 == 0 {
                tcp.write_all(b"\x16\x03\x01\x02\x00\x01")?;
            }
        }
        subject.answers(running)
    });
    cases.case("closed at once", || {
        for _ in 0..50 {
            drop(connect(running.address())?);
        }
        subject.answers(running)
    });
}

/// Clients that stop half way (case SRV-09): `running` has limits of a second.
fn slow_clients(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    const HEAD: &str = "GET / HTTP/1.1\r\nHo";
    if subject.scheme == Scheme::Https {
        cases.case("a handshake that does not come", || {
            closes_within(&mut connect(running.address())?, Duration::from_secs(5))
        });
    }
    cases.case("half a head", || {
        let mut client = running.connect()?;
        client.send(HEAD)?;
        let end = String::from_utf8_lossy(&client.read_to_end()?).into_owned();
        ensure!(end.is_empty() || end.starts_with("HTTP/1.1 408"), "it said {end:?}");
        Ok(())
    });
    cases.case("a head of one byte every 100 ms", || {
        let mut client = running.connect()?;
        let started = Instant::now();
        client.send(HEAD)?;
        while client.is_open()? && !client.has_received()? {
            ensure!(started.elapsed() < PATIENCE, "still open");
            let _ = client.send("s");
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    });
    cases.case("idle after an answer", || {
        let mut client = running.connect()?;
        let response = client.request(subject.right)?;
        ensure!(response.status < 300, "status {}", response.status);
        ensure!(client.read_to_end()?.is_empty(), "it said something");
        Ok(())
    });
    cases.case("idle from the start", || {
        ensure!(running.connect()?.read_to_end()?.is_empty(), "it said something");
        Ok(())
    });
    cases.case("half a body", || {
        let mut client = running.connect()?;
        let right = String::from_utf8_lossy(subject.right);
        let method = right.split(' ').next().unwrap_or_default();
        let path = subject.path;
        client
            .send(format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"))?;
        let response = client.read_response(false)?;
        ensure!(
            response.status == 408 || (method == "GET" && response.status == 200),
            "status {}",
            response.status
        );
        ensure!(client.read_to_end()?.is_empty(), "more after the answer");
        Ok(())
    });
    cases.case("requests without reading the answers", || never_reading(subject, running));
    cases.case("others meanwhile", || subject.answers(running));
}

/// Sends requests until nothing is taken any more, then waits for the server to give up.
fn never_reading(subject: &Subject<'_>, running: &Running) -> Result<()> {
    let mut client = running.connect()?;
    client.tcp().set_write_timeout(Some(Duration::from_millis(500)))?;
    let many = subject.right.repeat(1 + 100_000 / subject.right.len());
    let started = Instant::now();
    while client.send(&many).is_ok() {
        ensure!(started.elapsed() < PATIENCE, "it buffers answers without end");
    }
    // Dropped means reset: what it had not sent is gone, and so is the connection.
    let mut tcp = client.tcp();
    let mut buffer = vec![0; 1 << 20];
    thread::sleep(Duration::from_secs(4));
    loop {
        match tcp.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => ensure!(started.elapsed() < PATIENCE, "it goes on sending"),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                bail!("still connected");
            }
            Err(_) => return Ok(()),
        }
    }
}

/// Without descriptors it waits, says so briefly, and serves again when there are some.
fn out_of_descriptors(subject: &Subject<'_>) -> Result<()> {
    let running = subject.program.start(subject.scheme)?;
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: Some(64), maximum: Some(64) };
    prlimit(pid, Resource::Nofile, limit).context("limit its descriptors")?;
    let crowd = (0..100).map(|_| connect(running.address())).collect::<Result<Vec<_>>>()?;
    let deadline = Instant::now() + PATIENCE;
    while running.stderr().to_lowercase().matches("too many open files").count() == 0 {
        ensure!(Instant::now() < deadline, "it never said that it ran out");
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(500));
    let lines = running.stderr().lines().count();
    ensure!(lines <= 3, "{lines} lines of log");
    drop(crowd);
    subject.answers(&running)
}

/// A second server on the same port ends with one line.
fn port_in_use(subject: &Subject<'_>, address: SocketAddr) -> Result<()> {
    let output = Command::new(subject.program.path())
        .args(["--port", &address.port().to_string()])
        .env_remove("PORT")
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "it ended with success");
    ensure!(output.stdout.is_empty(), "it announced itself");
    ensure!(stderr.lines().count() == 1 && stderr.contains("in use"), "it said {stderr:?}");
    Ok(())
}

/// Clients in a loop while it stops: each request that was sent is answered in full, or its
/// connection was closed before a byte of the answer; none of the latter on a connection the server
/// had not announced to close, except for the moment of the close itself.
fn stop_under_load(subject: &Subject<'_>) -> Result<()> {
    let mut running = subject.program.start(subject.scheme)?;
    let (answered, stopping) = (AtomicU64::new(0), AtomicBool::new(false));
    let address = running.address();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| keep_asking(subject, address, &answered, &stopping)))
            .collect();
        let deadline = Instant::now() + PATIENCE;
        while answered.load(Ordering::Relaxed) < 400 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        stopping.store(true, Ordering::Release);
        running.signal(Signal::TERM)?;
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        let status = running.wait()?;
        ensure!(status.success(), "it ended with {status}");
        ensure!(TcpStream::connect(address).is_err(), "somebody still listens");
        Ok(())
    })
}

/// Asks on one connection until the server says it closes; a lost answer is an error.
fn keep_asking(
    subject: &Subject<'_>,
    address: SocketAddr,
    answered: &AtomicU64,
    stopping: &AtomicBool,
) -> Result<()> {
    let mut client = Client::connect(address, subject.scheme)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let response = client.request(subject.right).with_context(|| {
            format!("a lost request (stopping: {})", stopping.load(Ordering::Acquire))
        })?;
        ensure!(response.status < 300, "status {}", response.status);
        answered.fetch_add(1, Ordering::Relaxed);
        if response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            ensure!(stopping.load(Ordering::Acquire), "closed without a stop");
            ensure!(client.read_to_end()?.is_empty(), "more after the last answer");
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "it goes on after the signal");
    }
}

/// With a request in flight the first signal waits, the second does not.
fn second_signal(subject: &Subject<'_>) -> Result<()> {
    let mut running = subject.program.start(subject.scheme)?;
    let mut client = running.connect()?;
    client.send("GET / HTTP/1.1\r\nHo")?;
    // Another exchange, so that the half head has certainly been seen.
    subject.answers(&running)?;
    running.signal(Signal::TERM)?;
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(running.address()).is_ok() {
        ensure!(Instant::now() < deadline, "it still accepts");
    }
    ensure!(running.is_running()?, "it did not wait for the request in flight");
    running.signal(Signal::INT)?;
    let signalled = Instant::now();
    let status = running.wait()?;
    ensure!(
        !status.success(),
        "the second signal ended it with success after {:?}",
        signalled.elapsed()
    );
    Ok(())
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let tcp = TcpStream::connect(address).context("connect")?;
    tcp.set_read_timeout(Some(PATIENCE))?;
    Ok(tcp)
}

/// Expects the server to close, whatever it says before.
fn closes_within(tcp: &mut TcpStream, limit: Duration) -> Result<()> {
    let started = Instant::now();
    let mut buffer = [0; 1024];
    while tcp.read(&mut buffer).is_ok_and(|length| length > 0) {}
    ensure!(started.elapsed() < limit, "closed after {:?}", started.elapsed());
    let _ = tcp.shutdown(Shutdown::Both);
    Ok(())
}
