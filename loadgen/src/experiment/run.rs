//! A whole comparison: every planned trial in its order, and the result made of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use super::ceiling::{self, Ceiling, LoadShape};
use super::plan::{self, Cell, PlannedTrial};
use super::record::{Comparison, Manifest, SCHEMA, Trial};
use super::store::{Store, StoredPlan};
use super::summary;
use super::trial::{self, Setting, TrialError};
use super::verdict::Verdict;
use crate::scenario::{Contender, Profile, Role, Scenario, Suite};

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

/// Runs all trials that are not done, storing each as it ends, and returns what all add up to, also
/// when the disk is full by then.
///
/// # Errors
/// The result folder cannot be written, and nothing was measured.
pub fn run(
    mut plan: Plan<'_>,
    setting: &Setting<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
) -> std::io::Result<(Comparison, Ended)> {
    let mut trials = std::mem::take(&mut plan.done);
    measure_ceilings(&mut plan, setting, progress);
    store.write_json("plan.json", &plan.stored)?;
    let mut ended = run_trials(&plan, setting, store, progress, &mut trials);
    let StoredPlan { cells, manifest, host, mut skipped, .. } = plan.stored;
    if let Ended::Broken(reason) = &ended {
        skipped.push(format!("the run ended early: {reason}"));
    }
    let (ceiling, least) = (&manifest.ceiling, manifest.least_difference());
    let mut warnings = summary::warnings(&trials, manifest.workers);
    if let Some(check) = &manifest.check {
        warnings.extend(check.warnings(&manifest.generator_ceilings));
    }
    let comparison = Comparison {
        schema: SCHEMA.into(),
        host,
        cells: summary::cells(&cells, &trials, ceiling, least, manifest.seed),
        skipped,
        warnings,
        interrupted: !matches!(ended, Ended::Complete),
        trials,
        manifest,
    };
    if let Err(error) = store.write_json("result.json", &comparison) {
        let reason = format!("the result cannot be stored: {error}");
        ended = match ended {
            Ended::Broken(first) => Ended::Broken(format!("{first}; {reason}")),
            _ => Ended::Broken(reason),
        };
    }
    store.tidy();
    Ok((comparison, ended))
}

/// Measures what the generator reaches with each kind of load that occurs and was not measured
/// before the comparison was gone on with.
fn measure_ceilings(plan: &mut Plan<'_>, setting: &Setting<'_>, progress: &mut dyn Progress) {
    let missing = missing_ceilings(&plan.stored, plan.suite);
    if missing.is_empty() {
        return;
    }
    progress.measuring_ceilings(missing.len());
    for (shape, scenario) in missing {
        let about = format!(
            "the generator's ceiling for {} at {} connections: ",
            scenario.name, shape.connections
        );
        plan.stored.skipped.retain(|line| !line.starts_with(&about));
        let measured = ceiling::measure(setting, scenario, shape.connections);
        if setting.stop.is_raised() {
            // A load that was cut off is no ceiling: whoever goes on with this measures it.
            return;
        }
        match measured {
            Ok(ceiling) => plan.stored.manifest.generator_ceilings.push(ceiling),
            Err(reason) => plan.stored.skipped.push(format!("{about}{reason}")),
        }
    }
}

/// Loads that occur in the plan, without a ceiling, each with a scenario that has it.
fn missing_ceilings<'a>(
    stored: &StoredPlan,
    suite: &'a Suite,
) -> BTreeMap<LoadShape, &'a Scenario> {
    let mut missing = BTreeMap::new();
    for cell in &stored.cells {
        let loaded = |scenario: &&Scenario| scenario.role == Role::Server;
        if let Some(scenario) = suite.scenario(&cell.scenario).filter(loaded) {
            let shape = LoadShape::of(scenario, cell.connections);
            if ceiling_of(&stored.manifest.generator_ceilings, shape).is_none() {
                missing.entry(shape).or_insert(scenario);
            }
        }
    }
    missing
}

fn run_trials(
    plan: &Plan<'_>,
    setting: &Setting<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
    trials: &mut Vec<Trial>,
) -> Ended {
    let manifest = &plan.stored.manifest;
    let order = &manifest.order;
    let of = |cell: &Cell| (cell.scenario.clone(), cell.contender.clone());
    let mut failed: BTreeSet<(String, String)> = trials
        .iter()
        .filter(|trial| trial.verdict == Verdict::Invalid)
        .map(|trial| of(&trial.planned.cell))
        .collect();
    let estimate = |planned: &PlannedTrial| {
        (planned.cell.clone(), estimate_of(manifest, &setting.profile, &planned.cell))
    };
    let mut left = TimeLeft::new(order.iter().map(estimate));
    for (index, planned) in order.iter().enumerate() {
        if trials.iter().any(|trial| trial.planned == *planned) {
            left.skip();
            continue;
        }
        if setting.stop.is_raised() {
            return Ended::Interrupted;
        }
        let key = of(&planned.cell);
        let Some((scenario, contender)) = find(plan.suite, &planned.cell) else {
            left.skip();
            continue;
        };
        if failed.contains(&key) {
            left.skip();
            continue;
        }
        progress.started(planned, index + 1, order.len(), left.now());
        let seed = trial_seed(manifest.seed, index);
        let shape = LoadShape::of(scenario, planned.cell.connections);
        let ceiling = ceiling_of(&manifest.generator_ceilings, shape);
        let began = Instant::now();
        let setting = of_cell(setting, manifest, &planned.cell);
        let trial = match trial::run(&setting, scenario, contender, planned, seed, ceiling) {
            Ok(trial) => trial,
            Err(TrialError::Interrupted) => return Ended::Interrupted,
            Err(TrialError::Harness(reason)) => return Ended::Broken(reason),
        };
        left.took(began.elapsed());
        let stored = store.append(&trial);
        progress.ended(&trial);
        if trial.verdict == Verdict::Invalid {
            // A wrong contender is not measured again: its other trials would be as wrong.
            failed.insert(key);
        }
        trials.push(trial);
        if let Err(error) = stored {
            return Ended::Broken(format!("the last trial cannot be stored: {error}"));
        }
    }
    Ended::Complete
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

/// How long all of `order` takes, about.
pub fn estimate(manifest: &Manifest, profile: &Profile) -> Duration {
    manifest.order.iter().map(|planned| estimate_of(manifest, profile, &planned.cell)).sum()
}

fn estimate_of(manifest: &Manifest, profile: &Profile, cell: &Cell) -> Duration {
    let own = manifest.window(&cell.scenario, &cell.contender);
    let window = own.map_or(profile.duration, |own| Duration::from_secs_f64(own.duration_s));
    plan::estimate(profile, window)
}

/// The setting of one cell's trials: its own window and quota.
fn of_cell<'a>(setting: &Setting<'a>, manifest: &Manifest, cell: &Cell) -> Setting<'a> {
    let Some(own) = manifest.window(&cell.scenario, &cell.contender) else {
        return setting.clone();
    };
    let duration = Duration::from_secs_f64(own.duration_s);
    let profile = Profile { duration, requests: own.requests, ..setting.profile };
    Setting { profile, cpu_quota: own.cpu_quota, ..setting.clone() }
}

/// How long the rest takes: what the same cell took before, else the plan's estimate, corrected by
/// what estimates were worth so far.
struct TimeLeft {
    /// Cells and estimates of the trials that are still to run, in their order.
    left: VecDeque<(Cell, Duration)>,
    took: BTreeMap<Cell, Duration>,
    spent: Duration,
    estimated: Duration,
}

impl TimeLeft {
    fn new(trials: impl Iterator<Item = (Cell, Duration)>) -> Self {
        Self {
            left: trials.collect(),
            took: BTreeMap::new(),
            spent: Duration::ZERO,
            estimated: Duration::ZERO,
        }
    }

    /// The next trial does not run.
    fn skip(&mut self) {
        self.left.pop_front();
    }

    /// The next trial ran.
    fn took(&mut self, time: Duration) {
        if let Some((cell, estimate)) = self.left.pop_front() {
            self.spent += time;
            self.estimated += estimate;
            self.took.insert(cell, time);
        }
    }

    fn now(&self) -> Duration {
        let worth = if self.estimated.is_zero() {
            1.0
        } else {
            self.spent.as_secs_f64() / self.estimated.as_secs_f64()
        };
        let of_one = |(cell, estimate): &(Cell, Duration)| {
            self.took.get(cell).copied().unwrap_or_else(|| estimate.mul_f64(worth))
        };
        self.left.iter().map(of_one).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_what_trials_took() {
        let seconds = Duration::from_secs;
        let cell = |contender: &str| Cell {
            scenario: "hello".into(),
            contender: contender.into(),
            connections: 50,
        };
        let plan = [("fast", 10), ("slow", 30), ("fast", 10), ("slow", 30), ("fast", 10)];
        let mut left = TimeLeft::new(plan.into_iter().map(|(c, s)| (cell(c), seconds(s))));
        assert_eq!(left.now(), seconds(90));
        left.took(seconds(5));
        assert_eq!(left.now(), seconds(15 + 5 + 15 + 5), "half of what was expected");
        left.took(seconds(55));
        assert_eq!(left.now(), seconds(5 + 55 + 5), "what the same cell took before");
        left.skip();
        assert_eq!(left.now(), seconds(55 + 5));
    }

    #[test]
    fn each_trial_has_a_seed_of_its_own() {
        assert_ne!(trial_seed(1, 0), trial_seed(1, 1));
        assert_eq!(trial_seed(1, 7), trial_seed(1, 7));
    }
}
