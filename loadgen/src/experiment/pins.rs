//! Which CPUs the server gets and which the generator.

use std::collections::BTreeMap;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// The split of the CPUs, as recorded in the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// CPUs of the contender.
    pub server_cpus: Vec<usize>,
    /// CPUs of the generator and the sampler.
    pub generator_cpus: Vec<usize>,
    /// What is wrong with the split, if anything.
    pub warning: Option<String>,
}

/// CPUs this process may use.
///
/// # Errors
/// The operating system does not tell.
pub fn allowed_cpus() -> std::io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Splits `allowed`: the server gets the first half, or what was asked for; the generator the rest.
///
/// # Errors
/// CPUs were asked for that this process may not use.
pub fn split(
    allowed: &[usize],
    siblings: impl Fn(usize) -> Vec<usize>,
    server: Option<&[usize]>,
    generator: Option<&[usize]>,
) -> Result<Pins, String> {
    for (flag, asked) in [("--server-cpus", server), ("--generator-cpus", generator)] {
        let Some(asked) = asked else { continue };
        if let Some(cpu) = asked.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(format!("{flag}: CPU {cpu} may not be used here; allowed: {allowed:?}"));
        }
    }
    let (first, second) = halves(allowed, siblings);
    let rest = |taken: &[usize]| {
        let rest: Vec<usize> = allowed.iter().copied().filter(|cpu| !taken.contains(cpu)).collect();
        if rest.is_empty() { allowed.to_vec() } else { rest }
    };
    let (server_cpus, generator_cpus) = match (server, generator) {
        (Some(server), Some(generator)) => (server.to_vec(), generator.to_vec()),
        (Some(server), None) => (server.to_vec(), rest(server)),
        (None, Some(generator)) => (rest(generator), generator.to_vec()),
        (None, None) => (first, second),
    };
    let shared: Vec<_> = server_cpus.iter().filter(|cpu| generator_cpus.contains(cpu)).collect();
    let warning = (!shared.is_empty()).then(|| {
        format!("server and generator share CPU {shared:?}: each slows the other, so no figure is the server's own")
    });
    Ok(Pins { server_cpus, generator_cpus, warning })
}

/// Two halves of whole physical cores; one CPU is both halves.
fn halves(allowed: &[usize], siblings: impl Fn(usize) -> Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &cpu in allowed {
        let core = siblings(cpu).into_iter().min().unwrap_or(cpu);
        cores.entry(core).or_default().push(cpu);
    }
    let cores: Vec<Vec<usize>> = cores.into_values().collect();
    if cores.len() == 1 {
        let (first, second) = allowed.split_at(allowed.len() / 2);
        return if first.is_empty() {
            (allowed.to_vec(), allowed.to_vec())
        } else {
            (first.to_vec(), second.to_vec())
        };
    }
    let (first, second) = cores.split_at(cores.len() / 2);
    (first.concat(), second.concat())
}

/// Hardware threads that share a core with `cpu`, itself included, as the kernel tells.
pub fn siblings(cpu: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    crate::cli::units::cpu_list(list.trim()).map_or_else(|_| vec![cpu], |list| list.0)
}

/// Pins the calling thread and all it starts from now on.
///
/// # Errors
/// The operating system refuses.
pub fn pin_this_thread(cpus: &[usize]) -> std::io::Result<()> {
    Ok(sched_setaffinity(None, &cpu_set(cpus))?)
}

/// `cpus` as the kernel's set.
pub(super) fn cpu_set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(cpu: usize) -> Vec<usize> {
        vec![cpu]
    }

    #[test]
    fn two_cpus_give_one_each() {
        let pins = split(&[0, 1], alone, None, None).unwrap();
        assert_eq!((pins.server_cpus, pins.generator_cpus), (vec![0], vec![1]));
        assert_eq!(pins.warning, None);
    }

    #[test]
    fn one_cpu_is_shared_and_said_so() {
        let pins = split(&[3], alone, None, None).unwrap();
        assert_eq!((pins.server_cpus, pins.generator_cpus), (vec![3], vec![3]));
        assert!(pins.warning.is_some());
    }

    #[test]
    fn hardware_threads_of_a_core_stay_together() {
        let pairs = |cpu: usize| vec![cpu % 2, cpu % 2 + 2];
        let pins = split(&[0, 1, 2, 3], pairs, None, None).unwrap();
        assert_eq!((pins.server_cpus, pins.generator_cpus), (vec![0, 2], vec![1, 3]));
    }

    #[test]
    fn what_was_asked_for_is_kept() {
        let pins = split(&[0, 1, 2, 3], alone, Some(&[3]), None).unwrap();
        assert_eq!((pins.server_cpus, pins.generator_cpus), (vec![3], vec![0, 1, 2]));
        let pins = split(&[0, 1], alone, Some(&[0]), Some(&[0])).unwrap();
        assert!(pins.warning.unwrap().contains("share CPU [0]"));
        let error = split(&[0, 1], alone, Some(&[7]), None).unwrap_err();
        assert_eq!(error, "--server-cpus: CPU 7 may not be used here; allowed: [0, 1]");
    }
}
