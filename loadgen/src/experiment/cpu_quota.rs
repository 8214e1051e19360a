//! A bound on the CPU time of one contender: the quota of the kernel's fair scheduler.
//!
//! In each period of 100 ms the group may run for `cpus` × 100 ms over all its threads, then it is
//! throttled to the end of the period. See Documentation/scheduler/sched-bwc.rst (version 1) and
//! `cpu.max` in Documentation/admin-guide/cgroup-v2.rst.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cgroup::{self, Cgroup, Version};

/// The kernel's default period, µs.
const PERIOD_US: u32 = 100_000;

/// A quota that is in force for what joins it, and gone with this value.
#[derive(Debug)]
pub struct CpuQuota {
    dir: PathBuf,
    version: Version,
}

/// How often a quota held the contender back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throttling {
    /// Periods in which it had something to run.
    pub periods: u64,
    /// Periods in which it used up the quota.
    pub throttled_periods: u64,
    /// Time its threads were held back, added over CPUs, s.
    pub throttled_s: f64,
}

impl Throttling {
    /// What happened since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled_periods: self.throttled_periods.saturating_sub(earlier.throttled_periods),
            throttled_s: (self.throttled_s - earlier.throttled_s).max(0.0),
        }
    }
}

impl CpuQuota {
    /// Makes a quota of `cpus` CPUs: on the group that counts where that can also limit (version 2),
    /// else in a group of its own (version 1).
    ///
    /// # Errors
    /// No such group can be made: why, for both versions.
    pub fn create(label: &str, cpus: f64, counting: Option<&Cgroup>) -> Result<Self, String> {
        let v2 = match counting.and_then(Cgroup::v2_dir) {
            None => Err("no cgroup v2 can be made".to_owned()),
            Some(dir) => Self::v2(dir, cpus).map_err(|error| format!("cgroup v2: {error}")),
        };
        v2.or_else(|v2| Self::v1(label, cpus).map_err(|error| format!("{v2}; cgroup v1: {error}")))
    }

    fn v2(dir: &Path, cpus: f64) -> io::Result<Self> {
        let limit = dir.join("cpu.max");
        if !limit.exists()
            && let Some(parent) = dir.parent()
        {
            fs::write(parent.join("cgroup.subtree_control"), "+cpu")?;
        }
        fs::write(limit, format!("{} {PERIOD_US}", quota_us(cpus)))?;
        Ok(Self { dir: dir.to_owned(), version: Version::V2 })
    }

    fn v1(label: &str, cpus: f64) -> io::Result<Self> {
        let dir = cgroup::make_dir(label, Version::V1, "cpu")?;
        let quota = Self { dir, version: Version::V1 };
        fs::write(quota.dir.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
        fs::write(quota.dir.join("cpu.cfs_quota_us"), quota_us(cpus).to_string())?;
        cgroup::joinable(&quota.dir)?;
        Ok(quota)
    }

    /// The file to which a process writes `0` to come under the quota; `None` where it already does
    /// by joining the group that counts.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn joinable(&self) -> io::Result<Option<File>> {
        match self.version {
            Version::V1 => cgroup::joinable(&self.dir).map(Some),
            Version::V2 => Ok(None),
        }
    }

    /// How often it held its processes back so far.
    pub fn throttling(&self) -> Option<Throttling> {
        parse(&fs::read_to_string(self.dir.join("cpu.stat")).ok()?)
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // That of version 2 is part of the group that counts.
        if self.version == Version::V1 {
            cgroup::remove_dir(&self.dir);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of CPUs, checked where it is read"
)]
fn quota_us(cpus: f64) -> u64 {
    (cpus * f64::from(PERIOD_US)).round() as u64
}

/// `cpu.stat`: version 1 has `throttled_time` in ns, version 2 `throttled_usec`.
fn parse(text: &str) -> Option<Throttling> {
    let value = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    #[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^53 ns")]
    let seconds = |name: &str, unit: f64| value(name).map(|value| value as f64 * unit);
    Some(Throttling {
        periods: value("nr_periods")?,
        throttled_periods: value("nr_throttled")?,
        throttled_s: seconds("throttled_usec", 1e-6).or_else(|| seconds("throttled_time", 1e-9))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_of_both_versions_is_read() {
        let v1 = parse("nr_periods 60\nnr_throttled 58\nthrottled_time 2500000000\n").unwrap();
        assert_eq!((v1.periods, v1.throttled_periods), (60, 58));
        assert!((v1.throttled_s - 2.5).abs() < 1e-9);
        let v2 = "usage_usec 1\nnr_periods 60\nnr_throttled 58\nthrottled_usec 2500000\n";
        assert_eq!(parse(v2), Some(v1));
        assert_eq!(parse("usage_usec 1\n"), None);
    }

    #[test]
    fn a_quota_is_a_share_of_the_period() {
        assert_eq!(quota_us(0.5), 50_000);
        assert_eq!(quota_us(1.5), 150_000);
    }
}
