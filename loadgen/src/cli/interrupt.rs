//! Ctrl-C: the first ends the run and keeps what was measured, the second exits at once.

use std::io;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::EXIT_INTERRUPTED;
use crate::engine::StopFlag;

static STOP: StopFlag = StopFlag::new();

/// Installs the handlers for SIGINT and SIGTERM and returns the flag that the first signal raises.
///
/// # Errors
/// The operating system refused a handler or a thread.
pub fn install() -> io::Result<&'static StopFlag> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            if STOP.is_raised() {
                std::process::exit(i32::from(EXIT_INTERRUPTED));
            }
            STOP.raise();
        }
    })?;
    Ok(&STOP)
}
