//! `--resume`: the comparison as it was asked for, if nothing that matters has changed since.

use std::path::Path;

use anyhow::{Context as _, bail};

use super::Args;
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
        .or_else(|| differ("the revision", &manifest_then.git_revision, &manifest_now.git_revision))
        .or_else(|| differ("the list of versions", &manifest_then.versions, &manifest_now.versions))
        .or_else(|| {
            (then.cells != now.cells).then(|| "other contenders can be measured now".to_owned())
        })
}
