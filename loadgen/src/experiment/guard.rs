//! A small process beside the comparison that ends what the comparison started when it is killed
//! itself (SIGKILL, the kernel's OOM killer): the kernel ends only direct children with their parent
//! (`PR_SET_PDEATHSIG`), not the workers and daemons that these started.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{cgroup, process_group, procfs};

/// The hidden subcommand of `loadgen` that calls [`watch`].
pub const SUBCOMMAND: &str = "guard";
/// How long it tries to end what does not die.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running guard; what is left when this value is dropped, it ends.
#[derive(Debug)]
pub struct Guard {
    process: Child,
    /// Nothing is written to it: the guard waits for its end, which comes with this process.
    held: Option<ChildStdin>,
}

impl Guard {
    /// Starts this program as the guard of this process.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start() -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([SUBCOMMAND, &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the comparison, which ends the guard when it has ended all else.
            .process_group(0)
            .spawn()?;
        let held = process.stdin.take();
        Ok(Self { process, held })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.held.take());
        let _ = self.process.wait();
    }
}

/// Waits for the end of `harness`, which is that of `held`, and ends what it left behind.
pub fn watch(harness: u32, mut held: impl Read) {
    let mut bytes = [0; 64];
    loop {
        match held.read(&mut bytes) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    let end = Instant::now() + PATIENCE;
    // Again and again: one may have started another just before it died.
    while kill_members(harness) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    for group in cgroup::groups_of(harness) {
        cgroup::remove_dir(&group);
    }
}

/// Kills all that carry the mark of `harness` or are in a control group of it; whether there were any.
fn kill_members(harness: u32) -> bool {
    let mark = process_group::marks_of(harness);
    let own = |pid: &i32| procfs::has_in_environment(*pid, |entry| entry.starts_with(&*mark));
    let mut members: Vec<i32> = procfs::processes().into_iter().filter(own).collect();
    members.extend(cgroup::groups_of(harness).iter().flat_map(|group| cgroup::members(group)));
    for pid in members.iter().copied().filter_map(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
    !members.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_the_mark_of_a_harness_is_ended_and_nothing_else() {
        // No process of this machine has this number.
        let harness = u32::MAX;
        let sleeping = |harness: u32| {
            let mut command = Command::new("sleep");
            let mark = process_group::marks_of(harness) + "0";
            let (name, value) = mark.split_once('=').unwrap();
            command.arg("600").env(name, value).spawn().unwrap()
        };
        let (mut own, mut other) = (sleeping(harness), sleeping(harness - 1));
        watch(harness, io::empty());
        assert!(!own.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
