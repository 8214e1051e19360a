//! How long each contender is measured in each scenario, and how long all of it takes.

use std::time::Duration;

use anyhow::Context as _;

use super::selection::Selection;
use super::{Args, profile};
use crate::experiment::cgroup::Cgroup;
use crate::experiment::cpu_quota::CpuQuota;
use crate::experiment::plan;
use crate::experiment::record::PlannedWindow;
use crate::scenario::{Contender, Profile, Scenario, Suite, Window};

/// The windows of all contenders in the scenarios they are measured in. `--duration` and
/// `--cpu-quota` hold for all; else the contender's own window, the scenario's, the profile's.
pub(super) fn windows(args: &Args, selection: &Selection, profile: &Profile) -> Vec<PlannedWindow> {
    let played = selection
        .played()
        .filter_map(|(contender, scenario)| Some((contender, selection.suite.scenario(scenario)?)));
    played.map(|(contender, scenario)| planned(args, scenario, contender, profile)).collect()
}

fn planned(
    args: &Args,
    scenario: &Scenario,
    contender: &Contender,
    profile: &Profile,
) -> PlannedWindow {
    let own = contender.windows.get(&args.profile).or_else(|| scenario.windows.get(&args.profile));
    let window = match (args.duration, own) {
        // The profile's length has been scaled.
        (Some(_), _) | (None, None) => Window::Duration(profile.duration),
        (None, Some(window)) => window.scaled(args.scale),
    };
    let (requests, duration_s) = match window {
        Window::Duration(duration) => (None, duration.as_secs_f64()),
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        Window::Requests(count) => (Some(count), count.get() as f64 / scenario.typical_rate),
    };
    PlannedWindow {
        scenario: scenario.name.clone(),
        contender: contender.name.clone(),
        requests,
        duration_s,
        cpu_quota: args.cpu_quota.or_else(|| scenario.cpu_quota.get(&args.profile).copied()),
    }
}

/// Takes out the scenarios whose CPU quota cannot be put in force, with a line each: they are never
/// measured without it.
///
/// # Errors
/// A quota that was asked for on the command line cannot be put in force.
pub(super) fn check_quotas(args: &Args, selection: &mut Selection) -> anyhow::Result<Vec<String>> {
    if let Some(cpus) = args.cpu_quota {
        try_quota(cpus)
            .map_err(anyhow::Error::msg)
            .with_context(|| format!("--cpu-quota {cpus} cannot be put in force"))?;
        return Ok(Vec::new());
    }
    let mut refused = Vec::new();
    let limited: Vec<(String, f64)> = selection
        .scenarios()
        .filter_map(|s| Some((s.name.clone(), *s.cpu_quota.get(&args.profile)?)))
        .collect();
    for (scenario, cpus) in limited {
        if let Err(reason) = try_quota(cpus) {
            refused.push(format!(
                "{scenario}: its CPU quota of {cpus} cannot be put in force ({reason})"
            ));
            selection.cells.retain(|cell| cell.scenario != scenario);
        }
    }
    Ok(refused)
}

fn try_quota(cpus: f64) -> Result<(), String> {
    let counting = Cgroup::create("check");
    CpuQuota::create("check", cpus, counting.as_ref()).map(drop)
}

/// What a profile would measure here, and how long that takes.
pub(in crate::cli) struct Outlook {
    /// Cells: scenario × contender × connections.
    pub(in crate::cli) cells: usize,
    /// Trials of each.
    pub(in crate::cli) trials: u32,
    /// All of it, about.
    pub(in crate::cli) time: Duration,
}

/// The outlook of a profile with all its scenarios and contenders.
///
/// # Errors
/// The profile is not there, or nothing belongs to it.
pub(in crate::cli) fn outlook(suite: &Suite, name: &str) -> anyhow::Result<Outlook> {
    let line = ["loadgen", "compare", "--profile", name].map(str::to_owned);
    let args = crate::cli::parse_compare(&line)?;
    let profile = profile(&args, suite)?;
    let selection = Selection::new(&args, suite.clone(), 1)?;
    let windows = windows(&args, &selection, &profile);
    let of_cell = |cell: &plan::Cell| {
        let own =
            windows.iter().find(|w| w.scenario == cell.scenario && w.contender == cell.contender);
        let window = own.map_or(profile.duration, |w| Duration::from_secs_f64(w.duration_s));
        plan::estimate(&profile, window)
    };
    let once: Duration = selection.cells.iter().map(of_cell).sum();
    let time = once * profile.trials;
    Ok(Outlook { cells: selection.cells.len(), trials: profile.trials, time })
}
