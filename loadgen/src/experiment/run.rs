//! A whole comparison: every planned trial in its order, and the result made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::ceiling::{self, Ceiling, LoadShape};
use super::plan::{self, Cell, PlannedTrial};
use super::record::{Comparison, SCHEMA, Trial};
use super::store::{Store, StoredPlan};
use super::summary;
use super::trial::{self, Setting, TrialError};
use super::verdict::Verdict;
use crate::scenario::{Contender, Scenario, Suite};

/// Told what happens, for people who wait.
pub trait Progress {
    /// The generator's ceilings are being measured: how many.
    fn measuring_ceilings(&mut self, count: usize);
    /// A trial begins; `left` is about how long the rest takes, this one included.
    fn started(&mut self, planned: &PlannedTrial, number: usize, total: usize, left: Duration);
    /// A trial ended.
    fn ended(&mut self, trial: &Trial);
}

/// What a comparison is made of, besides its setting.
pub struct Plan<'a> {
    /// Scenarios and contenders by name.
    pub suite: &'a Suite,
    /// Cells, machine and order.
    pub stored: StoredPlan,
    /// Trials that ran before, if it is gone on with.
    pub done: Vec<Trial>,
}

/// Why a comparison ended before its last trial.
#[derive(Debug)]
pub enum Ended {
    /// It did not.
    Complete,
    /// A signal.
    Interrupted,
    /// The harness could not go on.
    Broken(String),
}

/// Runs all trials that are not done, storing each as it ends, and returns what all add up to.
///
/// # Errors
/// The result folder cannot be written.
pub fn run(
    mut plan: Plan<'_>,
    setting: &Setting<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
) -> std::io::Result<(Comparison, Ended)> {
    let mut trials = std::mem::take(&mut plan.done);
    if plan.stored.manifest.generator_ceilings.is_empty() {
        measure_ceilings(&mut plan, setting, progress);
    }
    store.write_json("plan.json", &plan.stored)?;
    let ended = run_trials(&plan, setting, store, progress, &mut trials)?;
    let StoredPlan { cells, manifest, host, mut skipped, .. } = plan.stored;
    if let Ended::Broken(reason) = &ended {
        skipped.push(format!("the run ended early: {reason}"));
    }
    let comparison = Comparison {
        schema: SCHEMA.into(),
        host,
        cells: summary::cells(&cells, &trials, &manifest.ceiling, manifest.seed),
        skipped,
        warnings: summary::warnings(&trials, manifest.workers),
        interrupted: !matches!(ended, Ended::Complete),
        trials,
        manifest,
    };
    store.write_json("result.json", &comparison)?;
    store.tidy();
    Ok((comparison, ended))
}

/// Measures what the generator reaches with each kind of load that occurs.
fn measure_ceilings(plan: &mut Plan<'_>, setting: &Setting<'_>, progress: &mut dyn Progress) {
    let mut wanted: BTreeMap<LoadShape, &Scenario> = BTreeMap::new();
    for cell in &plan.stored.cells {
        if let Some(scenario) = plan.suite.scenario(&cell.scenario) {
            wanted.entry(LoadShape::of(scenario, cell.connections)).or_insert(scenario);
        }
    }
    progress.measuring_ceilings(wanted.len());
    for (shape, scenario) in wanted {
        if setting.stop.is_raised() {
            // Whoever goes on with this measures them all.
            plan.stored.manifest.generator_ceilings.clear();
            return;
        }
        match ceiling::measure(setting, scenario, shape.connections) {
            Ok(ceiling) => plan.stored.manifest.generator_ceilings.push(ceiling),
            Err(reason) => plan.stored.skipped.push(format!(
                "the generator's ceiling for {} at {} connections: {reason}",
                scenario.name, shape.connections
            )),
        }
    }
}

fn run_trials(
    plan: &Plan<'_>,
    setting: &Setting<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
    trials: &mut Vec<Trial>,
) -> std::io::Result<Ended> {
    let manifest = &plan.stored.manifest;
    let order = &manifest.order;
    let of = |cell: &Cell| (cell.scenario.clone(), cell.contender.clone());
    let mut failed: BTreeSet<(String, String)> = trials
        .iter()
        .filter(|trial| trial.verdict == Verdict::Invalid)
        .map(|trial| of(&trial.planned.cell))
        .collect();
    let mut left = TimeLeft::new(plan::estimate(order.len(), &setting.profile), order.len());
    for (index, planned) in order.iter().enumerate() {
        if trials.iter().any(|trial| trial.planned == *planned) {
            left.skip();
            continue;
        }
        if setting.stop.is_raised() {
            return Ok(Ended::Interrupted);
        }
        let key = of(&planned.cell);
        let Some((scenario, contender)) = find(plan.suite, &planned.cell) else { continue };
        if failed.contains(&key) {
            left.skip();
            continue;
        }
        progress.started(planned, index + 1, order.len(), left.now());
        let seed = trial_seed(manifest.seed, index);
        let shape = LoadShape::of(scenario, planned.cell.connections);
        let ceiling = ceiling_of(&manifest.generator_ceilings, shape);
        let began = Instant::now();
        let trial = match trial::run(setting, scenario, contender, planned, seed, ceiling) {
            Ok(trial) => trial,
            Err(TrialError::Interrupted) => return Ok(Ended::Interrupted),
            Err(TrialError::Harness(reason)) => return Ok(Ended::Broken(reason)),
        };
        left.took(began.elapsed());
        store.append(&trial)?;
        progress.ended(&trial);
        if trial.verdict == Verdict::Invalid {
            // A wrong contender is not measured again: its other trials would be as wrong.
            failed.insert(key);
        }
        trials.push(trial);
    }
    Ok(Ended::Complete)
}

fn ceiling_of(ceilings: &[Ceiling], shape: LoadShape) -> Option<f64> {
    ceilings.iter().find(|ceiling| ceiling.shape == shape).map(|ceiling| ceiling.rate_per_s)
}

fn find<'a>(suite: &'a Suite, cell: &Cell) -> Option<(&'a Scenario, &'a Contender)> {
    let plays = |contender: &&Contender| {
        contender.name == cell.contender && contender.scenarios.contains(&cell.scenario)
    };
    Some((suite.scenario(&cell.scenario)?, suite.contenders.iter().find(plays)?))
}

/// The seed of one trial: its own, and the same in every run with the same seed. 53 bits, which
/// every reader of JSON keeps exactly.
fn trial_seed(seed: u64, index: usize) -> u64 {
    seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 11
}

/// How long the rest takes: the plan's estimate at first, then what trials really took.
struct TimeLeft {
    estimate: Duration,
    trials: u32,
    done: u32,
    spent: Duration,
    ran: u32,
}

impl TimeLeft {
    fn new(estimate: Duration, trials: usize) -> Self {
        let trials = u32::try_from(trials).unwrap_or(u32::MAX);
        Self { estimate, trials, done: 0, spent: Duration::ZERO, ran: 0 }
    }

    fn skip(&mut self) {
        self.done += 1;
    }

    fn took(&mut self, time: Duration) {
        self.done += 1;
        self.ran += 1;
        self.spent += time;
    }

    fn now(&self) -> Duration {
        let each = match self.ran {
            0 => self.estimate / self.trials.max(1),
            ran => self.spent / ran,
        };
        each * (self.trials - self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_what_trials_took() {
        let mut left = TimeLeft::new(Duration::from_secs(40), 4);
        assert_eq!(left.now(), Duration::from_secs(40));
        left.took(Duration::from_secs(20));
        assert_eq!(left.now(), Duration::from_secs(60));
        left.skip();
        assert_eq!(left.now(), Duration::from_secs(40));
    }

    #[test]
    fn each_trial_has_a_seed_of_its_own() {
        assert_ne!(trial_seed(1, 0), trial_seed(1, 1));
        assert_eq!(trial_seed(1, 7), trial_seed(1, 7));
    }
}
