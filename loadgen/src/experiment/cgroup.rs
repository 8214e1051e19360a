//! A control group of the kernel for one contender: exact CPU time, and all its processes.
//!
//! Version 2 (`cpu.stat`) where it can be made, else version 1 (`cpuacct`), else none. It only counts;
//! limits are in [`super::cpu_quota`]. See Documentation/admin-guide/cgroup-v2.rst and
//! cgroup-v1/cpuacct.rst.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::procfs::{CpuTime, ticks};

/// How the names of groups begin; the process id of the harness follows.
const PREFIX: &str = "loadgen-";

/// A group that this process made, and removes again.
#[derive(Debug)]
pub struct Cgroup {
    dir: PathBuf,
    version: Version,
}

/// The two kinds of cgroup hierarchies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

impl Cgroup {
    /// Makes a group below the one this process is in; `None` where that is not allowed. `label` is
    /// for people who look.
    pub fn create(label: &str) -> Option<Self> {
        [Version::V2, Version::V1].into_iter().find_map(|version| {
            let group = Self { dir: make_dir(label, version, "cpuacct").ok()?, version };
            // A group that does not count, or that processes may not join, is none.
            (group.cpu_time().is_ok() && group.joinable().is_ok()).then_some(group)
        })
    }

    /// Its folder, if it is of version 2, where one group both counts and limits.
    pub(super) fn v2_dir(&self) -> Option<&Path> {
        (self.version == Version::V2).then_some(&self.dir)
    }

    /// The file to which a process writes `0` to join.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn joinable(&self) -> io::Result<File> {
        joinable(&self.dir)
    }

    /// CPU time of all processes that are or were in the group.
    ///
    /// # Errors
    /// The kernel's files cannot be read.
    pub fn cpu_time(&self) -> io::Result<CpuTime> {
        let read = |name: &str| fs::read_to_string(self.dir.join(name));
        let parsed = match self.version {
            Version::V2 => parse_v2(&read("cpu.stat")?),
            Version::V1 => parse_v1(&read("cpuacct.usage")?, &read("cpuacct.stat")?),
        };
        parsed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "cgroup CPU counters"))
    }

    /// The processes in the group.
    pub fn members(&self) -> Vec<i32> {
        members(&self.dir)
    }

    /// Which kind it is, for the result.
    pub fn kind(&self) -> &'static str {
        match self.version {
            Version::V1 => "cgroup v1 cpuacct",
            Version::V2 => "cgroup v2 cpu.stat",
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        remove_dir(&self.dir);
    }
}

/// Makes a group below the one this process is in, in the hierarchy of `version` that has
/// `controller`.
pub(super) fn make_dir(label: &str, version: Version, controller: &str) -> io::Result<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let parent = parent_dir(&own, &mounts, version, controller).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("no cgroup hierarchy has {controller}"))
    })?;
    remove_abandoned(&parent);
    let dir = parent.join(format!("{PREFIX}{}-{label}", std::process::id()));
    fs::create_dir(&dir)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", dir.display())))?;
    Ok(dir)
}

/// The file to which a process writes `0` to join the group in `dir`.
pub(super) fn joinable(dir: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(dir.join("cgroup.procs"))
}

/// The processes in the group in `dir`.
pub(super) fn members(dir: &Path) -> Vec<i32> {
    let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// The groups that the process `maker` made, which was in the same group as this one.
pub(super) fn groups_of(maker: u32) -> Vec<PathBuf> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let (own, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
    let hierarchies = [(Version::V2, "cpuacct"), (Version::V1, "cpuacct"), (Version::V1, "cpu")];
    let parents = hierarchies
        .into_iter()
        .filter_map(|(version, controller)| parent_dir(&own, &mounts, version, controller));
    let entries = parents.flat_map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
    entries
        .filter(|entry| maker_of(&entry.file_name()) == Some(maker))
        .map(|entry| entry.path())
        .collect()
}

/// The process that made a group of this name.
fn maker_of(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

/// Removes a group when its processes were reaped; the kernel may need a moment for that, and tells
/// nobody when it is over (`cgroup.events` is of version 2 only).
pub(super) fn remove_dir(dir: &Path) {
    for _ in 0..50 {
        match fs::remove_dir(dir) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => return,
        }
    }
}

/// Removes groups of a harness that was killed: named after a process that is no more, and empty,
/// which the kernel itself makes sure of.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let maker = maker_of(&entry.file_name());
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folder of this process' own group in the hierarchy of `version` (for version 1: the one that
/// has `controller`).
fn parent_dir(own: &str, mounts: &str, version: Version, controller: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let right = match version {
            Version::V2 => id == "0" && controllers.is_empty(),
            Version::V1 => controllers.split(',').any(|name| name == controller),
        };
        right.then_some(path)
    })?;
    let mount = mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let matches = match version {
            Version::V2 => *right.first()? == "cgroup2",
            Version::V1 => {
                *right.first()? == "cgroup" && right.last()?.split(',').any(|o| o == controller)
            }
        };
        matches.then(|| (*left.get(4)?, *left.get(3)?).into()).flatten()
    });
    let (point, root): (&str, &str) = mount?;
    let below = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
    Some(Path::new(point).join(below))
}

fn parse_v2(text: &str) -> Option<CpuTime> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok().map(Duration::from_micros)
    };
    Some(CpuTime { user: value("user_usec")?, system: value("system_usec")? })
}

/// `usage` is exact (ns); `stat` has the split into user and system in ticks, from which the exact
/// total is divided, as the kernel itself does for processes.
fn parse_v1(usage: &str, stat: &str) -> Option<CpuTime> {
    let total = Duration::from_nanos(usage.trim().parse().ok()?);
    let value = |name: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let (user, system) = (ticks(value("user")?), ticks(value("system")?));
    let both = (user + system).as_secs_f64();
    let user = if both > 0.0 { total.mul_f64(user.as_secs_f64() / both) } else { total };
    Some(CpuTime { user, system: total.saturating_sub(user) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_both_versions_are_read() {
        let v2 = parse_v2("usage_usec 30\nuser_usec 20\nsystem_usec 10\nnice_usec 0\n").unwrap();
        assert_eq!((v2.user.as_micros(), v2.system.as_micros()), (20, 10));
        let v1 = parse_v1("4000000000\n", "user 300\nsystem 100\n").unwrap();
        assert_eq!((v1.user.as_secs(), v1.system.as_secs()), (3, 1));
        assert_eq!(parse_v1("", ""), None);
        assert_eq!(parse_v2("nr_periods 0\n"), None);
    }

    #[test]
    fn the_own_group_is_found_in_either_hierarchy() {
        let mounts = "24 1 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            25 24 0:22 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n\
            26 24 0:23 /a /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "2:cpu,cpuacct:/user\n0::/a/b\n";
        let v1 = parent_dir(own, mounts, Version::V1, "cpuacct");
        assert_eq!(v1, Some("/sys/fs/cgroup/cpu,cpuacct/user".into()));
        let v2 = parent_dir(own, mounts, Version::V2, "cpuacct");
        assert_eq!(v2, Some("/sys/fs/cgroup/unified/b".into()));
        assert_eq!(parent_dir("", mounts, Version::V2, "cpu"), None);
    }
}
