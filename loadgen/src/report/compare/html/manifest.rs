//! How the comparison was made, in the page: what is needed to read it and to run it again.

use std::collections::BTreeMap;

use maud::{Markup, html as markup};

use super::super::{role, windows};
use super::list;
use crate::experiment::checked::Checked;
use crate::experiment::record::{Comparison, Trial};
use crate::report::units;

/// The last section.
pub(super) fn section(comparison: &Comparison) -> Markup {
    markup! {
        section id="method" {
            h2 { "How to read it" }
            (method(comparison))
            @if !comparison.skipped.is_empty() {
                h3 { "Not measured" }
                ul { @for line in &comparison.skipped { li { (line) } } }
            }
            @if !comparison.warnings.is_empty() {
                h3 { "Differences between the answers" }
                ul { @for line in &comparison.warnings { li { (line) } } }
            }
            h2 { "Machine, programs, settings" }
            (machine(comparison))
            details {
                summary { "Command lines of the contenders" }
                dl { @for (name, command) in commands(&comparison.trials) {
                    dt { (name) } dd { code { (command) } }
                } }
            }
            details {
                summary { "Trials in the order they ran" }
                (trials(&comparison.trials))
            }
        }
    }
}

fn method(comparison: &Comparison) -> Markup {
    let manifest = &comparison.manifest;
    markup! {
        p {
            "Each trial is a fresh process of the contender: its answers are checked, it is loaded for "
            (manifest.warmup_in_words()) " which count nowhere, then measured for "
            (windows::of_all(manifest))
            " in a closed loop: each connection sends its next request when the last one is \
             answered. The contenders of a scenario follow each other in random order, once in \
             each block of trials. A figure is the median over "
            (units::counted(manifest.trials_per_cell.into(), "trial"))
            "; shares of the ceiling are the median of the ratios within the blocks."
        }
        p {
            "Latency is service time: from the first byte of a request to the last byte of its \
             answer, without connecting. CPU and memory are those of the server, all its threads and \
             children. Where the generator was the limit, the rate says what the contender reaches \
             at least; the CPU time per request still tells contenders apart. Contenders whose \
             interval of the ratio includes 1 are tied."
        }
        @if let Some(method) = role::method(comparison) { p { (method) } }
    }
}

fn machine(comparison: &Comparison) -> Markup {
    let (host, manifest) = (&comparison.host, &comparison.manifest);
    let pins = &manifest.pins;
    let unknown = "unknown";
    let rows: Vec<(&str, String)> = vec![
        ("started", manifest.started_at.clone()),
        ("command", manifest.command_line.join(" ")),
        (
            "loadgen",
            format!(
                "{}, {}",
                manifest.version,
                manifest.git_revision.as_deref().unwrap_or("unknown revision")
            ),
        ),
        (
            "profile",
            format!(
                "{}: {} of each cell, {} of warm-up, measured for {}",
                manifest.profile,
                units::counted(manifest.trials_per_cell.into(), "trial"),
                manifest.warmup_in_words(),
                windows::of_all(manifest)
            ),
        ),
        ("scale", manifest.scale.to_string()),
        ("seed", manifest.seed.to_string()),
        ("processor", format!("{}, {}", host.cpu_model, units::counted(host.cpus as u64, "CPU"))),
        (
            "CPUs",
            format!(
                "allowed {}; server {}; generator {} ({})",
                list(&host.cpus_allowed),
                list(&pins.server_cpus),
                list(&pins.generator_cpus),
                units::counted(manifest.generator_threads as u64, "thread")
            ),
        ),
        ("workers", manifest.workers.to_string()),
        ("memory", format!("{} MiB", units::count(host.memory_mib))),
        ("kernel", format!("{}, {}", host.kernel, host.architecture)),
        ("system", host.os.clone()),
        ("check", manifest.check.as_ref().map_or_else(|| "none".into(), Checked::in_words)),
        ("governor", host.governor.clone().unwrap_or_else(|| unknown.into())),
        ("virtualised", host.virtualised.clone().unwrap_or_else(|| "not seen".into())),
        ("open files", units::count(host.open_files_limit)),
        ("runtimes lock", manifest.runtimes_lock_sha256.clone().unwrap_or_else(|| unknown.into())),
    ];
    markup! {
        @if let Some(warning) = &pins.warning { p.warning { (warning) } }
        dl {
            @for (name, value) in rows { dt { (name) } dd { (value) } }
        }
        h3 { "Versions" }
        dl { @for (name, version) in &manifest.versions { dt { (name) } dd { (version) } } }
        details {
            summary { "Mitigations of the kernel" }
            dl { @for (name, state) in &host.mitigations { dt { (name) } dd { (state) } } }
        }
    }
}

/// One command line for each scenario and contender.
fn commands(trials: &[Trial]) -> BTreeMap<String, String> {
    let name =
        |trial: &Trial| format!("{} {}", trial.planned.cell.scenario, trial.planned.cell.contender);
    trials.iter().map(|trial| (name(trial), trial.command.join(" "))).collect()
}

const COLUMNS: [&str; 10] = [
    "contender",
    "scenario",
    "connections",
    "block",
    "start, UTC",
    "requests/s",
    "p99",
    "generator busy",
    "verdict",
    "reason",
];

fn trials(trials: &[Trial]) -> Markup {
    markup! {
        div.wide tabindex="0" role="region" aria-label="Trials" {
            table {
                thead { tr { @for column in COLUMNS { th scope="col" { (column) } } } }
                tbody { @for trial in trials { (row(trial)) } }
            }
        }
    }
}

fn row(trial: &Trial) -> Markup {
    let cell = &trial.planned.cell;
    let load = trial.load.as_ref();
    let dash = || "–".to_owned();
    markup! {
        tr {
            th scope="row" { (cell.contender) }
            td { (cell.scenario) }
            td { (cell.connections) }
            td { (trial.planned.block) }
            td { (trial.started_at.replace('T', " ").trim_end_matches('Z')) }
            td { (load.map_or_else(dash, |load| units::rate(load.rate_per_s))) }
            td { (load.and_then(|load| load.service_time_us.p99).map_or_else(dash, units::time_us)) }
            td { (load.map_or_else(dash, |load| format!("{:.0} %", load.generator_busy_fraction * 100.0))) }
            td { (trial.verdict.name()) }
            td.left { (trial.reason) }
        }
    }
}
