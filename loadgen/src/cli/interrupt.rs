//! Signals: the first Ctrl-C ends the run and keeps what was measured, the second exits at once.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::EXIT_INTERRUPTED;
use crate::engine::StopFlag;

static STOP: StopFlag = StopFlag::new();

/// Installs the handlers and returns the flag that SIGINT, SIGTERM and SIGHUP raise.
///
/// # Errors
/// The operating system refused a handler or a thread.
pub fn install() -> io::Result<&'static StopFlag> {
    // With a handler, a write beyond `ulimit -f` is an error that is told instead of the end.
    let mut watched = vec![SIGINT, SIGTERM, SIGXFSZ];
    // Under nohup the run goes on without its terminal.
    if !is_ignored(SIGHUP) {
        watched.push(SIGHUP);
    }
    let mut signals = Signals::new(watched)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGXFSZ => {}
                // A terminal that closes sends it by the kernel and by the shell: twice is once.
                SIGHUP => STOP.raise(),
                _ if STOP.is_raised() => std::process::exit(i32::from(EXIT_INTERRUPTED)),
                _ => STOP.raise(),
            }
        }
    })?;
    Ok(&STOP)
}

/// Whether this process was started with `signal` ignored (`SigIgn` of proc(5)).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}
