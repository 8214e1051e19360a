//! Waiting for the end of a child without taking its exit status.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

/// Between two looks where the kernel has no pidfd (before Linux 5.3).
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `child` has ended, and leaves it to be waited for; whether it has within `patience`.
///
/// # Errors
/// It is no child of this process.
pub fn wait_for_exit(child: Pid, patience: Duration) -> io::Result<bool> {
    let end = Instant::now() + patience;
    let Ok(process) = pidfd_open(child, PidfdFlags::empty()) else { return look(child, end) };
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The same by looking again and again.
fn look(child: Pid, end: Instant) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(child), options) {
            Ok(Some(_)) => return Ok(true),
            Ok(None) if Instant::now() >= end => return Ok(false),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    type Wait = fn(Pid, Duration) -> io::Result<bool>;

    #[test]
    fn an_end_is_seen_and_the_status_is_left() {
        let by_looking: Wait = |child, patience| look(child, Instant::now() + patience);
        for wait in [wait_for_exit as Wait, by_looking] {
            let mut child =
                Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
            let pid = Pid::from_child(&child);
            assert!(!wait(pid, Duration::from_millis(1)).unwrap());
            drop(child.stdin.take());
            assert!(wait(pid, Duration::from_secs(60)).unwrap());
            assert!(child.wait().unwrap().success());
        }
    }
}
