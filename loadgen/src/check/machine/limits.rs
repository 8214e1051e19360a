//! Limits of the system that end a run early: descriptors, ports, listen queues, a CPU quota.

use std::path::Path;

use super::read;
use crate::check::finding::{Finding, Grade};
use crate::experiment::record::Host;
use crate::report::units;

/// All of them.
pub(super) fn look(host: &Host) -> Vec<Finding> {
    let hard = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let range = read("/proc/sys/net/ipv4/ip_local_port_range");
    let sockets = read("/proc/net/sockstat").unwrap_or_default();
    let mut findings = vec![
        judge_descriptors(hard.unwrap_or(u64::MAX)),
        judge_ports(range.as_deref().and_then(ports), time_wait(&sockets)),
        judge_listen_queue(read("/proc/sys/net/core/somaxconn").and_then(|n| n.parse().ok())),
    ];
    findings.extend(quota().map(|cpus| judge_quota(cpus, host.cpus_allowed.len())));
    findings
}

/// The limit that counts is the hard one: programs raise the soft one themselves.
fn judge_descriptors(hard: u64) -> Finding {
    let value = match hard {
        u64::MAX => "no limit on open files".to_owned(),
        hard => format!("a process may open {} files", units::count(hard)),
    };
    let number = hard as f64;
    let finding = Finding::new("open files", Grade::at_least(number, 10_240.0, 1_024.0), value)
        .advise("each connection takes one: raise the hard limit (ulimit -Hn, limits.conf)");
    if hard == u64::MAX { finding } else { finding.figure("hard_limit", number) }
}

/// The number of ports from the first to the last, as the kernel writes them.
fn ports(range: &str) -> Option<u64> {
    let (first, last) = range.split_once(char::is_whitespace)?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    Some(last.checked_sub(first)? + 1)
}

/// Sockets in TIME-WAIT: the number after `tw` in `/proc/net/sockstat`.
fn time_wait(sockstat: &str) -> u64 {
    let line = sockstat.lines().find(|line| line.starts_with("TCP:")).unwrap_or("");
    let mut words = line.split_ascii_whitespace().skip_while(|word| *word != "tw");
    words.nth(1).and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn judge_ports(ports: Option<u64>, time_wait: u64) -> Finding {
    let Some(ports) = ports else {
        return Finding::new("ports", Grade::Tolerable, "the range of local ports is not told")
            .advise("make sure that net.ipv4.ip_local_port_range is wide");
    };
    let value = format!(
        "{} local ports for each server, {} sockets in TIME-WAIT",
        units::count(ports),
        units::count(time_wait)
    );
    Finding::new("ports", Grade::at_least(ports as f64, 20_000.0, 2_000.0), value)
        .figure("local_ports", ports as f64)
        .figure("time_wait", time_wait as f64)
        .advise("sysctl -w net.ipv4.ip_local_port_range=\"16384 60999\"")
}

fn judge_listen_queue(length: Option<u32>) -> Finding {
    let Some(length) = length else {
        return Finding::new("listen queue", Grade::Tolerable, "its bound is not told")
            .advise("make sure that net.core.somaxconn is 1024 or more");
    };
    let value = format!("up to {} connections wait to be accepted", units::count(length.into()));
    Finding::new("listen queue", Grade::at_least(length.into(), 512.0, 128.0), value)
        .figure("somaxconn", length.into())
        .advise("sysctl -w net.core.somaxconn=4096: connections opened at once meet a full queue")
}

/// The CPUs that a quota allows this process and its children, if one is in force in any group it is
/// in, as far as they can be seen from here.
fn quota() -> Option<f64> {
    let own = read("/proc/self/cgroup").unwrap_or_default();
    let quotas = own.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next(), parts.next(), parts.next());
        quotas_above(controllers.unwrap_or(""), path.unwrap_or(""))
    });
    quotas.min_by(f64::total_cmp)
}

/// The quotas in force from the group `path` up to the top.
fn quotas_above(controllers: &str, path: &str) -> Vec<f64> {
    let groups: Vec<&Path> = Path::new(path).ancestors().collect();
    let under = |root: &str, group: &Path| format!("{root}{}", group.display());
    if controllers.is_empty() {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let files = roots.iter().flat_map(|root| groups.iter().map(|group| under(root, group)));
        return files.filter_map(|dir| parse_v2(&read(&format!("{dir}/cpu.max"))?)).collect();
    }
    if !controllers.split(',').any(|name| name == "cpu") {
        return Vec::new();
    }
    let number = |path: String| read(&path)?.parse::<f64>().ok().filter(|number| *number > 0.0);
    let quota = |group: &&Path| {
        let dir = under(&format!("/sys/fs/cgroup/{controllers}"), group);
        let quota = number(format!("{dir}/cpu.cfs_quota_us"))?;
        Some(quota / number(format!("{dir}/cpu.cfs_period_us"))?)
    };
    groups.iter().filter_map(quota).collect()
}

/// `50000 100000` is half a CPU, `max 100000` no quota (cgroup-v2.rst).
fn parse_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn judge_quota(cpus: f64, allowed: usize) -> Finding {
    let enough = cpus >= allowed as f64;
    let grade = if enough { Grade::Good } else { Grade::Bad };
    let value = format!("a quota of {cpus:.2} CPUs is in force, for {allowed} CPUs in use");
    Finding::new("CPU quota", grade, value).figure("cpus", cpus).advise(
        "server and generator are halted when it is used up: lift the quota (docker --cpus, \
         kubernetes limits), and bind CPUs instead",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_counted_and_too_few_are_told() {
        assert_eq!(ports("32768\t60999"), Some(28_232));
        assert_eq!(ports("60999 32768"), None);
        let sockstat = "sockets: used 118\nTCP: inuse 102 orphan 0 tw 2724 alloc 102 mem 182\n";
        assert_eq!(time_wait(sockstat), 2724);
        assert_eq!(time_wait(""), 0);
        assert_eq!(judge_ports(Some(28_232), 0).grade, Grade::Good);
        assert_eq!(judge_ports(Some(100), 0).grade, Grade::Bad);
        assert_eq!(judge_ports(None, 0).grade, Grade::Tolerable);
    }

    #[test]
    fn few_descriptors_are_told_and_no_limit_is_good() {
        assert_eq!(judge_descriptors(u64::MAX).grade, Grade::Good);
        assert_eq!(judge_descriptors(4096).grade, Grade::Tolerable);
        let few = judge_descriptors(256);
        assert_eq!((few.grade, few.value.as_str()), (Grade::Bad, "a process may open 256 files"));
    }

    #[test]
    fn a_quota_below_the_cpus_in_use_is_bad() {
        assert_eq!(parse_v2("50000 100000"), Some(0.5));
        assert_eq!(parse_v2("max 100000"), None);
        assert_eq!(judge_quota(0.5, 2).grade, Grade::Bad);
        assert_eq!(judge_quota(2.0, 2).grade, Grade::Good);
    }

    #[test]
    fn a_short_listen_queue_is_told() {
        assert_eq!(judge_listen_queue(Some(4096)).grade, Grade::Good);
        assert_eq!(judge_listen_queue(Some(128)).grade, Grade::Tolerable);
        assert_eq!(judge_listen_queue(Some(5)).grade, Grade::Bad);
    }
}
