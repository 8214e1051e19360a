//! Before measuring: one short run of a client, every byte of which is compared.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::contender::Allowance;
use super::super::preflight::{AnswerShape, NotReady};
use super::process::{ClientProcess, Task};
use super::receiver::{Expected, Received, Receiver};
use crate::engine::StopFlag;
use crate::scenario::Scenario;

/// What the check of a client found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// From its start to its first whole upload.
    pub ready: Duration,
    /// What its requests look like.
    pub shape: AnswerShape,
}

/// What is uploaded, and how long that may take.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The content of the file.
    pub body: Vec<u8>,
    /// Where it is written to; it is removed afterwards.
    pub file: PathBuf,
    /// Bound on the time until the client has uploaded it.
    pub timeout: Duration,
}

/// Lets the client that `command` makes, for a task and a port, upload a file, and compares what comes.
///
/// # Errors
/// What differed, in one line, or why the client did not run.
pub fn check(
    scenario: &Scenario,
    upload: Upload,
    command: impl FnOnce(&Task, u16) -> Result<Command, NotReady>,
    allowance: Allowance<'_>,
    stop: &StopFlag,
) -> Result<Checked, NotReady> {
    let Upload { body, file, timeout } = upload;
    let file = TemporaryFile::write(file, &body)?;
    let failed = |error: std::io::Error| NotReady::Wrong(error.to_string());
    let receiver = Receiver::start(expected(scenario, body)).map_err(failed)?;
    let task = Task { file: file.0.clone(), warmup: Duration::ZERO, window: Duration::ZERO };
    let command = command(&task, receiver.port())?;
    let began = Instant::now();
    let outcome = run(command, allowance, timeout, stop);
    let received = receiver.finish();
    let claimed = outcome?;
    if let Some(wrong) = received.wrong {
        return Err(NotReady::Wrong(wrong));
    }
    if received.uploads != claimed {
        let counted = received.uploads;
        return Err(NotReady::Wrong(format!("tells {claimed} uploads, but made {counted}")));
    }
    let Received { first_at, shape, .. } = received;
    Ok(Checked { ready: first_at.map_or(Duration::ZERO, |at| at - began), shape })
}

/// Runs the client to its end; returns how many uploads it says it made.
fn run(
    command: Command,
    allowance: Allowance<'_>,
    timeout: Duration,
    stop: &StopFlag,
) -> Result<u64, NotReady> {
    let mut client = ClientProcess::start(command, allowance, "check-client")
        .map_err(|error| NotReady::Wrong(error.to_string()))?;
    client.window_opened(timeout, stop)?;
    let result = client.result(timeout, stop)?;
    result.times_ns().map_err(NotReady::Wrong)?;
    client.finish()?;
    match result.failure {
        Some(failure) => Err(NotReady::Wrong(format!("an upload failed: {failure}"))),
        None => Ok(result.warmup_uploads + result.uploads),
    }
}

fn expected(scenario: &Scenario, body: Vec<u8>) -> Expected {
    let is_type = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
    Expected {
        method: scenario.method.clone(),
        path: scenario.path.clone(),
        media_type: scenario.headers.iter().find(is_type).map(|(_, value)| value.clone()),
        body: body.into(),
    }
}

/// A file that is removed when this value is dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn write(path: PathBuf, bytes: &[u8]) -> Result<Self, NotReady> {
        std::fs::write(&path, bytes)
            .map_err(|error| NotReady::Wrong(format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It is in a folder of the result; left there it harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}
