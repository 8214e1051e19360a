//! Whether another generator says the same, and what explains that it does not.

use super::tools::Tool;
use super::{LoadKind, SATURATED, Sample};
use crate::check::finding::Grade;

/// Rates of a server that all keep up with differ by no more than this.
const RATE_TOLERANCE: f64 = 0.05;
/// Medians differ by no more than this and [`P50_TOLERANCE_US`].
const P50_TOLERANCE: f64 = 0.05;
/// Wake-ups and clock reads at other places.
const P50_TOLERANCE_US: f64 = 100.0;

/// The grade of what `theirs` says beside `ours`, and the reason for a difference.
pub(super) fn explain(
    tool: Tool,
    load: LoadKind,
    ours: &Sample,
    theirs: &Sample,
) -> (Grade, Option<String>) {
    let rate = theirs.rate_per_s / ours.rate_per_s - 1.0;
    let p50 = theirs.p50_us - ours.p50_us;
    let same_rate = rate.abs() <= RATE_TOLERANCE;
    let same_p50 = p50.abs() <= P50_TOLERANCE_US + P50_TOLERANCE * ours.p50_us;
    match load {
        LoadKind::Full => full(ours, theirs, same_rate),
        LoadKind::Delayed if same_rate && same_p50 => (Grade::Good, None),
        LoadKind::Delayed => match reason(tool, ours, theirs, same_rate) {
            Some(reason) => (Grade::Good, Some(reason)),
            None => {
                (Grade::Bad, Some(format!("differs by {:+.1} % and {p50:+.0} µs", rate * 100.0)))
            }
        },
    }
}

/// At full speed the rates are those of the generators, and latencies follow from them (Little's
/// law): there is nothing to agree on but whose limit it was.
fn full(ours: &Sample, theirs: &Sample, same_rate: bool) -> (Grade, Option<String>) {
    let note = if theirs.busy_fraction >= SATURATED {
        Some(format!(
            "client-bound: it was {:.0} % busy and is the limit itself",
            theirs.busy_fraction * 100.0
        ))
    } else if same_rate || theirs.rate_per_s > ours.rate_per_s {
        None
    } else if ours.busy_fraction < SATURATED {
        Some("no generator was the limit here: others had part of its CPU".into())
    } else {
        Some(format!("was {:.0} % busy and waited for itself", theirs.busy_fraction * 100.0))
    };
    (Grade::Good, note)
}

/// What is known of the tool and explains a difference.
fn reason(tool: Tool, ours: &Sample, theirs: &Sample, same_rate: bool) -> Option<String> {
    if theirs.busy_fraction >= SATURATED {
        return Some("client-bound: it does not keep up with this load".into());
    }
    let known = match tool {
        Tool::Autocannon if same_rate && is_whole_ms(theirs.p50_us) => {
            "counts in whole milliseconds"
        }
        Tool::Autocannon if theirs.rate_per_s < ours.rate_per_s => {
            "starts cold: its JavaScript is still being compiled in so short a load"
        }
        Tool::Wrk if same_rate => {
            "adds samples that no request had (back-filled) where one took twice the mean"
        }
        _ => return None,
    };
    Some(known.into())
}

fn is_whole_ms(us: f64) -> bool {
    (us / 1e3).fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Sample = Sample {
        rate_per_s: 4_800.0,
        p50_us: 2_070.0,
        cpu_us_per_request: 12.0,
        busy_fraction: 0.06,
    };

    fn delayed(tool: Tool, theirs: Sample) -> (Grade, Option<String>) {
        explain(tool, LoadKind::Delayed, &OURS, &theirs)
    }

    #[test]
    fn small_differences_are_none() {
        let close = Sample { rate_per_s: 4_750.0, p50_us: 2_100.0, ..OURS };
        assert_eq!(delayed(Tool::H2load, close), (Grade::Good, None));
    }

    #[test]
    fn known_ways_of_counting_explain_a_difference() {
        let note = |tool, theirs| delayed(tool, theirs).1.unwrap_or_default();
        let whole = Sample { p50_us: 3_000.0, ..OURS };
        assert!(note(Tool::Autocannon, whole).contains("whole milliseconds"));
        let cold = Sample { rate_per_s: 4_100.0, p50_us: 3_000.0, ..OURS };
        assert!(note(Tool::Autocannon, cold).contains("starts cold"));
        let longer = Sample { p50_us: 4_100.0, ..OURS };
        assert!(note(Tool::Wrk, longer).contains("back-filled"));
        let busy = Sample { rate_per_s: 2_000.0, busy_fraction: 0.97, ..OURS };
        assert!(note(Tool::H2load, busy).contains("client-bound"));
    }

    #[test]
    fn what_nothing_explains_is_bad_with_its_size() {
        let longer = Sample { rate_per_s: 2_400.0, p50_us: 4_140.0, ..OURS };
        let (grade, note) = delayed(Tool::H2load, longer);
        assert_eq!(grade, Grade::Bad);
        assert_eq!(note.unwrap(), "differs by -50.0 % and +2070 µs");
    }

    #[test]
    fn at_full_speed_the_limit_is_named() {
        let ours = Sample { rate_per_s: 170_000.0, busy_fraction: 0.99, ..OURS };
        let theirs = Sample { rate_per_s: 130_000.0, busy_fraction: 0.98, ..OURS };
        let (grade, note) = explain(Tool::Wrk, LoadKind::Full, &ours, &theirs);
        assert_eq!(grade, Grade::Good);
        assert!(note.unwrap().starts_with("client-bound: it was 98 % busy"));
    }
}
