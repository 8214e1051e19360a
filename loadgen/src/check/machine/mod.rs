//! The machine: what on it moves figures, line by line.

mod activity;
mod clock;
mod cores;
mod limits;
mod loopback;

use std::time::Duration;

pub(super) use activity::Counted;

use super::finding::{Finding, Grade};
use crate::engine::StopFlag;
use crate::experiment::pins::Pins;
use crate::experiment::record::Host;

/// Looks at everything that does not need the whole check; `sample` is how long the idle machine is
/// watched.
pub(super) fn look(host: &Host, pins: &Pins, sample: Duration, stop: &StopFlag) -> Vec<Finding> {
    let mut findings = vec![build()];
    // First what others do, while this program does nothing.
    let background = activity::background(&host.cpus_allowed, sample, stop);
    findings.extend(cores::look(host, pins));
    findings.push(background);
    findings.extend(clock::look());
    findings.extend(limits::look(host));
    findings.extend(loopback::look(pins));
    findings
}

/// Whether this program was built to be measured with.
fn build() -> Finding {
    if cfg!(debug_assertions) {
        Finding::new("build", Grade::Bad, "a debug build of loadgen")
            .advise("use `cargo run --release -p loadgen -- check`")
    } else {
        Finding::new("build", Grade::Good, "a release build of loadgen")
    }
}

/// A file of the kernel, without the newline; `None` where there is no such file.
fn read(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

/// A quantile of `values`, by nearest rank; NaN of nothing.
fn quantile(values: &mut [f64], quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (quantile * values.len() as f64).ceil() as usize;
    values.get(rank.clamp(1, values.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}
