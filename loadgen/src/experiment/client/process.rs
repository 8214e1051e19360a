//! A client as a process: what it is asked for, and what it says on its standard output.
//!
//! It prints the line `window opened` when its warm-up is over, and one line of JSON when its window
//! has ended. Then it waits for the end of its standard input, so that its counters can be read.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Deserialize;

use super::super::contender::{self, Allowance};
use super::super::preflight::{NotReady, exit_in_words};
use super::super::process_group::ProcessGroup;
use crate::engine::StopFlag;

/// The line that says that the window has opened.
const OPENED: &str = "window opened";
/// Bound on a line: a result has some thousand times in it.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// How often the flag that a signal raises is looked at while nothing comes.
const POLL: Duration = Duration::from_millis(50);
/// How long a client may take to end when it has nothing left to do.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Times above this are counted as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// What a client is asked for.
#[derive(Clone, Debug)]
pub struct Task {
    /// The file to upload.
    pub file: PathBuf,
    /// Uploads before the window.
    pub warmup: Duration,
    /// The window.
    pub window: Duration,
}

impl Task {
    /// The same as environment of the client.
    pub fn env(&self) -> BTreeMap<String, String> {
        let seconds = |time: Duration| time.as_secs_f64().to_string();
        BTreeMap::from([
            ("UPLOAD_FILE".into(), self.file.display().to_string()),
            ("UPLOAD_WARMUP_SECONDS".into(), seconds(self.warmup)),
            ("UPLOAD_SECONDS".into(), seconds(self.window)),
        ])
    }
}

/// What a client says of its window.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct UploadResult {
    /// Uploads that were answered 204.
    pub uploads: u64,
    /// Uploads that were not, before or in the window.
    pub failed: u64,
    /// Why, for the first of them.
    pub failure: Option<String>,
    /// Bytes of the files in these uploads.
    pub bytes: u64,
    /// Length of the window, s.
    pub elapsed_s: f64,
    /// Uploads before the window that were answered 204.
    pub warmup_uploads: u64,
    /// Times in µs, and how many uploads took each.
    pub latency_us_counts: Vec<(f64, u64)>,
    /// Uploads completed in each tenth of a second.
    #[serde(default)]
    pub timeline: Vec<u64>,
}

impl UploadResult {
    /// The times of all uploads, ns.
    ///
    /// # Errors
    /// They are not those of as many uploads, or no times.
    pub fn times_ns(&self) -> Result<Histogram<u64>, String> {
        let mut times =
            Histogram::new_with_bounds(1, LONGEST_NS, 3).map_err(|error| error.to_string())?;
        for &(us, count) in &self.latency_us_counts {
            if !us.is_finite() || us < 0.0 {
                return Err(format!("the client tells a time of {us} µs"));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            let ns = (us * 1e3).round() as u64;
            times.record_n(ns.clamp(1, LONGEST_NS), count).map_err(|error| error.to_string())?;
        }
        if times.len() != self.uploads {
            let (timed, uploads) = (times.len(), self.uploads);
            return Err(format!("the client tells {uploads} uploads, but the times of {timed}"));
        }
        Ok(times)
    }
}

/// A client that runs.
pub(super) struct ClientProcess {
    pub(super) group: ProcessGroup,
    lines: Receiver<String>,
    stdin: Option<ChildStdin>,
}

impl ClientProcess {
    /// Starts a client.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(
        mut command: Command,
        allowance: Allowance<'_>,
        label: &str,
    ) -> std::io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut group = contender::start(command, allowance, label)?;
        let (stdin, stdout) = group.take_pipes();
        let (lines, received) = mpsc::channel();
        if let Some(stdout) = stdout {
            std::thread::Builder::new()
                .name("client's output".into())
                .spawn(move || forward(stdout, &lines))?;
        }
        Ok(Self { group, lines: received, stdin })
    }

    /// Waits until the window opens.
    ///
    /// # Errors
    /// It ended before, or did not open its window in time.
    pub(super) fn window_opened(
        &mut self,
        within: Duration,
        stop: &StopFlag,
    ) -> Result<(), NotReady> {
        let opened = self.line_that(|line| line == OPENED, within, stop)?;
        match opened {
            Line::Found(_) => Ok(()),
            Line::Ended => Err(NotReady::Died(self.exit_in_words())),
            Line::Late => Err(NotReady::TimedOut {
                timeout: within,
                last: format!("it did not print the line {OPENED:?}"),
            }),
        }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// It ended before, did not end its window in time, or its result cannot be read.
    pub(super) fn result(
        &mut self,
        within: Duration,
        stop: &StopFlag,
    ) -> Result<UploadResult, NotReady> {
        let found = self.line_that(|line| line.starts_with('{'), within, stop)?;
        match found {
            Line::Found(line) => serde_json::from_str(&line)
                .map_err(|error| NotReady::Wrong(format!("its result cannot be read: {error}"))),
            Line::Ended => {
                let words = self.exit_in_words();
                Err(NotReady::Wrong(format!("ended during the measurement: {words}")))
            }
            Line::Late => Err(NotReady::Wrong(format!("its window did not end in {within:.0?}"))),
        }
    }

    /// The next line that is wanted; others are passed over.
    fn line_that(
        &mut self,
        wanted: impl Fn(&str) -> bool,
        within: Duration,
        stop: &StopFlag,
    ) -> Result<Line, NotReady> {
        let end = Instant::now() + within;
        while Instant::now() < end {
            if stop.is_raised() {
                return Err(NotReady::Interrupted);
            }
            match self.lines.recv_timeout(POLL) {
                Ok(line) if wanted(&line) => return Ok(Line::Found(line)),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Line::Ended),
            }
        }
        Ok(Line::Late)
    }

    /// Closes its input and waits for its end.
    ///
    /// # Errors
    /// It did not end well.
    pub(super) fn finish(&mut self) -> Result<(), NotReady> {
        self.stdin = None;
        match self.wait() {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let words = exit_in_words(status);
                Err(NotReady::Wrong(format!("ended badly after its window: {words}")))
            }
            None => Err(NotReady::Wrong("it did not end when its input did".into())),
        }
    }

    fn exit_in_words(&mut self) -> String {
        self.wait().map_or_else(|| "it closed its output and went on".into(), exit_in_words)
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        self.group.wait_for_exit(EXIT_TIMEOUT)
    }
}

/// What waiting for a line came to.
enum Line {
    Found(String),
    Ended,
    Late,
}

/// Sends each line of `stdout`, until its end or one that is too long.
fn forward(stdout: ChildStdout, lines: &Sender<String>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(length) if length > 0 && line.ends_with(b"\n") => {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if lines.send(line).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(script: &str) -> ClientProcess {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let cpus = super::super::super::pins::allowed_cpus().unwrap();
        let allowance = Allowance { cpus: &cpus, cpu_quota: None };
        ClientProcess::start(command, allowance, "client-process-test").unwrap()
    }

    const WITHIN: Duration = Duration::from_secs(10);
    const RESULT: &str = r#"{"uploads":3,"failed":0,"failure":null,"bytes":30,"elapsed_s":0.5,
        "warmup_uploads":1,"latency_us_counts":[[100,2],[250.5,1]],"latency_us":{"p50":100}}"#;

    #[test]
    fn a_client_opens_its_window_tells_its_result_and_waits_for_the_end_of_its_input() {
        let stop = StopFlag::default();
        let result = RESULT.replace('\n', "");
        let script = format!("echo noise; echo 'window opened'; echo '{result}'; read end; exit 0");
        let mut client = client(&script);
        client.window_opened(WITHIN, &stop).unwrap();
        let result = client.result(WITHIN, &stop).unwrap();
        assert_eq!((result.uploads, result.bytes, result.warmup_uploads), (3, 30, 1));
        assert!(client.group.exit().is_none(), "its counters can be read");
        client.finish().unwrap();
    }

    #[test]
    fn a_client_that_ends_early_is_told_by_its_exit_status() {
        let stop = StopFlag::default();
        let died = client("exit 3").window_opened(WITHIN, &stop).unwrap_err();
        assert_eq!(died.to_string(), "ended before it was ready: exit status 3");
        let mut early = client("echo window opened; kill -15 $$");
        early.window_opened(WITHIN, &stop).unwrap();
        let died = early.result(WITHIN, &stop).unwrap_err();
        assert_eq!(died.to_string(), "ended during the measurement: signal 15");
        let mut bad = client("echo window opened; echo '{}'; read end; exit 1");
        bad.window_opened(WITHIN, &stop).unwrap();
        let wrong = bad.result(WITHIN, &stop).unwrap_err();
        assert!(wrong.to_string().starts_with("its result cannot be read: missing field"));
        let wrong = bad.finish().unwrap_err();
        assert_eq!(wrong.to_string(), "ended badly after its window: exit status 1");
    }

    #[test]
    fn a_silent_client_is_not_waited_for_for_ever() {
        let stop = StopFlag::default();
        let mut silent = client("read end");
        let late = silent.window_opened(Duration::from_millis(1), &stop).unwrap_err();
        assert!(late.to_string().contains("it did not print the line \"window opened\""), "{late}");
    }

    #[test]
    fn times_belong_to_uploads() {
        let mut result: UploadResult = serde_json::from_str(RESULT).unwrap();
        let times = result.times_ns().unwrap();
        assert_eq!((times.len(), times.value_at_quantile(0.5)), (3, 100_031));
        result.uploads = 4;
        let message = result.times_ns().unwrap_err();
        assert_eq!(message, "the client tells 4 uploads, but the times of 3");
        result.latency_us_counts.push((-1.0, 1));
        assert_eq!(result.times_ns().unwrap_err(), "the client tells a time of -1 µs");
    }
}
