//! client-upload through its binary: the right bytes, little memory, and clear words where it fails.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use loadgen::engine::StopFlag;
use loadgen::experiment::client::{Checked, Expected, Receiver, Task, Upload, check};
use loadgen::experiment::contender::Allowance;
use loadgen::experiment::pins;
use loadgen::scenario::{Scenario, Suite};

/// The largest file of the scenarios, bytes.
const LARGEST: usize = 100_450_390;

fn client(file: &Path, port: u16) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_client-upload"));
    command.env("HOST", "127.0.0.1").env("PORT", port.to_string()).env("UPLOAD_FILE", file);
    command
}

fn scenario() -> anyhow::Result<Scenario> {
    let suite = Suite::load(None, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data"))?;
    suite.scenario("upload-1kb").cloned().context("the scenario")
}

/// Content that is nowhere the same for long.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

fn upload(length: usize) -> anyhow::Result<Checked> {
    let folder = tempfile::tempdir()?;
    let upload = Upload {
        body: content(length),
        file: folder.path().join("file.bin"),
        timeout: Duration::from_secs(30),
    };
    let cpus = pins::allowed_cpus()?;
    let allowance = Allowance { cpus: &cpus, cpu_quota: None };
    let command = |task: &Task, port| {
        let mut command = client(&task.file, port);
        command.envs(task.env());
        Ok(command)
    };
    Ok(check(&scenario()?, upload, command, allowance, &StopFlag::new())?)
}

#[test]
fn every_byte_arrives_at_every_size() -> anyhow::Result<()> {
    // Around the sizes in which the body is given to hyper, and larger than a socket takes at once.
    for length in [0, 1, 1_095, 262_143, 262_144, 262_145, 20_000_000] {
        let checked = upload(length)?;
        assert_eq!(checked.shape.body_bytes, length);
        assert_eq!(checked.shape.framing, "content-length");
        assert_eq!(checked.shape.content_type.as_deref(), Some("text/plain"));
    }
    Ok(())
}

#[test]
fn memory_does_not_depend_on_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.bin");
    let body = content(LARGEST);
    std::fs::write(&file, &body).unwrap();
    let receiver = Receiver::start(Expected {
        method: "POST".into(),
        path: "/".into(),
        media_type: None,
        body: body.into(),
    })
    .unwrap();
    let mut child = client(&file, receiver.port())
        .args(["--warmup-seconds", "0", "--seconds", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.take(2).map(Result::unwrap).collect();
    assert!(lines[0] == "window opened" && lines[1].starts_with("{\"uploads\":1,"), "{lines:?}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let received = receiver.finish();
    assert_eq!((received.uploads, received.wrong), (2, None));
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 12 * 1024, "{peak}");
}

/// Runs the client against a server that answers the first connection with `answer`.
fn against(answer: &'static str) -> anyhow::Result<Output> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file.bin");
    std::fs::write(&file, content(5))?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let mut request = Vec::new();
        while !request.ends_with(&content(5)) {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            request.push(byte[0]);
        }
        stream.write_all(answer.as_bytes())
    });
    let output = client(&file, port).stdin(Stdio::null()).output()?;
    server.join().expect("the server does not panic")?;
    Ok(output)
}

#[test]
fn what_failed_is_one_line_and_an_exit_status() -> anyhow::Result<()> {
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let last = |output: &Output| stderr(output).lines().last().unwrap_or_default().to_owned();
    let output = against("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")?;
    assert_eq!(output.status.code(), Some(1));
    let answered = "file.bin: answered 500 Internal Server Error, not 204 No Content";
    assert!(last(&output).ends_with(answered), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let closed = last(&against("")?);
    assert!(closed.contains("file.bin: the connection failed: "), "{closed}");

    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port();
    drop(taken);
    let refused = client(Path::new("Cargo.toml"), port).output()?;
    let words = format!("Cargo.toml: cannot connect to 127.0.0.1:{port}: ");
    assert!(last(&refused).contains(&words), "{refused:?}");
    let missing = client(Path::new("/no/such/file"), port).output()?;
    assert!(last(&missing).contains("/no/such/file: cannot read the file: "), "{missing:?}");
    Ok(())
}
