//! Terminals that are resized, closed, or not there.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{Bench, HELLO, contender, processes_named_in};
use crate::means::through;
use crate::support::{Next, Server, ok, until};

/// Ctrl-S: the terminal takes nothing more, and every write to it waits.
const STOP: Action = Action::Type(b'\x13');
/// Ctrl-Q: it goes on.
const CONTINUE: Action = Action::Type(b'\x11');

/// What is done to a terminal.
enum Action {
    /// Columns and rows.
    Resize(u16, u16),
    /// A key.
    Type(u8),
    Close,
}

/// A terminal with a program on it.
struct Terminal {
    actions: Sender<Action>,
    shown: Arc<Mutex<Vec<u8>>>,
    child: Child,
}

impl Terminal {
    /// Starts `command` as the leader of a session on a new terminal.
    fn start(command: &Command) -> Self {
        Self::start_with(command, true)
    }

    /// The same on one whose buffer is full, and which nobody reads.
    fn start_unread(command: &Command) -> Self {
        Self::start_with(command, false)
    }

    fn start_with(command: &Command, is_read: bool) -> Self {
        let controller =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let mut options = File::options();
        options.read(true).write(true);
        if !is_read {
            let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
            let mut terminal = options.clone().custom_flags(nonblocking).open(&name).unwrap();
            while terminal.write(b"x").is_ok() {}
        }
        let terminal = || options.open(&name).unwrap();
        // Tests may themselves run under nohup.
        let child = through(&["env", "--default-signal=HUP", "setsid", "--ctty"], command)
            .env("TERM", "xterm")
            .stdin(terminal())
            .stdout(terminal())
            .stderr(terminal())
            .spawn()
            .unwrap();
        let ((actions, asked), shown) = (channel(), Arc::default());
        let seen = Arc::clone(&shown);
        std::thread::spawn(move || follow(&controller, &asked, is_read.then_some(&seen)));
        Self { actions, shown, child }
    }

    fn act(&self, action: Action) {
        self.actions.send(action).unwrap();
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits for the end of the program, but not for ever; its exit status.
    fn wait(&mut self) -> Option<i32> {
        let ended = Mutex::new(&mut self.child);
        until(|| ended.lock().unwrap().try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }
}

/// Shows what is written to a terminal if it is to be read at all, and does to it what is asked, until it
/// is closed.
fn follow(controller: &OwnedFd, asked: &Receiver<Action>, shown: Option<&Arc<Mutex<Vec<u8>>>>) {
    let mut buffer = [0; 4096];
    let tick = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    loop {
        match asked.try_recv() {
            Ok(Action::Resize(columns, rows)) => {
                let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
                tcsetwinsize(controller, size).unwrap();
            }
            Ok(Action::Type(key)) => {
                rustix::io::write(controller, &[key]).unwrap();
            }
            Ok(Action::Close) | Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {}
        }
        let Some(shown) = shown else {
            std::thread::sleep(std::time::Duration::from_millis(5));
            continue;
        };
        let mut ready = [PollFd::new(controller, PollFlags::IN)];
        if poll(&mut ready, Some(&tick)).unwrap() > 0 {
            // Fails with EIO when no program has the terminal open.
            match rustix::io::read(controller, &mut buffer) {
                Ok(count) => shown.lock().unwrap().extend_from_slice(&buffer[..count]),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        }
    }
}

fn loadgen(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.args(arguments);
    command
}

/// A run that writes its result to a file, and the server that it loads.
struct RunToFile {
    server: Server,
    folder: TempDir,
}

impl RunToFile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { server: Server::canned(ok("ok"), Next::Keep), folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("result.json")
    }

    fn command(&self, duration: &str) -> Command {
        let mut command = loadgen(&["run", "-d", duration, "-c", "2", "--format", "json", "-o"]);
        command.arg(self.file()).arg(self.server.url("/"));
        command
    }

    fn result(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }
}

#[test]
fn a_resized_terminal_is_drawn_on() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let mut terminal =
        Terminal::start(&loadgen(&["run", "-d", "50s", "-c", "2", &server.url("/")]));
    until(|| terminal.shown().contains("requests/s, p50 "));
    for (columns, rows) in [(0, 0), (1, 1), (20, 2), (500, 200), (80, 24)] {
        terminal.act(Action::Resize(columns, rows));
    }
    let before = terminal.shown().len();
    until(|| terminal.shown().len() > before + 200);
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.shown());
    until(|| terminal.shown().contains("closed loop, 2 connections"));
}

#[test]
fn a_closed_terminal_ends_the_run_and_its_result_is_in_the_file() {
    let run = RunToFile::new();
    let mut terminal = Terminal::start(&run.command("50s"));
    until(|| run.server.requests() > 500);
    terminal.act(Action::Close);
    assert_eq!(terminal.wait(), Some(0));
    let result = run.result();
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["requests"]["sent"], run.server.requests());
}

#[test]
fn a_closed_terminal_ends_the_comparison_and_keeps_its_trials() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])]);
    let mut terminal = Terminal::start(&bench.command(&["--trials", "200", "--duration", "2s"]));
    until(|| bench.noted_pids().len() >= 3);
    terminal.act(Action::Close);
    assert_eq!(terminal.wait(), Some(130));
    let result: Value =
        serde_json::from_slice(&std::fs::read(bench.out().join("result.json")).unwrap()).unwrap();
    assert_eq!(result["interrupted"], true);
    assert!(result["trials"].as_array().unwrap().len() >= 2);
    assert_eq!(processes_named_in(&bench.noted_pids()), Vec::<u32>::new());
}

#[test]
fn a_terminal_that_nobody_reads_holds_up_neither_a_run_nor_its_end() {
    let run = RunToFile::new();
    let mut terminal = Terminal::start_unread(&run.command("1s"));
    assert_eq!(terminal.wait(), Some(0));
    let result = run.result();
    assert_eq!(result["requests"]["sent"], run.server.requests());
}

#[test]
fn a_stopped_terminal_shows_the_whole_result_when_it_goes_on() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let url = server.url("/");
    let arguments = ["run", "--rate", "1000", "-n", "1500", "-c", "2", &url];
    let mut terminal = Terminal::start(&loadgen(&arguments));
    until(|| terminal.shown().contains("requests/s, p50 "));
    terminal.act(STOP);
    until(|| server.requests() == 1500);
    terminal.act(CONTINUE);
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.shown());
    until(|| terminal.shown().contains("1,500 completed"));
    let shown = terminal.shown();
    let summary = shown.find(&url).unwrap();
    assert!(shown.rfind("requests/s, p50 ").unwrap() < summary, "no bar in it: {shown}");
    assert!(!shown[summary..].contains("\x1b[2K"), "no line of it is removed: {shown}");
}

#[test]
fn a_stopped_terminal_does_not_stop_a_comparison() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])]);
    let tables = bench.out().with_extension("txt");
    let redirected = ["sh", "-c", r#"exec "$@" >"$0""#, tables.to_str().unwrap()];
    let mut terminal = Terminal::start(&through(&redirected, &bench.command(&["--trials", "4"])));
    until(|| !bench.noted_pids().is_empty());
    terminal.act(STOP);
    assert_eq!(terminal.wait(), Some(0));
    let tables = std::fs::read_to_string(tables).unwrap();
    assert!(tables.contains("report.html"), "{tables}");
    let result = std::fs::read(bench.out().join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    assert_eq!(result["trials"].as_array().unwrap().len(), 4);
}

#[test]
fn under_nohup_a_run_goes_on_without_its_terminal() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[("NOTES", "{notes}")])]);
    let nohup = ["sh", "-c", r#"trap "" HUP; exec "$@""#, "sh"];
    let mut terminal = Terminal::start(&through(&nohup, &bench.command(&["--trials", "3"])));
    until(|| !bench.noted_pids().is_empty());
    terminal.act(Action::Close);
    // Each line to a terminal that is gone fails (EIO).
    assert_eq!(terminal.wait(), Some(0));
    let result: Value =
        serde_json::from_slice(&std::fs::read(bench.out().join("result.json")).unwrap()).unwrap();
    assert_eq!(result["interrupted"], false);
    assert_eq!(result["trials"].as_array().unwrap().len(), 3);
}

#[test]
fn two_hangups_are_one_and_keep_the_result() {
    let run = RunToFile::new();
    let mut terminal = Terminal::start(&run.command("50s"));
    until(|| run.server.requests() > 500);
    let program = Pid::from_child(&terminal.child);
    kill_process(program, Signal::HUP).unwrap();
    kill_process(program, Signal::HUP).unwrap();
    assert_eq!(terminal.wait(), Some(0));
    let result = run.result();
    assert_eq!(result["interrupted"], true);
}

#[test]
fn without_any_terminal_a_comparison_is_the_same() {
    let bench = Bench::new(&[HELLO, &contender("one", "hello", &[])]);
    let closed = ["sh", "-c", r#"exec "$@" <&- >&- 2>&-"#, "sh"];
    let mut command = through(&[&["setsid"][..], &closed].concat(), &bench.command(&[]));
    let outcome = bench.outcome(crate::bench::spawn(&mut command));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_ne!(outcome.cell("one")["verdict"], "invalid", "{}", outcome.reason("one"));
}
