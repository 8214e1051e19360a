//! `--resume`: the comparison as it was asked for, if nothing that matters has changed since.

use std::path::Path;

use anyhow::{Context as _, bail};

use super::Args;
use crate::experiment::plan::Cell;
use crate::experiment::record::Trial;
use crate::experiment::store::{Store, StoredPlan};
use crate::utc;

/// A folder to write to, what is measured, and the trials that are there already.
pub(super) type Begun = (Store, StoredPlan, Vec<Trial>);

/// Opens the comparison in `folder`: what it was asked for, and how far it is.
pub(super) fn open(folder: &Path) -> anyhow::Result<(Args, Begun)> {
    let begun =
        Store::resume(folder).with_context(|| format!("cannot go on with {}", folder.display()))?;
    let stored = &begun.1;
    let mut args = crate::cli::parse_compare(&stored.manifest.command_line)
        .with_context(|| format!("the command line in {}/plan.json", folder.display()))?;
    args.config = args.config.map(|path| stored.directory.join(path));
    Ok((args, begun))
}

/// What was begun, if `now` would measure the same programs on the same machine.
pub(super) fn go_on(begun: Begun, now: &StoredPlan) -> anyhow::Result<Begun> {
    let (store, mut stored, trials) = begun;
    if let Some(change) = change(&stored, now) {
        let folder = store.folder().display();
        bail!("cannot go on with {folder}: {change}; start a new comparison");
    }
    stored.manifest.resumed_at.push(utc::now());
    Ok((store, stored, trials))
}

/// What is not as it was, in words.
fn change(then: &StoredPlan, now: &StoredPlan) -> Option<String> {
    let differ = |what: &str, then: &dyn std::fmt::Debug, now: &dyn std::fmt::Debug| {
        let (then, now) = (format!("{then:?}"), format!("{now:?}"));
        (then != now).then(|| format!("{what} was {then} and is {now}"))
    };
    let (host_then, host_now) = (&then.host, &now.host);
    let (manifest_then, manifest_now) = (&then.manifest, &now.manifest);
    if manifest_then.suite_sha256 != manifest_now.suite_sha256 {
        return Some("the suite has changed".into());
    }
    differ("the CPU", &host_then.cpu_model, &host_now.cpu_model)
        .or_else(|| differ("memory in MiB", &host_then.memory_mib, &host_now.memory_mib))
        .or_else(|| differ("the kernel", &host_then.kernel, &host_now.kernel))
        .or_else(|| differ("the list of CPUs", &host_then.cpus_allowed, &host_now.cpus_allowed))
        .or_else(|| differ("the split of the CPUs", &manifest_then.pins, &manifest_now.pins))
        .or_else(|| differ("loadgen", &manifest_then.version, &manifest_now.version))
        .or_else(|| differ("the revision", &manifest_then.git_revision, &manifest_now.git_revision))
        .or_else(|| differ("the list of versions", &manifest_then.versions, &manifest_now.versions))
        .or_else(|| other_cells(then, now))
}

/// The first cell that is there only once.
fn other_cells(then: &StoredPlan, now: &StoredPlan) -> Option<String> {
    let name = |cell: &Cell| {
        format!("{}/{} at {} connections", cell.scenario, cell.contender, cell.connections)
    };
    if let Some(gone) = then.cells.iter().find(|cell| !now.cells.contains(cell)) {
        let about = |line: &&String| {
            let of = line.split(':').next().unwrap_or_default();
            of == gone.scenario || gone.contender.starts_with(of)
        };
        let why = now.skipped.iter().find(about);
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        return Some(format!("{} cannot be measured any more{why}", name(gone)));
    }
    let new = now.cells.iter().find(|cell| !then.cells.contains(cell))?;
    Some(format!("{} could not be measured then", name(new)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::record::{Host, Manifest};
    use crate::experiment::store::PLAN_SCHEMA;

    fn plan(contenders: &[&str]) -> StoredPlan {
        let cell = |name: &&str| Cell {
            scenario: "fib".into(),
            contender: (*name).to_owned(),
            connections: 25,
        };
        StoredPlan {
            schema: PLAN_SCHEMA.into(),
            manifest: Manifest::default(),
            host: Host::default(),
            cells: contenders.iter().map(cell).collect(),
            skipped: Vec::new(),
            directory: "/".into(),
        }
    }

    #[test]
    fn what_is_not_as_it_was_is_named() {
        let then = plan(&["rust", "node"]);
        assert_eq!(change(&then, &plan(&["rust", "node"])), None);
        let mut now = plan(&["rust"]);
        now.skipped = vec!["deno: not here".into(), "node: npm is not here".into()];
        let gone = "fib/node at 25 connections cannot be measured any more (node: npm is not here)";
        assert_eq!(change(&then, &now).unwrap(), gone);
        let new = "fib/bun at 25 connections could not be measured then";
        assert_eq!(change(&then, &plan(&["rust", "node", "bun"])).unwrap(), new);
        let mut other = then.clone();
        other.manifest.version = "9.9.9".into();
        assert_eq!(change(&then, &other).unwrap(), "loadgen was \"\" and is \"9.9.9\"");
        other = then.clone();
        other.manifest.suite_sha256 = "0".into();
        assert_eq!(change(&then, &other).unwrap(), "the suite has changed");
    }
}
