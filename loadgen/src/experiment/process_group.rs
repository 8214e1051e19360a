//! A program in a session of its own, with everything it starts; gone when this value is dropped.

#![expect(
    unsafe_code,
    reason = "Command::pre_exec: session, pinning and cgroup before the program runs"
)]

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, setsid, waitpid,
};
use rustix::thread::sched_setaffinity;

use super::cgroup::Cgroup;
use super::cpu_quota::{CpuQuota, Throttling};
use super::exit;
use super::pins::cpu_set;
use super::procfs::{self, CpuTime};

/// How long a program may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long the kernel may take to end what was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// In the environment of everything a program starts, whatever session it moves to and whoever its
/// parent dies and leaves it to.
const MARK: &str = "LOADGEN_PROCESS_GROUP";
/// How long a program of this project's own may take to start.
pub const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Makes each mark another one.
static NEXT_MARK: AtomicU64 = AtomicU64::new(0);

/// The value of the environment entry that marks the `number`th program of the process `harness`.
fn mark_of(harness: u32, number: impl std::fmt::Display) -> String {
    format!("{harness}-{number}")
}

/// How the environment entries begin that mark all that the process `harness` starts.
pub(super) fn marks_of(harness: u32) -> String {
    format!("{MARK}={}", mark_of(harness, ""))
}

/// A running program and its descendants.
#[derive(Debug)]
pub struct ProcessGroup {
    child: Child,
    pid: i32,
    /// `NAME=VALUE` of [`MARK`].
    mark: String,
    // Before the group, which it may be part of, because fields are dropped in this order.
    quota: Option<CpuQuota>,
    cgroup: Option<Cgroup>,
    exit: Option<ExitStatus>,
    /// Descendants seen while it was ended.
    orphans: BTreeSet<i32>,
}

impl ProcessGroup {
    /// Starts `command` pinned to `cpus`, in a session of its own, and in `cgroup` and under `quota`
    /// if there are such. It dies with the calling thread, whatever kills that.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(
        mut command: Command,
        cpus: &[usize],
        cgroup: Option<Cgroup>,
        quota: Option<CpuQuota>,
    ) -> io::Result<Self> {
        // Orphans of the program become children of this process, so that they are found.
        let own = rustix::process::getpid();
        set_child_subreaper(Some(own))?;
        let number = NEXT_MARK.fetch_add(1, Ordering::Relaxed);
        let mark = mark_of(std::process::id(), number);
        command.env(MARK, &mark);
        let affinity = cpu_set(cpus);
        let join_cgroup = cgroup.as_ref().map(Cgroup::joinable).transpose()?;
        let join_quota = quota.as_ref().map(CpuQuota::joinable).transpose()?.flatten();
        let prepare = move || {
            setsid()?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            sched_setaffinity(None, &affinity)?;
            for join in join_cgroup.iter().chain(&join_quota) {
                rustix::io::write(join, b"0")?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec the closure only makes system calls, on values that were
        // made before the fork: no allocation, no lock.
        unsafe { command.pre_exec(prepare) };
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let mark = format!("{MARK}={mark}");
        Ok(Self { child, pid, mark, quota, cgroup, exit: None, orphans: BTreeSet::new() })
    }

    /// The program's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Its standard input and output, where these are pipes; the first time only.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>) {
        (self.child.stdin.take(), self.child.stdout.take())
    }

    /// How CPU time is counted, for the result.
    pub fn cpu_source(&self) -> &'static str {
        self.cgroup.as_ref().map_or("/proc/PID/stat", Cgroup::kind)
    }

    /// How often its quota held it back so far; `None` without one.
    pub fn throttling(&self) -> Option<Throttling> {
        self.quota.as_ref()?.throttling()
    }

    /// The exit status of the program itself, if it has ended.
    pub fn exit(&mut self) -> Option<ExitStatus> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait().ok().flatten();
        }
        self.exit
    }

    /// The same, after waiting for its end, but not longer than `patience`.
    pub fn wait_for_exit(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.exit().is_none() {
            // An error says that it was waited for already.
            let _ = exit::wait_for_exit(Pid::from_child(&self.child), patience);
        }
        self.exit()
    }

    /// Asks again and again until the program answers, for nothing tells one process that another
    /// listens; not longer than [`READY_TIMEOUT`].
    ///
    /// # Errors
    /// What `ask` said last: the program has ended, or had its time.
    pub fn wait_until_ready<T, E>(
        &mut self,
        mut ask: impl FnMut() -> Result<T, E>,
    ) -> Result<(), E> {
        let end = Instant::now() + READY_TIMEOUT;
        loop {
            match ask() {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() >= end || self.exit().is_some() => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// All processes that belong to it and run: the session, the cgroup, those that were left to this
    /// process when their parent died, and the descendants of all.
    pub fn members(&self) -> Vec<i32> {
        let mut members: BTreeSet<i32> = match &self.cgroup {
            Some(cgroup) => cgroup.members().into_iter().collect(),
            None => BTreeSet::new(),
        };
        let stats: Vec<_> = procfs::processes()
            .into_iter()
            .filter_map(|pid| Some((pid, procfs::process_stat(pid)?)))
            .collect();
        let reaper = rustix::process::getpid().as_raw_nonzero().get();
        let own = |pid: i32, stat: &procfs::ProcessStat| {
            stat.session == self.pid
                || stat.group == self.pid
                || (stat.parent == reaper
                    && procfs::has_in_environment(pid, |entry| entry == self.mark))
        };
        members.extend(stats.iter().filter(|(pid, stat)| own(*pid, stat)).map(|(pid, _)| *pid));
        loop {
            let children: Vec<i32> = stats
                .iter()
                .filter(|(pid, stat)| members.contains(&stat.parent) && !members.contains(pid))
                .map(|(pid, _)| *pid)
                .collect();
            if children.is_empty() {
                break;
            }
            members.extend(children);
        }
        members.retain(|pid| procfs::process_stat(*pid).is_some_and(|stat| stat.state != 'Z'));
        members.into_iter().collect()
    }

    /// The processes to sample: from the cgroup where there is one, because that is cheap.
    pub fn sampled_members(&self) -> Vec<i32> {
        self.cgroup.as_ref().map_or_else(|| self.members(), Cgroup::members)
    }

    /// CPU time so far of all that belongs to it, ended processes included.
    pub fn cpu_time(&self) -> CpuTime {
        if let Some(time) = self.cgroup.as_ref().and_then(|cgroup| cgroup.cpu_time().ok()) {
            return time;
        }
        let stats = self.members().into_iter().filter_map(procfs::process_stat);
        let (user, system) =
            stats.fold((0, 0), |(u, s), stat| (u + stat.user_ticks, s + stat.system_ticks));
        CpuTime { user: procfs::ticks(user), system: procfs::ticks(system) }
    }

    /// Ends everything: SIGTERM, a grace, SIGKILL; returns when nothing of it runs any more. One that
    /// is stopped (SIGSTOP) is continued, so that it too can end well.
    ///
    /// # Errors
    /// The processes that could not be ended.
    pub fn stop(&mut self) -> Result<(), Vec<i32>> {
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        if self.wait_until_gone(GRACE) {
            return Ok(());
        }
        let end = Instant::now() + KILL_TIMEOUT;
        while Instant::now() < end {
            // Again and again: a member may have started another one just before it died.
            self.signal_all(Signal::KILL);
            if self.wait_until_gone(Duration::from_millis(100)) {
                return Ok(());
            }
        }
        Err(self.members())
    }

    fn signal_all(&mut self, signal: Signal) {
        let members = self.members();
        self.orphans.extend(&members);
        if self.exit().is_none()
            && let Some(group) = Pid::from_raw(self.pid)
        {
            // It may end at this very moment: an error here means there is nothing to signal.
            let _ = kill_process_group(group, signal);
        }
        for pid in members.into_iter().filter(|&pid| pid != self.pid).filter_map(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Looks again and again: the kernel tells the end of children, not that of their descendants.
    fn wait_until_gone(&mut self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            let members = self.members();
            let ended = self.exit().is_some();
            self.orphans.extend(members.iter().filter(|pid| **pid != self.pid));
            self.reap_orphans();
            if ended && members.is_empty() {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Waits for descendants that became our children and ended, so that no zombie stays. A zombie
    /// has no environment any more, so those that moved to a session of their own were noted before.
    fn reap_orphans(&self) {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        for pid in procfs::processes().into_iter().filter(|&pid| pid != self.pid) {
            let orphan = procfs::process_stat(pid).is_some_and(|stat| {
                let known = stat.session == self.pid || self.orphans.contains(&pid);
                stat.parent == own && stat.state == 'Z' && known
            });
            if orphan {
                let _ = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
            }
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.exit().is_none() || !self.members().is_empty() {
            let _ = self.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str) -> ProcessGroup {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        let cpus = super::super::pins::allowed_cpus().unwrap();
        ProcessGroup::spawn(command, &cpus, None, None).unwrap()
    }

    fn until(condition: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !condition() {
            assert!(Instant::now() < end, "not within 60 s");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn grandchildren_are_found_and_ended_too() {
        let mut group = shell("sleep 600 & (sleep 600 &) ; trap '' TERM; sleep 600; sleep 600");
        until(|| group.members().len() >= 4);
        let members = group.members();
        group.stop().unwrap();
        for pid in members {
            let state = procfs::process_stat(pid).map(|stat| stat.state);
            assert!(matches!(state, None | Some('Z')), "{pid} still runs");
        }
        assert!(group.members().is_empty());
    }

    #[test]
    fn daemons_in_a_session_of_their_own_are_found_and_ended_too() {
        // The parents in between end at once, so that only the mark tells whose it is.
        let mut group = shell("(setsid sh -c 'setsid sleep 600 &' &) ; sleep 600; true");
        let daemon = |group: &ProcessGroup| {
            group.members().into_iter().find(|&pid| {
                pid != group.pid()
                    && procfs::process_name(pid) == "sleep"
                    && procfs::process_stat(pid).is_some_and(|stat| stat.session == pid)
            })
        };
        until(|| daemon(&group).is_some());
        let daemon = daemon(&group).unwrap();
        group.stop().unwrap();
        assert!(procfs::process_stat(daemon).is_none(), "neither a process nor a zombie");
    }

    #[test]
    fn cpu_time_includes_children() {
        let group = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 600");
        until(|| group.cpu_time().total() >= Duration::from_millis(20));
    }

    #[test]
    fn an_exit_is_seen() {
        let mut group = shell("exit 3");
        let status = group.wait_for_exit(Duration::from_secs(60));
        assert_eq!(status.and_then(|status| status.code()), Some(3));
    }
}
