//! What a reader of the figures must know: the limits of a run in plain sentences.

use super::{Loop, RunReport};
use crate::report::units;

/// Above this share of a CPU, the busiest thread of the generator is taken for the limit.
const GENERATOR_BUSY: f64 = 0.9;
/// Below this share of the requests due, the rate was not reached.
const RATE_REACHED: f64 = 0.99;

/// The sentences that apply to `report`, from its own figures.
pub(super) fn notes(report: &RunReport) -> Vec<String> {
    let mut notes = Vec::new();
    if cfg!(debug_assertions) {
        notes.push("This is a debug build of loadgen: its figures do not count.".into());
    }
    if report.interrupted {
        notes.push(format!(
            "Ended by a signal after {}: the figures cover the part that was measured.",
            units::time_us(report.elapsed_s * 1e6)
        ));
    }
    if report.requests.completed == 0 {
        notes.push("No request completed.".into());
    }
    if report.generator.busy_fraction > GENERATOR_BUSY {
        notes.push(format!(
            "The generator was the limit: its busiest thread used {:.0} % of a CPU. The server \
             may be faster than this; use more threads (-t) or CPUs.",
            report.generator.busy_fraction * 100.0
        ));
    }
    notes.extend(rate_not_reached(report));
    notes
}

fn rate_not_reached(report: &RunReport) -> Option<String> {
    let schedule = report.schedule.as_ref().filter(|_| report.load == Loop::Open)?;
    if report.requests.sent as f64 >= schedule.due as f64 * RATE_REACHED {
        return None;
    }
    Some(format!(
        "The rate was not reached: {} requests/s were due, {} were sent, because all connections \
         were waiting for responses. Use more connections, or a lower rate.",
        units::rate(schedule.rate_per_s),
        units::rate(schedule.sent_per_s.unwrap_or(0.0)),
    ))
}
