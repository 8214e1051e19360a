//! The comparison as one page that needs nothing else: no network, no script, both themes.

mod claims;
mod manifest;
mod scenario;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::chart::{self, Chart};
use super::conclude;
use super::figures::Figures;
use super::windows;
use crate::experiment::record::Comparison;
use crate::report::units;

const STYLE: &str = include_str!("style.css");

/// The page.
pub fn html(comparison: &Comparison, figures: &[Figures]) -> String {
    let title = format!("Comparison, {}", day(comparison));
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "loadgen " (comparison.manifest.version) };
                title { (title) }
                style { (PreEscaped(chart::css())) (PreEscaped(STYLE)) }
            }
            body {
                (PreEscaped(chart::hatching()))
                header { (head(comparison, &title)) }
                main {
                    (overview(comparison, figures))
                    @for figures in figures { (scenario::section(comparison, figures)) }
                    (claims::section(comparison))
                    (manifest::section(comparison))
                }
            }
        }
    };
    page.into_string()
}

fn day(comparison: &Comparison) -> &str {
    let started_at = &comparison.manifest.started_at;
    started_at.split('T').next().unwrap_or(started_at)
}

fn head(comparison: &Comparison, title: &str) -> Markup {
    let (host, manifest) = (&comparison.host, &comparison.manifest);
    markup! {
        h1 { (title) }
        p.muted {
            (host.cpu_model) ", " (units::counted(host.cpus as u64, "CPU")) ", " (host.os)
            ". Servers with " (units::counted(manifest.workers as u64, "worker"))
            ", " (units::counted(manifest.trials_per_cell.into(), "trial")) " of "
            (windows::of_all(manifest)) " for each figure."
        }
        p.conclusion { (conclude::of_all(comparison)) }
        @if let Some(sentence) = windows::scaled(manifest) { p.warning { (sentence) } }
        @if comparison.interrupted { p.warning { "Ended early: some trials are missing." } }
    }
}

fn overview(comparison: &Comparison, figures: &[Figures]) -> Markup {
    let ceiling = &comparison.manifest.ceiling;
    markup! {
        section.overview aria-label="Overview" {
            p.muted {
                "Requests per second as a share of the native ceiling (" b { (ceiling) }
                "), at the number of connections where the ceiling is fastest. "
                (legend())
            }
            div.charts {
                @for figures in figures {
                    figure {
                        (inline(&figures.overview))
                        figcaption {
                            (conclude::of_scenario(comparison, &at_headline(comparison, figures)))
                            " " a href={ "#" (figures.slug) } { "All of " (figures.scenario) }
                        }
                    }
                }
            }
        }
    }
}

/// What the marks mean, once.
fn legend() -> Markup {
    markup! {
        "Whiskers are 95 % bootstrap intervals over trials. "
        span.mark { span.key.hatched {} " limited" } " by the generator (uploads: the sink): at least this (≥); where the ceiling is, shares are at most \
         these (≤). "
        span.mark { span.key.pale {} " measured" } " on a noisy host."
    }
}

fn at_headline<'a>(
    comparison: &'a Comparison,
    figures: &Figures,
) -> Vec<&'a crate::experiment::record::CellResult> {
    let cells = comparison.cells.iter();
    cells
        .filter(|cell| cell.scenario == figures.scenario && cell.connections == figures.headline)
        .collect()
}

fn inline(chart: &Chart) -> PreEscaped<String> {
    PreEscaped(chart.inline())
}

/// A list of numbers as people write CPUs: `0, 1`.
fn list(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
