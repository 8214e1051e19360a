//! Whether a server on this machine has to share its CPUs with the generator.

use std::collections::BTreeSet;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::engine::{Addresses, RunSpec};
use crate::experiment::procfs;

/// A sentence for the result, if the generator's threads and the server have fewer CPUs together than
/// each of them needs one. `None` too where it cannot be known: a server elsewhere, or of another user.
pub(super) fn note(spec: &RunSpec) -> Option<String> {
    let server = server_on_this_machine(&spec.target.addresses)?;
    let servers = cpus(Some(Pid::from_raw(server)?))?;
    let generators =
        if spec.cpus.is_empty() { cpus(None)? } else { spec.cpus.iter().copied().collect() };
    let threads = spec.threads.get();
    let shared = shared(&servers, &generators, threads)?;
    Some(format!(
        "Generator and server share CPU {shared:?}: {threads} thread(s) of the generator and pid \
         {server} ({}) take each other's time, so no figure is the server's own. Give them CPUs of \
         their own (--cpus, taskset).",
        procfs::process_name(server)
    ))
}

/// The CPUs both sides use, if there are not enough of them.
fn shared(
    servers: &BTreeSet<usize>,
    generators: &BTreeSet<usize>,
    threads: usize,
) -> Option<Vec<usize>> {
    let shared: Vec<usize> = servers.intersection(generators).copied().collect();
    let enough = servers.union(generators).count() > threads;
    (!shared.is_empty() && !enough).then_some(shared)
}

/// The process that listens on a loopback address of `addresses`.
fn server_on_this_machine(addresses: &Addresses) -> Option<i32> {
    let Addresses::Tcp(addresses) = addresses else { return None };
    let local: Vec<u16> =
        addresses.iter().filter(|a| a.ip().is_loopback()).map(std::net::SocketAddr::port).collect();
    let listeners = procfs::listeners().into_iter();
    let mut listeners = listeners.filter(|listener| {
        let ip = listener.address.ip();
        local.contains(&listener.address.port()) && (ip.is_loopback() || ip.is_unspecified())
    });
    listeners.find_map(|listener| procfs::owners_of(listener.inode).first().copied())
}

/// The CPUs a process may use; this one for `None`.
fn cpus(process: Option<Pid>) -> Option<BTreeSet<usize>> {
    let set = sched_getaffinity(process).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_shared_where_they_do_not_go_round() {
        let set = |cpus: &[usize]| cpus.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(shared(&set(&[1]), &set(&[1]), 1), Some(vec![1]));
        assert_eq!(shared(&set(&[0, 1]), &set(&[0, 1]), 1), None);
        assert_eq!(shared(&set(&[0, 1]), &set(&[0, 1]), 2), Some(vec![0, 1]));
        assert_eq!(shared(&set(&[0]), &set(&[1]), 1), None);
        assert_eq!(shared(&set(&[0]), &set(&[1, 2]), 4), None, "only its own threads are too many");
    }
}
