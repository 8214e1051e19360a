//! Runs the real binary, and holds every JSON result to the schema and to arithmetic.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A run that takes longer than this hangs.
const HANGS: Duration = Duration::from_secs(60);

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Exit status, `None` for a signal.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// The result; `null` if there is none on standard output.
    pub(crate) json: Value,
    /// Wall time of the process.
    pub(crate) wall: Duration,
}

impl Outcome {
    /// A whole number of the result, by path such as `requests.sent`.
    pub(crate) fn count(&self, path: &str) -> u64 {
        self.get(path).as_u64().unwrap_or_else(|| panic!("{path} is not a count: {self:#?}"))
    }

    /// A number of the result.
    pub(crate) fn number(&self, path: &str) -> f64 {
        self.get(path).as_f64().unwrap_or_else(|| panic!("{path} is not a number: {self:#?}"))
    }

    /// A value of the result.
    pub(crate) fn get(&self, path: &str) -> &Value {
        path.split('.').fold(&self.json, |value, key| &value[key])
    }

    /// How often a kind of error was counted.
    pub(crate) fn errors(&self, kind: &str) -> u64 {
        self.get(&format!("errors.{kind}.count")).as_u64().unwrap_or(0)
    }

    /// The first error of a kind, in words.
    pub(crate) fn example(&self, kind: &str) -> &str {
        self.get(&format!("errors.{kind}.example")).as_str().unwrap_or("")
    }

    /// Asserts that nothing at all went wrong.
    #[track_caller]
    pub(crate) fn assert_all_right(&self) {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert_eq!(self.get("errors").as_object().map(serde_json::Map::len), Some(0), "{self:#?}");
        assert_eq!(self.count("requests.failed") + self.count("requests.timed_out"), 0);
    }
}

/// `loadgen run --format json ARGS`, with the result checked.
#[track_caller]
pub(crate) fn loadgen(args: &[&str]) -> Outcome {
    let mut all = vec!["run", "--format", "json"];
    all.extend(args);
    let outcome = loadgen_raw(&all);
    assert!(!outcome.json.is_null(), "no JSON: {outcome:#?}");
    check(&outcome);
    outcome
}

/// `loadgen ARGS`, whatever comes of it.
#[track_caller]
pub(crate) fn loadgen_raw(args: &[&str]) -> Outcome {
    spawn(args).wait()
}

/// A process that has been started.
pub(crate) struct Running {
    child: Child,
    started: Instant,
}

/// Starts `loadgen ARGS` with its streams in pipes, and nothing on standard input.
pub(crate) fn spawn(args: &[&str]) -> Running {
    start(Command::new(env!("CARGO_BIN_EXE_loadgen")).args(args), b"")
}

/// Starts a command, as [`spawn`], with these bytes on standard input.
pub(crate) fn start(command: &mut Command, input: &[u8]) -> Running {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input may be gone already.
        let _ = stdin.write_all(input);
    }
    Running { child, started }
}

impl Running {
    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// A line of `/proc/PID/status` in KiB, such as `VmHWM`.
    pub(crate) fn status_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Whether it has ended; it can still be waited for.
    pub(crate) fn has_ended(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    }

    /// Waits for the end, but not for ever.
    #[track_caller]
    pub(crate) fn wait(self) -> Outcome {
        let Self { child, started } = self;
        let pid = Pid::from_child(&child);
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send((child.wait_with_output(), started.elapsed())));
        let Ok((output, wall)) = ended.recv_timeout(HANGS) else {
            let _ = kill_process(pid, Signal::KILL);
            panic!("still running after {HANGS:?}");
        };
        let output = output.unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        let json = serde_json::from_str(&stdout).unwrap_or(Value::Null);
        Outcome { code: output.status.code(), stdout, stderr, json, wall }
    }
}

/// Waits until `condition` holds, but not for ever.
#[track_caller]
pub(crate) fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < HANGS, "does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What holds for every result.
#[track_caller]
pub(crate) fn check(outcome: &Outcome) {
    let errors: Vec<String> = validator()
        .iter_errors(&outcome.json)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "against the schema: {errors:#?}\n{outcome:#?}");
    let ended = ["completed", "failed", "timed_out", "in_flight_at_end"];
    let ended: u64 = ended.iter().map(|end| outcome.count(&format!("requests.{end}"))).sum();
    assert_eq!(outcome.count("requests.sent"), ended, "a request is lost: {outcome:#?}");
    let completed = outcome.count("requests.completed");
    assert_eq!(outcome.count("service_time_us.count"), completed);
    if completed > 0 {
        let order = ["min", "p25", "p50", "p75", "p90", "p95", "p99", "p99_9", "max"];
        let times = order.map(|figure| outcome.number(&format!("service_time_us.{figure}")));
        assert!(times.is_sorted(), "{times:?}");
        let rate = completed as f64 / outcome.number("elapsed_s");
        assert!((rate / outcome.number("rate_per_s") - 1.0).abs() < 0.001, "{outcome:#?}");
    }
    let status =
        match (completed, outcome.get("errors").as_object().map_or(0, serde_json::Map::len)) {
            (0, _) => 3,
            (_, 0) => 0,
            _ => 1,
        };
    assert_eq!(outcome.code, Some(status), "{outcome:#?}");
}

fn validator() -> &'static jsonschema::Validator {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let schema = include_str!("../../schema/run.schema.json");
        jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
    })
}
