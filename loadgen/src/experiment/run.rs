//! A whole comparison: every planned trial in its order, and the result made of them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::plan::{self, Cell, PlannedTrial};
use super::record::{Comparison, Host, Manifest, SCHEMA, Trial};
use super::store::Store;
use super::summary;
use super::trial::{self, Setting, TrialError};
use super::verdict::Verdict;
use crate::scenario::{Contender, Scenario, Suite};

/// Told what happens, for people who wait.
pub trait Progress {
    /// A trial begins; `left` is about how long the rest takes, this one included.
    fn started(&mut self, planned: &PlannedTrial, number: usize, total: usize, left: Duration);
    /// A trial ended.
    fn ended(&mut self, trial: &Trial);
}

/// What a comparison is made of, besides its setting.
pub struct Plan<'a> {
    /// Scenarios and contenders by name.
    pub suite: &'a Suite,
    /// What is measured, in the order of the tables.
    pub cells: Vec<Cell>,
    /// How it was asked for; its `order` is what runs.
    pub manifest: Manifest,
    /// The machine.
    pub host: Host,
    /// What is not measured, and how to get it.
    pub skipped: Vec<String>,
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

/// Runs all trials, storing each as it ends, and returns what they add up to.
///
/// # Errors
/// The result folder cannot be written.
pub fn run(
    plan: Plan<'_>,
    setting: &Setting<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
) -> std::io::Result<(Comparison, Ended)> {
    let mut trials: Vec<Trial> = Vec::new();
    let ended = run_trials(&plan, setting, store, progress, &mut trials)?;
    let Plan { cells, manifest, host, mut skipped, .. } = plan;
    if let Ended::Broken(reason) = &ended {
        skipped.push(format!("the run ended early: {reason}"));
    }
    let comparison = Comparison {
        schema: SCHEMA.into(),
        host,
        cells: summary::cells(&cells, &trials, &manifest.ceiling, manifest.seed),
        skipped,
        warnings: summary::answer_warnings(&trials),
        interrupted: !matches!(ended, Ended::Complete),
        trials,
        manifest,
    };
    store.write_json("result.json", &comparison)?;
    store.tidy();
    Ok((comparison, ended))
}

fn run_trials(
    plan: &Plan<'_>,
    setting: &Setting<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
    trials: &mut Vec<Trial>,
) -> std::io::Result<Ended> {
    let order = &plan.manifest.order;
    let mut failed: BTreeSet<(String, String)> = BTreeSet::new();
    let mut left = TimeLeft::new(plan::estimate(order.len(), &setting.profile), order.len());
    for (index, planned) in order.iter().enumerate() {
        if setting.stop.is_raised() {
            return Ok(Ended::Interrupted);
        }
        let key = (planned.cell.scenario.clone(), planned.cell.contender.clone());
        let Some((scenario, contender)) = find(plan.suite, &planned.cell) else { continue };
        if failed.contains(&key) {
            left.skip();
            continue;
        }
        progress.started(planned, index + 1, order.len(), left.now());
        let seed = trial_seed(plan.manifest.seed, index);
        let began = Instant::now();
        let trial = match trial::run(setting, scenario, contender, planned, seed) {
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
