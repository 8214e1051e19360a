//! Two comparisons cell by cell: what a change of the code did, as far as the trials show it.

mod same;
mod text;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::experiment::plan::Cell;
use crate::experiment::record::{CellResult, Comparison, Trial};
use crate::experiment::stats::{Interval, median, ratio_interval};
use crate::experiment::verdict::Verdict;
use crate::report::compare::{cost_of_trial, trials_of};

pub use same::differences;
pub use text::text;

/// Value of [`Diff::schema`].
pub const SCHEMA: &str = "loadgen-diff/1";

/// Changes within this share of the base are not told from noise unless asked otherwise: two runs
/// differ by more than the trials of one, and the intervals know only the latter.
pub const DEFAULT_THRESHOLD: f64 = 0.05;

/// The difference of two comparisons.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Start of the base, UTC.
    pub base_started_at: String,
    /// Start of the new one, UTC.
    pub new_started_at: String,
    /// Share of the base that a change must exceed.
    pub threshold: f64,
    /// What differs in machine or scenarios; empty unless it was forced.
    pub forced: Vec<String>,
    /// In the order of the base, then what only the new one has.
    pub cells: Vec<CellDiff>,
}

/// The difference of one cell.
#[derive(Clone, Debug, Serialize)]
pub struct CellDiff {
    /// Which.
    #[serde(flatten)]
    pub cell: Cell,
    /// It had figures, and its answers are wrong or missing now.
    pub broken: bool,
    /// Completed requests per second.
    pub rate_per_s: Change,
    /// CPU time of the server per verified request.
    pub cpu_us_per_request: Change,
    /// 99th percentile of the service time.
    pub p99_us: Change,
}

/// The change of one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What can be said.
    pub outcome: Outcome,
    /// Why it cannot be compared.
    pub reason: Option<String>,
    /// Median over the base's trials.
    pub base: Option<f64>,
    /// Median over the new trials.
    pub new: Option<f64>,
    /// New by base.
    pub ratio: Option<f64>,
    /// 95 % bootstrap interval of the ratio over trials.
    pub interval: Option<Interval>,
}

/// What can be said of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// More requests per second, less CPU time per request, or a shorter p99.
    Faster,
    /// The contrary.
    Slower,
    /// The interval is not wholly beyond the threshold.
    NoChangeShown,
    /// There is no pair of figures.
    NotComparable,
}

impl Outcome {
    /// The words used in every text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoChangeShown => "no change shown",
            Self::NotComparable => "not comparable",
        }
    }
}

impl CellDiff {
    /// The three figures by name.
    pub fn changes(&self) -> [(&'static str, &Change); 3] {
        [
            ("requests/s", &self.rate_per_s),
            ("CPU per request", &self.cpu_us_per_request),
            ("p99", &self.p99_us),
        ]
    }

    /// Whether anything in it got worse.
    pub fn is_regression(&self) -> bool {
        self.broken || self.changes().iter().any(|(_, c)| c.outcome == Outcome::Slower)
    }
}

impl Diff {
    /// Whether any figure of any cell could be compared.
    pub fn compares_anything(&self) -> bool {
        let comparable = |change: &Change| change.outcome != Outcome::NotComparable;
        self.cells.iter().any(|cell| cell.changes().iter().any(|(_, c)| comparable(c)))
    }
}

/// Compares every cell of either.
pub fn diff(base: &Comparison, new: &Comparison, threshold: f64, forced: Vec<String>) -> Diff {
    let known: BTreeSet<Cell> = base.cells.iter().map(CellResult::cell).collect();
    let added = new.cells.iter().map(CellResult::cell).filter(|cell| !known.contains(cell));
    let cells = base.cells.iter().map(CellResult::cell).chain(added);
    Diff {
        schema: SCHEMA,
        base_started_at: base.manifest.started_at.clone(),
        new_started_at: new.manifest.started_at.clone(),
        threshold,
        forced,
        cells: cells.map(|cell| cell_diff(cell, base, new, threshold)).collect(),
    }
}

fn cell_diff(cell: Cell, base: &Comparison, new: &Comparison, threshold: f64) -> CellDiff {
    let pair = Pair::new(&cell, base, new);
    let wrong = |side: &Side<'_>| side.cell.is_some_and(|c| c.verdict == Some(Verdict::Invalid));
    let measured = pair.base.cell.is_some_and(|cell| cell.rate_per_s.is_some());
    let change = |figure: Figure| pair.change(figure, threshold);
    CellDiff {
        broken: measured && wrong(&pair.new),
        rate_per_s: change(Figure {
            of: |trial| Some(trial.load.as_ref()?.rate_per_s),
            more_is_faster: true,
            holds_client_bound: false,
        }),
        cpu_us_per_request: change(Figure {
            of: cost_of_trial,
            more_is_faster: false,
            holds_client_bound: true,
        }),
        p99_us: change(Figure {
            of: |trial| trial.load.as_ref()?.service_time_us.p99,
            more_is_faster: false,
            holds_client_bound: false,
        }),
        cell,
    }
}

/// A figure of a trial, and how it is to be read.
#[derive(Clone, Copy)]
struct Figure {
    of: fn(&Trial) -> Option<f64>,
    more_is_faster: bool,
    /// Whether it is the contender's own where the generator was the limit.
    holds_client_bound: bool,
}

/// One cell in one comparison.
struct Side<'a> {
    name: &'static str,
    cell: Option<&'a CellResult>,
    trials: Vec<&'a Trial>,
}

impl<'a> Side<'a> {
    fn new(name: &'static str, cell: &Cell, comparison: &'a Comparison) -> Self {
        let cell = comparison.cells.iter().find(|result| result.cell() == *cell);
        let trials = cell.map(|cell| trials_of(comparison, cell)).unwrap_or_default();
        Self { name, cell, trials }
    }

    fn absent(&self) -> Option<String> {
        self.cell.is_none().then(|| format!("not in {}", self.name))
    }

    /// Why `figure` of this side stands for nothing.
    fn obstacle(&self, figure: Figure) -> Option<String> {
        let (name, cell) = (self.name, self.cell?);
        match cell.verdict {
            None => Some(format!("not run in {name}")),
            Some(verdict) if verdict.is_own() => None,
            Some(verdict) if verdict.is_at_least() && figure.holds_client_bound => None,
            Some(Verdict::ClientBound) => Some(format!("limited by the generator in {name}")),
            Some(Verdict::SinkBound) => Some(format!("limited by the sink in {name}")),
            Some(verdict) => Some(format!("{} in {name}: {}", verdict.name(), cell.reason)),
        }
    }
}

struct Pair<'a> {
    base: Side<'a>,
    new: Side<'a>,
    seed: u64,
}

impl<'a> Pair<'a> {
    fn new(cell: &Cell, base: &'a Comparison, new: &'a Comparison) -> Self {
        Self {
            base: Side::new("BASE", cell, base),
            new: Side::new("NEW", cell, new),
            seed: base.manifest.seed,
        }
    }

    fn obstacle(&self, figure: Figure) -> Option<String> {
        let (base, new) = (&self.base, &self.new);
        let absent = base.absent().or_else(|| new.absent());
        absent.or_else(|| base.obstacle(figure)).or_else(|| new.obstacle(figure))
    }

    fn change(&self, figure: Figure, threshold: f64) -> Change {
        let values = |side: &Side<'_>| -> Vec<f64> {
            side.trials.iter().filter_map(|trial| (figure.of)(trial)).collect()
        };
        let (base, new) = (values(&self.base), values(&self.new));
        let middle = |values: &[f64]| (!values.is_empty()).then(|| median(values));
        let mut change = Change {
            outcome: Outcome::NotComparable,
            reason: self.obstacle(figure),
            base: middle(&base),
            new: middle(&new),
            ratio: None,
            interval: None,
        };
        if change.reason.is_some() {
            return change;
        }
        let interval = ratio_interval(&new, &base, self.seed);
        let Some(interval) = interval.filter(|i| i.low.is_finite() && i.high.is_finite()) else {
            change.reason = Some("fewer than 3 trials, which carry no interval".into());
            return change;
        };
        change.ratio = Some(median(&new) / median(&base));
        change.interval = Some(interval);
        change.outcome = outcome(interval, threshold, figure.more_is_faster);
        change
    }
}

/// A change is shown where the whole interval is beyond the threshold.
fn outcome(interval: Interval, threshold: f64, more_is_faster: bool) -> Outcome {
    let (more, less) = match more_is_faster {
        true => (Outcome::Faster, Outcome::Slower),
        false => (Outcome::Slower, Outcome::Faster),
    };
    if interval.low > 1.0 + threshold {
        more
    } else if interval.high < 1.0 / (1.0 + threshold) {
        less
    } else {
        Outcome::NoChangeShown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_wholly_beyond_the_threshold_shows_a_change() {
        let outcome = |low, high, more| outcome(Interval { low, high }, 0.05, more);
        assert_eq!(outcome(1.06, 1.10, true), Outcome::Faster);
        assert_eq!(outcome(1.06, 1.10, false), Outcome::Slower);
        assert_eq!(outcome(1.04, 1.10, true), Outcome::NoChangeShown);
        assert_eq!(outcome(0.90, 0.95, true), Outcome::Slower);
        assert_eq!(outcome(0.90, 0.96, true), Outcome::NoChangeShown);
        assert_eq!(outcome(0.5, 0.6, false), Outcome::Faster);
    }
}
