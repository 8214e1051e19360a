//! One scenario in the page: its table, its charts, and what was checked.

use maud::{Markup, html as markup};

use super::super::figures::Figures;
use super::super::role::is_client;
use super::super::table::{Grid, tables};
use super::super::windows;
use super::inline;
use crate::experiment::record::{Comparison, Trial};
use crate::report::units;

/// The section of the scenario that `figures` shows.
pub(super) fn section(comparison: &Comparison, figures: &Figures) -> Markup {
    let tables = tables(comparison);
    let table = tables.iter().find(|table| table.scenario == figures.scenario);
    markup! {
        section id=(figures.slug) {
            h2 { (figures.scenario) }
            @if let Some(request) = comparison.manifest.requests.get(&figures.scenario) {
                p { code { (request) } }
            }
            @if let Some(window) = windows::of_scenario(&comparison.manifest, &figures.scenario) {
                p { "Each trial: " (window) "." }
            }
            @if let Some(table) = table {
                (rows(&table.figures, &format!("Figures of {}", table.scenario)))
                @if !table.notes.is_empty() {
                    ul.notes { @for note in &table.notes { li { (note) } } }
                }
                details {
                    summary { "Latency in figures" }
                    (rows(&table.latency, &format!("Latency of {}", table.scenario)))
                }
            }
            div.charts {
                @for chart in &figures.measures { figure { (inline(chart)) } }
                @for chart in &figures.percentiles { figure { (inline(chart)) } }
            }
            details {
                summary { "Rate over time of every trial" }
                div.charts {
                    @for chart in &figures.timelines { figure { (inline(chart)) } }
                }
            }
            details {
                summary { "Checks each contender passed" }
                (checks(comparison, &figures.scenario))
            }
        }
    }
}

fn rows(grid: &Grid, label: &str) -> Markup {
    markup! {
        div.wide tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for heading in &grid.headings { th scope="col" { (heading) } } } }
                tbody {
                    @for (index, row) in grid.rows.iter().enumerate() {
                        @let level = |row: &[String]| grid.level.map(|level| row[level].clone());
                        @let next = index > 0 && level(&grid.rows[index - 1]) != level(row);
                        tr.level[next] {
                            @for (column, entry) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (entry) } }
                                @else { td { (entry) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the answers of each contender were held to, and how the trials ended.
fn checks(comparison: &Comparison, scenario: &str) -> Markup {
    let trials: Vec<&Trial> =
        comparison.trials.iter().filter(|trial| trial.planned.cell.scenario == scenario).collect();
    let mut contenders: Vec<&str> = Vec::new();
    for trial in &trials {
        if !contenders.contains(&trial.planned.cell.contender.as_str()) {
            contenders.push(&trial.planned.cell.contender);
        }
    }
    contenders.sort_unstable();
    let client = is_client(comparison, scenario);
    markup! {
        p.muted { (if client { CLIENT_CHECKED } else { CHECKED }) }
        div.wide tabindex="0" role="region" aria-label={ "Checks of " (scenario) } {
            table {
                thead {
                    tr {
                        @for heading in if client { CLIENT_CHECKS } else { CHECKS } { th scope="col" { (heading) } }
                    }
                }
                tbody {
                    @for contender in contenders {
                        @let own: Vec<&Trial> = trials.iter().copied()
                            .filter(|trial| trial.planned.cell.contender == contender).collect();
                        (check_row(contender, &own))
                    }
                }
            }
        }
        @for trial in trials.iter().filter(|trial| trial.output.is_some()) {
            p { (trial.planned.cell.contender) ", trial " (trial.planned.block) ": " (trial.reason) }
            pre { (trial.output.as_deref().unwrap_or_default()) }
        }
    }
}

const CHECKED: &str = "Before each trial a contender answers random requests of the scenario; in the \
    trial the status and length of every answer are checked, and the content of a sample.";

const CLIENT_CHECKED: &str = "Before each trial a contender uploads a random file, every byte of which \
    is compared. In the trial the sink counts uploads and bytes, and both must be what the client \
    claims.";

const CLIENT_CHECKS: [&str; 9] = [
    "contender",
    "trials passed before the load",
    "uploads answered 204",
    "counted by the sink, with the warm-up",
    "failed",
    "media type",
    "head",
    "body",
    "framing, protocol",
];

const CHECKS: [&str; 9] = [
    "contender",
    "trials passed before the load",
    "answers right",
    "of these read in full",
    "failed or timed out",
    "media type",
    "head",
    "body",
    "framing, protocol",
];

fn check_row(contender: &str, trials: &[&Trial]) -> Markup {
    let passed = trials.iter().filter(|trial| trial.load.is_some()).count();
    let loads = || trials.iter().filter_map(|trial| trial.load.as_ref());
    let right: u64 = loads().map(|load| load.requests.completed).sum();
    let read: u64 = loads().map(|load| load.content_checked).sum();
    let counted: u64 =
        trials.iter().filter_map(|t| t.sink.as_ref()).map(|sink| sink.requests).sum();
    let failed: u64 = loads().map(|load| load.requests.failed + load.requests.timed_out).sum();
    let shape = trials.iter().find_map(|trial| trial.answer.as_ref());
    let tls = loads().find_map(|load| load.tls.as_deref()).unwrap_or("no TLS");
    markup! {
        tr {
            th scope="row" { (contender) }
            td { (passed) " of " (trials.len()) }
            td { (units::count(right)) }
            td { (units::count(read + counted)) }
            td { (units::count(failed)) }
            @if let Some(shape) = shape {
                td { (shape.content_type.as_deref().unwrap_or("none")) }
                td { (shape.head_bytes) " B" }
                td { (units::count(shape.body_bytes as u64)) " B" }
                td.left { (shape.framing) ", " (tls) }
            } @else {
                td { "–" } td { "–" } td { "–" } td { "–" }
            }
        }
    }
}
