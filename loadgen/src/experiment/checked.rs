//! What a comparison takes from an earlier `loadgen check` of the machine it runs on.

use serde::{Deserialize, Serialize};

use super::ceiling::{Ceiling, LoadShape};
use super::stats;

/// A ceiling this far below that of the check was taken on a machine that had less to give.
const LOWER_CEILING: f64 = 0.85;

/// A check of this machine, as recorded in the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The kept result of the check.
    pub file: String,
    /// Start of the check, UTC.
    pub started_at: String,
    /// Days from the check to the comparison.
    pub age_days: f64,
    /// What was found that speaks against publishing figures from this machine.
    pub objections: Vec<String>,
    /// Spread of the ratio of two trials of the same contender, one after the other, as a share.
    pub ratio_spread: f64,
    /// With the trials of this comparison, contenders whose rates differ by less are not told apart,
    /// percent.
    pub smallest_difference_percent: f64,
    /// What the generator reached then.
    pub generator_ceilings: Vec<CheckedCeiling>,
}

/// What the generator reached with one load when the machine was checked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedCeiling {
    /// The load.
    #[serde(flatten)]
    pub shape: LoadShape,
    /// Completed requests per second.
    pub rate_per_s: f64,
}

impl Checked {
    /// Smallest difference that `trials` of each cell can show, as a share.
    pub fn smallest_difference(&self, trials: u32) -> f64 {
        stats::smallest_difference(self.ratio_spread, trials)
    }

    /// The check in one line.
    pub fn in_words(&self) -> String {
        let started = self.started_at.replace('T', " ");
        let started = started.trim_end_matches('Z');
        let noise = format!(
            "differences under {:.1} % are noise with this number of trials",
            self.smallest_difference_percent
        );
        if self.objections.is_empty() {
            format!("checked {started} UTC; {noise}")
        } else {
            let objections = self.objections.join("; ");
            format!("checked {started} UTC and found unfit: {objections}; {noise}")
        }
    }

    /// What readers of the tables must know, one line each.
    pub fn warnings(&self, now: &[Ceiling]) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.objections.is_empty() {
            warnings.push(format!(
                "this machine was checked and found unfit for figures to publish: {}",
                self.objections.join("; ")
            ));
        }
        for ceiling in now {
            let then = self.generator_ceilings.iter().find(|then| then.shape == ceiling.shape);
            let Some(then) = then else { continue };
            if ceiling.rate_per_s < then.rate_per_s * LOWER_CEILING {
                warnings.push(format!(
                    "at {} connections over {} the generator reached {:.0} % of what it reached when \
                     this machine was checked: something else took part of it",
                    ceiling.shape.connections,
                    if ceiling.shape.tls { "HTTPS" } else { "HTTP" },
                    ceiling.rate_per_s / then.rate_per_s * 100.0
                ));
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked() -> Checked {
        Checked {
            file: "/home/a/.local/state/loadgen/check.json".into(),
            started_at: "2026-11-30T12:00:00Z".into(),
            age_days: 1.0,
            objections: Vec::new(),
            ratio_spread: 0.03,
            smallest_difference_percent: 3.3,
            generator_ceilings: vec![CheckedCeiling {
                shape: LoadShape::new(false, 50, 0, 12),
                rate_per_s: 100_000.0,
            }],
        }
    }

    fn ceiling(rate_per_s: f64, connections: u32) -> Ceiling {
        let shape = LoadShape::new(false, connections, 0, 12);
        Ceiling { shape, rate_per_s, generator_busy_fraction: 1.0 }
    }

    #[test]
    fn a_lower_ceiling_than_at_the_check_is_told() {
        let warnings = checked().warnings(&[ceiling(70_000.0, 50), ceiling(1.0, 10)]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("at 50 connections over HTTP"), "{warnings:?}");
        assert!(warnings[0].contains("reached 70 % of"), "{warnings:?}");
        assert_eq!(checked().warnings(&[ceiling(95_000.0, 50)]), Vec::<String>::new());
    }

    #[test]
    fn an_unfit_machine_is_told() {
        let unfit = Checked { objections: vec!["noise: too much".into()], ..checked() };
        assert!(unfit.warnings(&[])[0].ends_with("to publish: noise: too much"));
        assert!(unfit.in_words().contains("found unfit: noise: too much"));
        assert!(checked().in_words().starts_with("checked 2026-11-30 12:00:00 UTC; "));
    }

    #[test]
    fn more_trials_show_smaller_differences() {
        let checked = checked();
        assert!(checked.smallest_difference(20) < checked.smallest_difference(5));
    }
}
