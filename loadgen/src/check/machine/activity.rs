//! What others do on the machine: background load, time taken by the hypervisor, stalls.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::check::finding::{Finding, Grade};
use crate::engine::StopFlag;
use crate::experiment::pressure::{Counters, HostPressure};
use crate::experiment::procfs;

/// Processes that are named.
const NAMED: usize = 3;
/// Below this share of a CPU a process is not worth a name.
const WORTH_A_NAME: f64 = 0.01;

/// Watches the CPUs for `time` while this program sleeps.
pub(super) fn background(cpus: &[usize], time: Duration, stop: &StopFlag) -> Finding {
    let (began, before, processes) = (Instant::now(), procfs::cpu_lines(cpus), cpu_times());
    while began.elapsed() < time && !stop.is_raised() {
        std::thread::sleep(Duration::from_millis(50).min(time));
    }
    let (elapsed, after) = (began.elapsed(), procfs::cpu_lines(cpus));
    let busy = after.busy.saturating_sub(before.busy).as_secs_f64() / elapsed.as_secs_f64();
    let share = busy / count(cpus);
    judge_background(share, &busiest(&processes, &cpu_times(), elapsed))
}

fn judge_background(share: f64, busiest: &[(String, f64)]) -> Finding {
    let names: Vec<String> =
        busiest.iter().map(|(name, share)| format!("{name} {:.0} %", share * 100.0)).collect();
    let of_cpus = format!("others use {:.1} % of the CPUs", share * 100.0);
    let value =
        if names.is_empty() { of_cpus } else { format!("{of_cpus} ({})", names.join(", ")) };
    // From 7 % on, trials get the verdict `host-noisy`.
    Finding::new("background load", Grade::at_most(share, 0.02, 0.07), value)
        .figure("share_of_cpus", share)
        .advise("end what else runs here, and check again")
}

/// CPU time of each process but this one, with its name.
fn cpu_times() -> BTreeMap<i32, (String, Duration)> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let times = procfs::processes().into_iter().filter(|&pid| pid != own).filter_map(|pid| {
        let stat = procfs::process_stat(pid)?;
        // Without children that ended: theirs would come all at once.
        let time = procfs::ticks(stat.own_ticks);
        Some((pid, (format!("{} (pid {pid})", procfs::process_name(pid)), time)))
    });
    times.collect()
}

/// The processes that used most CPU time, with their shares of one CPU.
fn busiest(
    before: &BTreeMap<i32, (String, Duration)>,
    after: &BTreeMap<i32, (String, Duration)>,
    elapsed: Duration,
) -> Vec<(String, f64)> {
    let used = after.iter().map(|(pid, (name, time))| {
        let earlier = before.get(pid).map_or(Duration::ZERO, |(_, time)| *time);
        let used = time.saturating_sub(earlier).as_secs_f64();
        (name.clone(), used / elapsed.as_secs_f64())
    });
    let mut used: Vec<(String, f64)> = used.filter(|(_, share)| *share >= WORTH_A_NAME).collect();
    used.sort_by(|a, b| b.1.total_cmp(&a.1));
    used.truncate(NAMED);
    used
}

fn count(cpus: &[usize]) -> f64 {
    cpus.len().max(1) as f64
}

/// Counters at the start of a check: steal and stalls only show under load, so they are taken over
/// all of it.
pub(in crate::check) struct Counted {
    at: Instant,
    cpus: Vec<usize>,
    steal: Duration,
    pressure: Counters,
}

impl Counted {
    /// Reads them.
    pub(in crate::check) fn now(cpus: &[usize]) -> Self {
        Self {
            at: Instant::now(),
            cpus: cpus.to_vec(),
            steal: procfs::cpu_lines(cpus).steal,
            pressure: Counters::read(),
        }
    }

    /// What happened since.
    pub(in crate::check) fn since(&self) -> Vec<Finding> {
        let elapsed = self.at.elapsed();
        let steal = procfs::cpu_lines(&self.cpus).steal.saturating_sub(self.steal);
        let share = steal.as_secs_f64() / elapsed.as_secs_f64() / count(&self.cpus);
        let told = std::path::Path::new("/proc/pressure/memory").exists();
        let pressure = told.then(|| Counters::read().since(self.pressure, elapsed));
        vec![judge_steal(share), judge_pressure(pressure)]
    }
}

fn judge_steal(share: f64) -> Finding {
    let value = format!("the hypervisor took {:.2} % of the CPUs during this check", share * 100.0);
    // From 3 % on, trials get the verdict `host-noisy`.
    Finding::new("steal", Grade::at_most(share, 0.005, 0.03), value)
        .figure("share_of_cpus", share)
        .advise("use a machine with dedicated CPUs, or come back when its neighbours are quiet")
}

fn judge_pressure(pressure: Option<HostPressure>) -> Finding {
    let Some(pressure) = pressure else {
        return Finding::new("pressure", Grade::Tolerable, "this kernel does not tell it")
            .advise("boot with psi=1, so that stalls for memory and disk are seen");
    };
    let stalled = pressure.memory_full.max(pressure.io_full);
    let value = format!(
        "all tasks waited for memory {:.2} %, for a disk {:.2} % of this check; {} connections met \
         a full listen queue",
        pressure.memory_full * 100.0,
        pressure.io_full * 100.0,
        pressure.listen_drops
    );
    // From 5 % on, trials get the verdict `host-noisy`.
    let grade = Grade::at_most(stalled, 0.01, 0.05);
    let drops = if pressure.listen_drops > 0 { Grade::Tolerable } else { Grade::Good };
    Finding::new("pressure", grade.max(drops), value)
        .figure("memory_full", pressure.memory_full)
        .figure("io_full", pressure.io_full)
        .figure("listen_drops", pressure.listen_drops as f64)
        .advise("free memory, and end what reads and writes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_stranger_is_bad_and_named() {
        let finding = judge_background(0.5, &[("cc1 (pid 7)".into(), 1.0)]);
        assert_eq!(finding.grade, Grade::Bad);
        assert_eq!(finding.value, "others use 50.0 % of the CPUs (cc1 (pid 7) 100 %)");
        assert!(finding.advice.is_some());
        assert_eq!(judge_background(0.0, &[]).grade, Grade::Good);
    }

    #[test]
    fn processes_are_ordered_by_what_they_used_since() {
        let seconds = |s| Duration::from_secs(s);
        let of = |entries: &[(i32, &str, u64)]| -> BTreeMap<i32, (String, Duration)> {
            entries.iter().map(|(pid, name, s)| (*pid, ((*name).into(), seconds(*s)))).collect()
        };
        let before = of(&[(1, "old", 500), (2, "busy", 10)]);
        let after = of(&[(1, "old", 500), (2, "busy", 12), (3, "new", 1)]);
        let busiest = busiest(&before, &after, seconds(4));
        assert_eq!(busiest, [("busy".into(), 0.5), ("new".into(), 0.25)]);
    }

    #[test]
    fn steal_and_stalls_are_judged_as_trials_are() {
        assert_eq!(judge_steal(0.0).grade, Grade::Good);
        assert_eq!(judge_steal(0.02).grade, Grade::Tolerable);
        assert_eq!(judge_steal(0.05).grade, Grade::Bad);
        let stalled = HostPressure { io_full: 0.2, ..HostPressure::default() };
        assert_eq!(judge_pressure(Some(stalled)).grade, Grade::Bad);
        let dropped = HostPressure { listen_drops: 2, ..HostPressure::default() };
        assert_eq!(judge_pressure(Some(dropped)).grade, Grade::Tolerable);
        assert_eq!(judge_pressure(None).grade, Grade::Tolerable);
    }
}
