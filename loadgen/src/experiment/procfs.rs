//! What the kernel tells in `/proc` about processes, CPUs and listening sockets (proc(5)).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// The fields of `/proc/PID/stat` that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// State letter; `Z` is a zombie.
    pub state: char,
    /// Parent process.
    pub parent: i32,
    /// Process group.
    pub group: i32,
    /// Session.
    pub session: i32,
    /// User CPU time of all threads, and of children that were waited for, in clock ticks.
    pub user_ticks: u64,
    /// The same in the kernel.
    pub system_ticks: u64,
    /// User and system CPU time of the process alone, without children, in clock ticks.
    pub own_ticks: u64,
    /// Threads.
    pub threads: u64,
}

/// CPU time of a set of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl CpuTime {
    /// User and system together.
    pub fn total(self) -> Duration {
        self.user + self.system
    }

    /// What was spent since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

/// `/proc/PID/stat`; `None` when there is no such process (any more).
pub fn process_stat(pid: i32) -> Option<ProcessStat> {
    parse_process_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_process_stat(text: &str) -> Option<ProcessStat> {
    // The name is in parentheses and may itself contain spaces and parentheses.
    let rest = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessStat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        user_ticks: number(11)? + number(13)?,
        system_ticks: number(12)? + number(14)?,
        own_ticks: number(11)? + number(12)?,
        threads: number(17)?,
    })
}

/// All processes there are.
pub fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The name of a process, for messages.
pub fn process_name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// Whether a process was started with such an entry (`NAME=VALUE`) in its environment.
pub fn has_in_environment(pid: i32, is_wanted: impl Fn(&str) -> bool) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|&byte| byte == 0)
        .any(|entry| std::str::from_utf8(entry).is_ok_and(&is_wanted))
}

/// Clock ticks as time.
pub fn ticks(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_micros(ticks * 1_000_000 / per_second)
}

/// CPU time of each thread of a process, with its name: `/proc/PID/task/TID/schedstat`, ns.
pub fn thread_times(pid: i32) -> Vec<(i32, String, Duration)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| {
            let tid = task.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let nanoseconds = stat.split_ascii_whitespace().next()?.parse().ok()?;
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            Some((tid, name.trim().to_owned(), Duration::from_nanos(nanoseconds)))
        })
        .collect()
}

/// Resident memory of a process, bytes: `/proc/PID/statm`, cheap enough for sampling.
pub fn resident_bytes(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// A field of `/proc/PID/status` or `smaps_rollup` that is given in kB, as bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Largest resident memory since the process started, bytes (`VmHWM`).
pub fn peak_resident_bytes(pid: i32) -> Option<u64> {
    kilobytes(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmHWM")
}

/// Proportional memory of a process, bytes; walks its page tables, so not for sampling.
pub fn proportional_bytes(pid: i32) -> Option<u64> {
    kilobytes(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?, "Pss")
}

/// Voluntary and involuntary context switches of all threads of a process so far.
pub fn context_switches(pid: i32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_task = |text: &str| -> u64 {
        let lines = text.lines().filter(|line| line.contains("ctxt_switches:"));
        lines.filter_map(|line| line.rsplit('\t').next()?.trim().parse::<u64>().ok()).sum()
    };
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .map(|text| of_task(&text))
        .sum()
}

/// Time that one CPU spent, from `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLine {
    /// Running processes (user, nice, system). Interrupts are left out: those of the loopback belong
    /// to the load, and whether processes are charged for them differs between kernels.
    pub busy: Duration,
    /// Wanted to run but the hypervisor ran somebody else.
    pub steal: Duration,
}

/// The lines of `/proc/stat` for `cpus`, added up.
pub fn cpu_lines(cpus: &[usize]) -> CpuLine {
    parse_cpu_lines(&fs::read_to_string("/proc/stat").unwrap_or_default(), cpus)
}

fn parse_cpu_lines(text: &str, cpus: &[usize]) -> CpuLine {
    let mut sum = CpuLine::default();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let number = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if !number.is_some_and(|cpu: usize| cpus.contains(&cpu)) {
            continue;
        }
        let values: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        let value = |index: usize| values.get(index).copied().unwrap_or(0);
        sum.busy += ticks(value(0) + value(1) + value(2));
        sum.steal += ticks(value(7));
    }
    sum
}

/// Time that tasks ran on `cpus` by the scheduler's own clock, which interrupts of a task's own are
/// charged to, as in the counters of processes: from `/proc/schedstat`, else from the top group of
/// `cpuacct`. `None` where the kernel has neither.
pub fn tasks_ran(cpus: &[usize]) -> Option<Duration> {
    const TOP_GROUPS: [&str; 2] = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"];
    let schedstat = fs::read_to_string("/proc/schedstat").ok();
    schedstat.and_then(|text| parse_schedstat(&text, cpus)).or_else(|| {
        TOP_GROUPS.iter().find_map(|group| {
            let text = fs::read_to_string(format!("{group}/cpuacct.usage_percpu")).ok()?;
            parse_usage_percpu(&text, cpus)
        })
    })
}

/// Lines `cpuN` with nine numbers, of which the seventh is the time tasks ran, ns
/// (Documentation/scheduler/sched-stats.rst).
fn parse_schedstat(text: &str, cpus: &[usize]) -> Option<Duration> {
    let ran = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let cpu: usize = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, fields.nth(6)?.parse::<u64>().ok()?))
    };
    let of_cpus: Vec<u64> = text
        .lines()
        .filter_map(ran)
        .filter(|(cpu, _)| cpus.contains(cpu))
        .map(|(_, t)| t)
        .collect();
    (of_cpus.len() == cpus.len()).then(|| Duration::from_nanos(of_cpus.iter().sum()))
}

/// One number for each CPU, ns.
fn parse_usage_percpu(text: &str, cpus: &[usize]) -> Option<Duration> {
    let all: Vec<u64> = text.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
    let times: Option<Vec<u64>> = cpus.iter().map(|&cpu| all.get(cpu).copied()).collect();
    times.map(|times| Duration::from_nanos(times.iter().sum()))
}

/// A listening TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its inode, by which its owner is found.
    pub inode: u64,
}

/// Listening TCP sockets of this network namespace.
pub fn listeners() -> Vec<Listener> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|path| parse_listeners(&fs::read_to_string(path).unwrap_or_default()))
        .collect()
}

fn parse_listeners(text: &str) -> Vec<Listener> {
    const LISTEN: &str = "0A";
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        if *fields.get(3)? != LISTEN {
            return None;
        }
        let (host, port) = fields.get(1)?.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let address = SocketAddr::new(parse_hex_address(host)?, port);
        Some(Listener { address, inode: fields.get(9)?.parse().ok()? })
    };
    text.lines().skip(1).filter_map(parse).collect()
}

/// The kernel prints addresses as 32-bit words in host byte order.
fn parse_hex_address(hex: &str) -> Option<IpAddr> {
    let word = |index: usize| {
        u32::from_str_radix(hex.get(index * 8..index * 8 + 8)?, 16).ok().map(u32::to_ne_bytes)
    };
    if hex.len() == 8 {
        return Some(Ipv4Addr::from(word(0)?).into());
    }
    let mut octets = [0; 16];
    for (index, four) in octets.chunks_exact_mut(4).enumerate() {
        four.copy_from_slice(&word(index)?);
    }
    Some(Ipv6Addr::from(octets).into())
}

/// The processes that hold a socket open, as far as this user may look.
pub fn owners_of(inode: u64) -> Vec<i32> {
    let target = format!("socket:[{inode}]");
    let holds = |pid: &i32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|link| link.as_os_str() == target.as_str())
    };
    processes().into_iter().filter(holds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "42 (a) R (b c) S 1 40 39 0 -1 4194304 10 0 0 0 11 12 13 14 20 0 7 0 100 1 2";
        let stat = parse_process_stat(text).unwrap();
        assert_eq!(
            stat,
            ProcessStat {
                state: 'S',
                parent: 1,
                group: 40,
                session: 39,
                user_ticks: 24,
                system_ticks: 26,
                own_ticks: 23,
                threads: 7
            }
        );
        assert_eq!(parse_process_stat("42 (a"), None);
        assert_eq!(parse_process_stat("42 (a) S 1"), None);
    }

    #[test]
    fn this_process_is_found_with_its_threads_and_memory() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(process_stat(own).unwrap().threads >= 1);
        assert!(processes().contains(&own));
        assert!(!thread_times(own).is_empty());
        assert!(resident_bytes(own).unwrap() > 100_000);
        assert!(peak_resident_bytes(own).unwrap() >= resident_bytes(own).unwrap() / 2);
    }

    #[test]
    fn kilobyte_fields_are_found_by_their_whole_name() {
        let text = "Pss_Dirty:  1 kB\nPss:                 341 kB\nVmHWM:\t    2048 kB\n";
        assert_eq!(kilobytes(text, "Pss"), Some(341 * 1024));
        assert_eq!(kilobytes(text, "VmHWM"), Some(2048 * 1024));
        assert_eq!(kilobytes(text, "Vm"), None);
    }

    #[test]
    fn cpu_lines_add_up_only_the_cpus_asked_for() {
        let text =
            "cpu  9 9 9 9 9 9 9 9\ncpu0 10 1 2 99 0 3 4 5 0 0\ncpu1 100 0 0 0 0 0 0 50\nintr 1";
        let line = parse_cpu_lines(text, &[0]);
        assert_eq!((line.busy, line.steal), (ticks(13), ticks(5)));
        assert_eq!(parse_cpu_lines(text, &[0, 1]).steal, ticks(55));
        assert_eq!(parse_cpu_lines("", &[0]), CpuLine::default());
    }

    #[test]
    fn time_by_the_schedulers_clock_is_added_up_over_the_cpus_asked_for() {
        let usage = "3000000000 4000000000 \n";
        assert_eq!(parse_usage_percpu(usage, &[1]), Some(Duration::from_secs(4)));
        assert_eq!(parse_usage_percpu(usage, &[0, 1]), Some(Duration::from_secs(7)));
        assert_eq!(parse_usage_percpu(usage, &[2]), None);
        let schedstat = "version 15\ncpu0 0 0 9 9 9 9 3000000000 8 7\ndomain0 3 1 1 1 1 1 1\n\
            cpu1 0 0 9 9 9 9 4000000000 8 7\n";
        assert_eq!(parse_schedstat(schedstat, &[0, 1]), Some(Duration::from_secs(7)));
        assert_eq!(parse_schedstat(schedstat, &[2]), None);
    }

    #[test]
    fn listening_sockets_and_their_owner_are_found() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let found = listeners().into_iter().find(|l| l.address == address).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(owners_of(found.inode).contains(&own));
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_are_words_in_host_order() {
        assert_eq!(parse_hex_address("0100007F"), Some(Ipv4Addr::LOCALHOST.into()));
        let localhost = parse_hex_address("00000000000000000000000001000000");
        assert_eq!(localhost, Some(Ipv6Addr::LOCALHOST.into()));
        assert_eq!(parse_hex_address("01"), None);
    }
}
