//! Runs `loadgen compare` with a suite of its own and reads what came out.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The scenario most tests use.
pub(crate) const HELLO: &str = "[[scenario]]\nname = \"hello\"\n\
    answer = { media_type = \"text/plain\", content = { text = \"Hello world!\" } }\n\
    connections = { test = [4] }\n";

const PROFILE: &str = "[profiles.test]\ntrials = 1\nwarmup = \"50ms\"\nduration = \"600ms\"\n\
    ready_timeout = \"30s\"\n";

/// A `[[contender]]` on the stub. `{notes}` in a value is a file of the bench.
pub(crate) fn contender(name: &str, scenario: &str, env: &[(&str, &str)]) -> String {
    let stub = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compare/contender.py");
    let env: Vec<String> = env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    format!(
        "[[contender]]\nname = {name:?}\nscenarios = [{scenario:?}]\n\
         command = [{:?}, {stub:?}]\nenv = {{ {} }}\n",
        python().display().to_string(),
        env.join(", ")
    )
}

/// The Python program itself: a wrapper in front of it would be the process that is measured.
pub(crate) fn python() -> PathBuf {
    let output = Command::new("python3")
        .args(["-c", "import os, sys; print(os.path.realpath(sys.executable))"])
        .output()
        .expect("these tests need python3");
    String::from_utf8(output.stdout).expect("a path").trim().into()
}

/// A comparison of a test that takes longer than this hangs.
const HANGS: Duration = Duration::from_secs(180);

pub(crate) fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("loadgen starts")
}

/// A folder with a suite.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A bench with the suite made of `parts`.
    pub(crate) fn new(parts: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let notes = folder.path().join("notes").display().to_string();
        let suite = format!("{PROFILE}{}", parts.concat()).replace("{notes}", &notes);
        std::fs::write(folder.path().join("suite.toml"), suite).expect("the suite is written");
        Self { folder }
    }

    /// Where the result goes.
    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Where kept checks are looked for: none of this machine's own.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn loadgen(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
        command.env("XDG_STATE_HOME", self.state());
        command
    }

    /// The suite's file.
    pub(crate) fn suite(&self) -> PathBuf {
        self.folder.path().join("suite.toml")
    }

    /// Goes on with the comparison that was ended.
    pub(crate) fn resume(&self) -> Outcome {
        self.resume_with(&[])
    }

    /// The same with more arguments.
    pub(crate) fn resume_with(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.loadgen();
        command.arg("compare").arg("--resume").arg(self.out()).args(arguments);
        self.outcome(spawn(&mut command))
    }

    /// Lists the suite.
    pub(crate) fn list(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.loadgen();
        command.arg("list").arg("--config").arg(self.suite()).args(arguments);
        self.outcome(spawn(&mut command))
    }

    /// Starts the comparison.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        spawn(&mut self.command(arguments))
    }

    /// The command of the comparison.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.loadgen();
        command.arg("compare");
        if !arguments.contains(&"--profile") {
            command.args(["--profile", "test"]);
        }
        command.arg("--config").arg(self.suite()).arg("--out").arg(self.out()).args(arguments);
        command
    }

    /// Runs the comparison to its end.
    pub(crate) fn compare(&self, arguments: &[&str]) -> Outcome {
        self.outcome(self.start(arguments))
    }

    /// Waits for a comparison that was started, but not for ever.
    pub(crate) fn outcome(&self, child: Child) -> Outcome {
        let pid = Pid::from_child(&child);
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = ended.recv_timeout(HANGS) else {
            let _ = kill_process(pid, Signal::KILL);
            panic!("still running after {HANGS:?}");
        };
        let output = output.expect("loadgen ends");
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            folder: self.out(),
        }
    }

    /// Process ids that contenders noted.
    pub(crate) fn noted_pids(&self) -> Vec<u32> {
        let notes = self.notes();
        let pids = notes.lines().filter_map(|line| line.strip_prefix("pid ")?.parse().ok());
        pids.collect()
    }

    /// What contenders noted, a line each.
    pub(crate) fn notes(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("notes")).unwrap_or_default()
    }
}

/// What a comparison left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    folder: PathBuf,
}

impl Outcome {
    /// `result.json`, which follows its schema.
    pub(crate) fn result(&self) -> Value {
        let text = std::fs::read(self.folder.join("result.json"));
        let text = text.unwrap_or_else(|error| panic!("no result.json ({error}): {self:?}"));
        let result = serde_json::from_slice(&text).expect("result.json is JSON");
        let schema = include_str!("../../schema/compare.schema.json");
        let schema = serde_json::from_str(schema).expect("the schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("the schema is one");
        let errors: Vec<_> = validator.iter_errors(&result).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "against the schema: {errors:#?}");
        result
    }

    /// `report.md`.
    pub(crate) fn report(&self) -> String {
        std::fs::read_to_string(self.folder.join("report.md")).expect("report.md")
    }

    /// The cell of a contender.
    pub(crate) fn cell(&self, contender: &str) -> Value {
        let result = self.result();
        let cells = result["cells"].as_array().expect("cells");
        let cell = cells.iter().find(|cell| cell["contender"] == contender);
        cell.unwrap_or_else(|| panic!("no cell of {contender}: {self:?}")).clone()
    }

    /// Why a cell has its verdict.
    pub(crate) fn reason(&self, contender: &str) -> String {
        self.cell(contender)["reason"].as_str().expect("a reason").to_owned()
    }
}

/// Those of `pids` that still run the stub.
pub(crate) fn processes_named_in(pids: &[u32]) -> Vec<u32> {
    let runs = |pid: &&u32| {
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
        line.is_ok_and(|line| String::from_utf8_lossy(&line).contains("contender.py"))
    };
    pids.iter().filter(runs).copied().collect()
}
