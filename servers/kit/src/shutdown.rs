//! The signals that stop a server.

use std::{io, process};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The stop signals of this process: SIGINT and SIGTERM.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Takes over both signals. Must be called in a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next of them and returns its number.
    pub(crate) async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    }

    /// Ends the process at once when one more comes: the user has no patience left.
    pub(crate) async fn exit_on_next(mut self) {
        let number = self.next().await;
        process::exit(128 + number);
    }
}
