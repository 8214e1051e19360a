//! Noise: the same contender again and again, and what difference this machine can show.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Grade};
use super::{Effort, Means};
use crate::experiment::plan::{Cell, PlannedTrial};
use crate::experiment::record::Trial;
use crate::experiment::stats;
use crate::experiment::trial::{self, Setting, TrialError};
use crate::experiment::verdict::Verdict;
use crate::experiment::{prepare, summary};
use crate::scenario::{Answer, Contender, Content, Profile, Scenario, Suite, Workers};

/// The scenario it is measured in.
const SCENARIO: &str = "hello";
/// Connections kept open.
const CONNECTIONS: u32 = 50;
/// The profile whose number of trials is the usual one.
const USUAL_PROFILE: &str = "quick";

/// What the trials showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// What difference can be shown.
    pub finding: Finding,
    /// The program that was measured.
    pub contender: String,
    /// Connections kept open.
    pub connections: u32,
    /// Each window, s.
    pub duration_s: f64,
    /// Completed requests per second of each trial, in their order.
    pub rates_per_s: Vec<f64>,
    /// CPU time of the server for one request, in each trial.
    pub cpu_us_per_request: Vec<f64>,
    /// Trials that the hypervisor or other processes disturbed; they are in the lists, and not in the
    /// figures below where most are quiet.
    pub host_noisy: usize,
    /// Spread of the ratio of one trial's rate to the next one's, as a share; `null` where there were
    /// too few trials.
    pub ratio_spread: Option<f64>,
    /// The same of the CPU time.
    pub cpu_ratio_spread: Option<f64>,
    /// Trials of each cell in a usual comparison.
    pub usual_trials: u32,
    /// Two contenders whose rates differ by less are not told apart with that many trials, percent.
    pub smallest_difference_percent: Option<f64>,
    /// The same of the CPU time per request.
    pub smallest_cpu_difference_percent: Option<f64>,
}

/// The contender, and what it is asked for.
struct Played {
    scenario: Scenario,
    contender: Contender,
    name: &'static str,
}

/// Measures the same contender in `effort.noise_trials` short trials, a fresh process each.
///
/// # Errors
/// It cannot be started, or does not answer right.
pub(super) fn measure(means: &Means<'_>, effort: &Effort) -> Result<Noise, String> {
    let mut places = means.places.clone();
    let suite = Suite::load(None, &places.data).map_err(|error| error.to_string())?;
    places.programs = prepare::built_programs(&places.workspace, &[format!("server-{SCENARIO}")]);
    let played = played(&suite, !places.programs.is_empty())?;
    let logs = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let profile = Profile {
        trials: effort.noise_trials,
        warmup: Duration::from_millis(200),
        warmup_max: Duration::from_millis(200),
        duration: effort.noise_window,
        requests: None,
        ready_timeout: Duration::from_secs(5),
    };
    let setting = Setting {
        places: &places,
        pins: means.pins,
        profile,
        cpu_quota: None,
        port: None,
        tls: means.client_tls.clone(),
        logs: logs.path(),
        stop: means.stop,
    };
    let mut trials = Vec::new();
    for block in 0..effort.noise_trials {
        match one_trial(&setting, &played, block) {
            Ok(trial) => trials.push(trial?),
            Err(Interrupted) => break,
        }
    }
    let usual = suite.profiles.get(USUAL_PROFILE).map_or(5, |profile| profile.trials);
    Ok(noise(&trials, played.name, effort.noise_window, usual))
}

/// Ended by a signal.
struct Interrupted;

fn one_trial(
    setting: &Setting<'_>,
    played: &Played,
    block: u32,
) -> Result<Result<Trial, String>, Interrupted> {
    let planned = PlannedTrial {
        cell: Cell {
            scenario: played.scenario.name.clone(),
            contender: played.contender.name.clone(),
            connections: CONNECTIONS,
        },
        block,
    };
    let seed = u64::from(block) + 1;
    match trial::run(setting, &played.scenario, &played.contender, &planned, seed, None) {
        Ok(trial) if trial.verdict == Verdict::Invalid => {
            Ok(Err(format!("{} cannot be measured: {}", played.name, trial.reason)))
        }
        Ok(trial) => Ok(Ok(trial)),
        Err(TrialError::Interrupted) => Err(Interrupted),
        Err(TrialError::Harness(reason)) => Ok(Err(reason)),
    }
}

/// The ceiling of the hello scenario where it is built, else the null server.
fn played(suite: &Suite, built: bool) -> Result<Played, String> {
    let scenario = suite.scenario(SCENARIO).ok_or("the suite has no hello scenario")?.clone();
    let is_ceiling = |contender: &&Contender| {
        contender.name == suite.ceiling && contender.scenarios.contains(&scenario.name)
    };
    let ceiling = suite.contenders.iter().find(is_ceiling).ok_or("the suite has no ceiling")?;
    if built {
        return Ok(Played { scenario, contender: ceiling.clone(), name: "server-hello" });
    }
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let words = ["null-server", "--response-bytes", "12", "--port", "{port}"];
    let command = std::iter::once(program.display().to_string());
    let contender = Contender {
        name: "null-server".into(),
        scenarios: vec![SCENARIO.into()],
        command: command.chain(words.map(str::to_owned)).collect(),
        workers: Workers::One,
        ..ceiling.clone()
    };
    let answer = Answer { content: Content::Any, ..scenario.answer.clone() };
    let scenario = Scenario { answer, ..scenario };
    Ok(Played { scenario, contender, name: "null server" })
}

fn noise(trials: &[Trial], contender: &str, window: Duration, usual_trials: u32) -> Noise {
    let all: Vec<&Trial> = trials.iter().collect();
    let used = summary::used(&all);
    let figures = |trials: &[&Trial], of: fn(&Trial) -> Option<f64>| -> Vec<f64> {
        trials.iter().filter_map(|trial| of(trial)).collect()
    };
    let spread = |of| stats::ratio_spread(&figures(&used, of));
    let (rate, cost) = (spread(summary::rate), spread(summary::cost));
    let percent =
        |spread: Option<f64>| Some(stats::smallest_difference(spread?, usual_trials) * 100.0);
    let noisy = all.iter().filter(|trial| trial.verdict == Verdict::HostNoisy).count();
    Noise {
        finding: judge(percent(rate), percent(cost), usual_trials, noisy, all.len()),
        contender: contender.into(),
        connections: CONNECTIONS,
        duration_s: window.as_secs_f64(),
        rates_per_s: figures(&all, summary::rate),
        cpu_us_per_request: figures(&all, summary::cost),
        host_noisy: noisy,
        ratio_spread: rate,
        cpu_ratio_spread: cost,
        usual_trials,
        smallest_difference_percent: percent(rate),
        smallest_cpu_difference_percent: percent(cost),
    }
}

fn judge(
    rate: Option<f64>,
    cost: Option<f64>,
    usual_trials: u32,
    noisy: usize,
    trials: usize,
) -> Finding {
    let (Some(rate), Some(cost)) = (rate, cost) else {
        return Finding::new("noise", Grade::Bad, format!("{trials} trials are too few to tell"))
            .advise("let the check run to its end");
    };
    let mut value = format!(
        "differences under {rate:.1} % are noise here, in CPU time per request under {cost:.1} % \
         ({usual_trials} trials each)"
    );
    if noisy > 0 {
        value.push_str(&format!("; {noisy} of {trials} trials were disturbed by others"));
    }
    let by_noisy = if noisy * 2 >= trials { Grade::Bad } else { Grade::Good };
    Finding::new("noise", Grade::at_most(rate, 5.0, 15.0).max(by_noisy), value)
        .figure("smallest_difference_percent", rate)
        .figure("smallest_cpu_difference_percent", cost)
        .advise(
            "quieten the machine (background load, governor, steal), or use more trials: twice as \
             precise takes four times as many",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_judged_by_what_it_cannot_tell_apart() {
        let judge = |rate, noisy| judge(Some(rate), Some(1.0), 5, noisy, 12);
        assert_eq!(judge(2.0, 0).grade, Grade::Good);
        let unsteady = judge(9.3, 1);
        assert_eq!(unsteady.grade, Grade::Tolerable);
        assert!(unsteady.value.starts_with("differences under 9.3 % are noise"), "{unsteady:?}");
        assert!(unsteady.value.ends_with("1 of 12 trials were disturbed by others"));
        assert_eq!(judge(40.0, 0).grade, Grade::Bad);
        assert_eq!(judge(1.0, 6).grade, Grade::Bad, "half of them disturbed");
        assert_eq!(super::judge(None, None, 5, 0, 2).grade, Grade::Bad);
    }

    #[test]
    fn the_null_server_stands_in_where_nothing_is_built() {
        let suite = Suite::load(None, &prepare::folders().data).unwrap();
        assert_eq!(played(&suite, true).unwrap().name, "server-hello");
        let stand_in = played(&suite, false).unwrap();
        assert_eq!(stand_in.name, "null server");
        assert!(stand_in.contender.command.contains(&"null-server".to_owned()));
    }
}
