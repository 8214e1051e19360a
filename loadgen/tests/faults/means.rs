//! Means to do harm with: servers as processes of their own, wrapped commands, shared waits.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::python;
use crate::support::until;

/// A process that is killed with its test.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts it with nothing on its streams.
    pub(crate) fn start(command: &mut Command) -> Self {
        let null = Stdio::null;
        Self(command.stdin(null()).stdout(null()).stderr(null()).spawn().unwrap())
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server in a process of its own, which notes when it has answered 50 requests.
pub(crate) struct Stub {
    pub(crate) process: Process,
    pub(crate) url: String,
    notes: tempfile::NamedTempFile,
}

impl Stub {
    /// Starts the contender of the tests as a server, wrong in the way `mode`, by `wrapper` such as
    /// `taskset -c 0`.
    pub(crate) fn start(mode: &str, wrapper: &[&str]) -> Self {
        let notes = tempfile::NamedTempFile::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(python());
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compare/contender.py"));
        let mut command = through(wrapper, &command);
        command.env("HOST", "127.0.0.1").env("PORT", port.to_string());
        command.env("MODE", mode).env("NOTES", notes.path());
        let process = Process::start(&mut command);
        let stub = Self { process, url: format!("http://127.0.0.1:{port}/"), notes };
        until(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        stub
    }

    /// Waits until it has answered 50 requests.
    pub(crate) fn await_load(&self) {
        until(|| std::fs::read_to_string(self.notes.path()).unwrap().contains("answered 50"));
    }
}

/// `command` as the last arguments of `wrapper`, in the same environment.
pub(crate) fn through(wrapper: &[&str], command: &Command) -> Command {
    let program = wrapper.first().map_or(command.get_program(), |program| program.as_ref());
    let mut wrapped = Command::new(program);
    if let Some((_, arguments)) = wrapper.split_first() {
        wrapped.args(arguments).arg(command.get_program());
    }
    wrapped.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

/// The first of the CPUs this process may use, and how many they are.
pub(crate) fn cpus() -> (String, usize) {
    let allowed = loadgen::experiment::pins::allowed_cpus().unwrap();
    (allowed[0].to_string(), allowed.len())
}

/// A folder that looks like this project to programs started in it.
pub(crate) fn workspace(folder: &Path) {
    std::fs::create_dir_all(folder.join("servers/kit")).unwrap();
    std::fs::write(folder.join("servers/kit/Cargo.toml"), "").unwrap();
    std::fs::create_dir_all(folder.join("runtimes")).unwrap();
}
