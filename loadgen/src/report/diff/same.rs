//! Whether two comparisons can be compared: the same machine, set up alike, and the same scenarios.

use std::collections::BTreeSet;

use crate::experiment::record::{Comparison, PlannedWindow};

/// What differs, one line each; versions and revisions may, they are what a diff is for.
pub fn differences(base: &Comparison, new: &Comparison) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, one: String, other: String| {
        if one != other {
            found.push(format!("{what}: {one} in BASE, {other} in NEW"));
        }
    };
    let (host, other) = (&base.host, &new.host);
    check("processor", host.cpu_model.clone(), other.cpu_model.clone());
    check("CPUs", host.cpus.to_string(), other.cpus.to_string());
    check("memory", mib(host.memory_mib), mib(other.memory_mib));
    check("architecture", host.architecture.clone(), other.architecture.clone());
    check("kernel", host.kernel.clone(), other.kernel.clone());
    check("governor", known(host.governor.as_ref()), known(other.governor.as_ref()));
    check("virtualised", known(host.virtualised.as_ref()), known(other.virtualised.as_ref()));
    if host.mitigations != other.mitigations {
        found.push("mitigations of the kernel differ".into());
    }
    settings(base, new, &mut found);
    scenarios(base, new, &mut found);
    found
}

fn settings(base: &Comparison, new: &Comparison, found: &mut Vec<String>) {
    let (one, other) = (&base.manifest, &new.manifest);
    if one.pins.server_cpus != other.pins.server_cpus {
        found.push("the servers ran on other CPUs".into());
    }
    if one.pins.generator_cpus != other.pins.generator_cpus {
        found.push("the generator ran on other CPUs".into());
    }
    let window =
        |w: &PlannedWindow| (w.requests, w.requests.is_none().then_some(w.duration_s), w.cpu_quota);
    for own in &one.windows {
        if let Some(new) = other.window(&own.scenario, &own.contender)
            && window(own) != window(new)
        {
            let name = format!("{}/{}", own.scenario, own.contender);
            found.push(format!("{name} was measured for another time, count or CPU quota"));
            break;
        }
    }
    if one.workers != other.workers {
        found.push(format!("workers: {} in BASE, {} in NEW", one.workers, other.workers));
    }
}

fn scenarios(base: &Comparison, new: &Comparison, found: &mut Vec<String>) {
    let names = |comparison: &Comparison| -> BTreeSet<String> {
        comparison.cells.iter().map(|cell| cell.scenario.clone()).collect()
    };
    let (one, other) = (names(base), names(new));
    for name in one.symmetric_difference(&other) {
        let side = if one.contains(name) { "BASE" } else { "NEW" };
        found.push(format!("scenario {name:?} is only in {side}"));
    }
    for name in one.intersection(&other) {
        let request = |comparison: &Comparison| comparison.manifest.requests.get(name).cloned();
        if let (Some(one), Some(other)) = (request(base), request(new))
            && one != other
        {
            found.push(format!("scenario {name:?} sends {one} in BASE, {other} in NEW"));
        }
    }
}

/// Memory is told in steps: what the kernel keeps for itself changes with every boot.
fn mib(mib: u64) -> String {
    format!("{} GiB", (mib + 512) / 1024)
}

fn known(text: Option<&String>) -> String {
    text.map_or_else(|| "not known".into(), Clone::clone)
}
