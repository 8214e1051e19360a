//! What the kernel says of the whole machine: stalls for want of something, and connections it dropped.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counters since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Time in which some task waited for a CPU (`/proc/pressure/cpu`).
    pub cpu_some: Duration,
    /// Time in which every task waited for memory.
    pub memory_full: Duration,
    /// Time in which every task waited for a disk.
    pub io_full: Duration,
    /// Connections dropped by full listen queues (`ListenDrops` in `/proc/net/netstat`).
    pub listen_drops: u64,
}

/// What happened to the machine during a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostPressure {
    /// Share of the time in which some task of the machine waited for a CPU, 0 to 1; that of the
    /// contender's own threads is in it.
    pub cpu_some: f64,
    /// Share of the time in which every task waited for memory, 0 to 1.
    pub memory_full: f64,
    /// Share of the time in which every task waited for a disk, 0 to 1.
    pub io_full: f64,
    /// Connections that full listen queues dropped, from the first connect on.
    pub listen_drops: u64,
}

impl Counters {
    /// Reads them; what the kernel does not tell stays zero.
    pub fn read() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let total = |name: &str, kind| pressure(&read(&format!("/proc/pressure/{name}")), kind);
        Self {
            cpu_some: total("cpu", "some"),
            memory_full: total("memory", "full"),
            io_full: total("io", "full"),
            listen_drops: netstat(&read("/proc/net/netstat"), "TcpExt", "ListenDrops"),
        }
    }

    /// What happened in the `elapsed` since `earlier`.
    pub fn since(self, earlier: Self, elapsed: Duration) -> HostPressure {
        let share = |now: Duration, then: Duration| {
            now.saturating_sub(then).as_secs_f64() / elapsed.as_secs_f64().max(1e-9)
        };
        HostPressure {
            cpu_some: share(self.cpu_some, earlier.cpu_some),
            memory_full: share(self.memory_full, earlier.memory_full),
            io_full: share(self.io_full, earlier.io_full),
            listen_drops: self.listen_drops.saturating_sub(earlier.listen_drops),
        }
    }
}

/// The `total` of one line of a pressure file (Documentation/accounting/psi.rst), given in µs.
fn pressure(text: &str, kind: &str) -> Duration {
    let line = text.lines().find_map(|line| line.strip_prefix(kind));
    let total = line.and_then(|line| line.split_once("total=")?.1.trim().parse().ok());
    Duration::from_micros(total.unwrap_or(0))
}

/// One value of `/proc/net/netstat` or `/proc/net/snmp`: pairs of lines, names above values.
pub fn netstat(text: &str, group: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
    let value = pairs.filter(|(found, _)| *found == name).find_map(|(_, value)| value.parse().ok());
    value.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_pressure_files_are_read() {
        let text = "some avg10=0.00 avg60=0.15 avg300=0.30 total=3953569754\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=42\n";
        assert_eq!(pressure(text, "some").as_micros(), 3_953_569_754);
        assert_eq!(pressure(text, "full").as_micros(), 42);
        assert_eq!(pressure("", "full"), Duration::ZERO);
    }

    #[test]
    fn netstat_values_are_found_by_the_name_above_them() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 3\n\
            IpExt: ListenDrops\nIpExt: 9\n";
        assert_eq!(netstat(text, "TcpExt", "ListenDrops"), 3);
        assert_eq!(netstat(text, "TcpExt", "Nothing"), 0);
        assert_eq!(netstat("", "TcpExt", "ListenDrops"), 0);
    }

    #[test]
    fn shares_are_of_the_time_that_passed() {
        let later = Counters { memory_full: Duration::from_millis(150), ..Counters::default() };
        let pressure = later.since(Counters::default(), Duration::from_secs(1));
        assert!((pressure.memory_full - 0.15).abs() < 1e-9);
    }
}
