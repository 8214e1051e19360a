//! Load before the measured window until the rate is steady, so that no JIT compiler is measured cold.

use std::time::Duration;

use crate::engine::{self, EngineError, RunSpec, Stop, StopFlag};
use crate::scenario::Profile;

/// Length of one step of load; the rates of steps are compared.
const STEP: Duration = Duration::from_millis(200);
/// The last steps that must agree.
const STEPS: usize = 4;
/// Difference of their two halves that counts as none.
const TOLERANCE: f64 = 0.05;
/// Warm-up of the measured run itself, for its connections: the contender is warm by then.
const SETTLE: Duration = Duration::from_millis(150);

/// One step of load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Requests completed.
    pub completed: u64,
    /// The same by its length.
    pub rate_per_s: f64,
}

/// The warm-up of one trial, as far as it was runs of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Warmup {
    /// Time under load.
    pub elapsed: Duration,
    /// Requests completed in them.
    pub completed: u64,
    /// Whether the rate was steady at its end; `None` where its length was fixed.
    pub steady: Option<bool>,
}

/// Whether the rate has stopped to rise or fall: the halves of the last steps differ by no more than
/// 5 %, or than twice what chance makes of so few requests. Two halves show a trend; their spread
/// would show the noise of the machine.
pub fn is_steady(steps: &[Step]) -> bool {
    let Some(first) = steps.len().checked_sub(STEPS) else { return false };
    let last = &steps[first..];
    let (earlier, later) = last.split_at(STEPS / 2);
    let rate = |half: &[Step]| half.iter().map(|step| step.rate_per_s).sum::<f64>();
    let completed: u64 = last.iter().map(|step| step.completed).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of a second are far below 2^53")]
    let chance = 2.0 / (completed as f64).sqrt();
    completed > 0 && (rate(later) / rate(earlier) - 1.0).abs() <= TOLERANCE.max(chance)
}

/// What the measured run still has to warm up itself.
pub fn of_measured_run(profile: &Profile) -> Duration {
    if is_fixed(profile) { profile.warmup } else { SETTLE }
}

fn is_fixed(profile: &Profile) -> bool {
    profile.warmup_max <= profile.warmup
}

/// Loads the server as `spec` does, from the profile's shortest to its longest warm-up, until the
/// rate is steady. Nothing to do where the profile fixes the length.
///
/// # Errors
/// What keeps a run from starting.
pub fn run(spec: &RunSpec, profile: &Profile, stop: &StopFlag) -> Result<Warmup, EngineError> {
    let mut warmup = Warmup::default();
    if is_fixed(profile) {
        return Ok(warmup);
    }
    let mut steps = Vec::new();
    loop {
        let step = RunSpec {
            warmup: Duration::ZERO,
            stop: Stop::Duration(STEP),
            sampling: None,
            // Random values of its own: what a contender caches does not help it in the window.
            seed: spec.seed.wrapping_add(1 + steps.len() as u64),
            ..spec.clone()
        };
        let result = engine::run(&step, stop, &mut ())?;
        warmup.elapsed += result.elapsed;
        let completed = result.requests.completed;
        warmup.completed += completed;
        #[expect(clippy::cast_precision_loss, reason = "counts of a step are far below 2^53")]
        let rate_per_s = completed as f64 / result.elapsed.as_secs_f64().max(1e-9);
        steps.push(Step { completed, rate_per_s });
        warmup.steady = Some(is_steady(&steps));
        let enough = warmup.elapsed >= profile.warmup && warmup.steady == Some(true);
        // Whom nobody can connect to, the measured run will report.
        let gone = result.connections.established == 0;
        if enough || gone || stop.is_raised() || warmup.elapsed + STEP > profile.warmup_max {
            return Ok(warmup);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(rates: &[u32]) -> Vec<Step> {
        let step = |&rate: &u32| Step { completed: rate.into(), rate_per_s: f64::from(rate) };
        rates.iter().map(step).collect()
    }

    #[test]
    fn a_rising_rate_is_not_steady_and_a_level_one_is() {
        assert!(!is_steady(&steps(&[10_000, 12_000, 14_000, 16_000])));
        assert!(is_steady(&steps(&[2_000, 9_000, 10_000, 10_100, 10_050, 10_150])));
        assert!(!is_steady(&steps(&[10_000, 10_000, 10_000])), "too few steps");
        assert!(!is_steady(&steps(&[20_000, 18_000, 16_000, 14_000])), "a falling one neither");
    }

    #[test]
    fn noise_without_a_trend_is_steady() {
        assert!(is_steady(&steps(&[10_000, 11_000, 10_900, 10_100])));
    }

    #[test]
    fn few_requests_may_differ_by_chance() {
        assert!(is_steady(&steps(&[25, 22, 24, 26])));
        assert!(!is_steady(&steps(&[10, 12, 20, 24])));
        assert!(!is_steady(&steps(&[0, 0, 0, 0])));
        assert!(!is_steady(&steps(&[0, 0, 1_000, 1_000])));
    }
}
