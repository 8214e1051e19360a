//! All charts of a comparison.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::chart::{
    Bar, BarKind, Bars, Chart, ChartError, Colour, Group, Line, Points, colours, percentile_curves,
    rate_over_time,
};
use super::measure::{self, Measure, PERCENT_OF_CEILING};
use super::role::{at_level, is_client};
use super::table::{scenarios, significant};
use crate::experiment::record::{CellResult, Comparison, Trial};
use crate::experiment::stats::Interval;
use crate::experiment::verdict::Verdict;
use crate::histogram::{self, Times};

/// Seconds in one number of a trial's timeline.
const TIMELINE_STEP_S: f64 = 0.1;
/// Percentile curves are drawn at this many points for each nine.
const POINTS_PER_NINE: u32 = 12;

/// The charts of one scenario.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Scenario name.
    pub scenario: String,
    /// What names it in files and links.
    pub slug: String,
    /// The number of connections at which the ceiling is fastest: what the overview shows.
    pub headline: u32,
    /// Share of the ceiling at [`Self::headline`].
    pub overview: Chart,
    /// One bar chart for each measure.
    pub measures: Vec<Chart>,
    /// Latency by percentile, for each number of connections that has figures.
    pub percentiles: Vec<Chart>,
    /// Rate over time of every trial, for the same numbers of connections.
    pub timelines: Vec<Chart>,
}

impl Figures {
    /// All of them.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        let first = std::iter::once(&self.overview);
        first.chain(&self.measures).chain(&self.percentiles).chain(&self.timelines)
    }
}

/// Draws the charts of each scenario, in the order of the cells.
///
/// # Errors
/// A chart cannot be drawn.
pub fn figures(comparison: &Comparison) -> Result<Vec<Figures>, ChartError> {
    let names = comparison.cells.iter().map(|cell| cell.contender.as_str());
    let ceiling = std::iter::once(comparison.manifest.ceiling.as_str());
    let colours = colours(ceiling.chain(names)).into_iter().collect();
    let mut all: Vec<Figures> = Vec::new();
    for scenario in scenarios(comparison) {
        let mut slug = slug(scenario);
        while all.iter().any(|figures| figures.slug == slug) {
            slug.push('-');
        }
        let cells = comparison.cells.iter().filter(|cell| cell.scenario == scenario).collect();
        all.push(Drawing { comparison, colours: &colours, slug, cells }.draw(scenario)?);
    }
    Ok(all)
}

/// A name for files and links: letters, digits and hyphens.
fn slug(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(safe).collect()
}

/// What the charts of one scenario are drawn from.
struct Drawing<'a> {
    comparison: &'a Comparison,
    colours: &'a BTreeMap<String, Colour>,
    slug: String,
    cells: Vec<&'a CellResult>,
}

impl Drawing<'_> {
    fn draw(&self, scenario: &str) -> Result<Figures, ChartError> {
        let headline = self.headline();
        let mut levels: Vec<u32> = self.cells.iter().map(|cell| cell.connections).collect();
        levels.sort_unstable();
        levels.dedup();
        let client = is_client(self.comparison, scenario);
        let title = format!("{scenario}{}", at_level(client, headline));
        let rate = if client { "Uploads per second" } else { "Requests per second" };
        let measure =
            |measure: &Measure| self.bars(measure, measure.title.to_owned(), &levels).draw();
        let (mut percentiles, mut timelines) = (Vec::new(), Vec::new());
        for &level in &levels {
            if self.at(level).all(|cell| cell.rate_per_s.is_none()) {
                continue;
            }
            let name = |what: &str| format!("{}-{what}-{level}", self.slug);
            let title = |what: &str| format!("{what}{}", at_level(client, level));
            let curves = self.lines(level, percentile_points);
            let rates = self.lines(level, timeline_points);
            let heading = title("Latency by percentile");
            percentiles.push(percentile_curves(&name("percentiles"), &heading, &curves)?);
            let heading = title(&format!("{rate} over time"));
            timelines.push(rate_over_time(&name("rate-over-time"), &heading, &rates)?);
        }
        Ok(Figures {
            scenario: scenario.to_owned(),
            slug: self.slug.clone(),
            headline,
            overview: self.bars(&PERCENT_OF_CEILING, title, &[headline]).draw()?,
            measures: measure::measures(client).iter().map(measure).collect::<Result<_, _>>()?,
            percentiles,
            timelines,
        })
    }

    /// Where the ceiling has its highest rate; without a ceiling, the most connections.
    fn headline(&self) -> u32 {
        let ceiling = &self.comparison.manifest.ceiling;
        let of_ceiling = self.cells.iter().filter(|cell| cell.contender == *ceiling);
        let measured = of_ceiling.filter_map(|cell| Some((cell.rate_per_s?, cell.connections)));
        let fastest = measured.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, level)| level);
        let most = self.cells.iter().map(|cell| cell.connections).max();
        fastest.or(most).unwrap_or_default()
    }

    fn bars(&self, measure: &Measure, title: String, levels: &[u32]) -> Bars {
        let group = |&level: &u32| Group {
            heading: (levels.len() > 1).then(|| format!("{level} connections")),
            bars: self.at(level).map(|cell| self.bar(measure, cell)).collect(),
        };
        Bars {
            name: format!("{}-{}", self.slug, measure.key),
            title,
            groups: levels.iter().map(group).collect(),
            reference: (measure.key == PERCENT_OF_CEILING.key).then_some(100.0),
            tick: measure.tick,
        }
    }

    fn at(&self, level: u32) -> impl Iterator<Item = &CellResult> {
        self.cells.iter().copied().filter(move |cell| cell.connections == level)
    }

    fn bar(&self, measure: &Measure, cell: &CellResult) -> Bar {
        let value = (measure.of_cell)(cell).filter(|value| value.is_finite());
        let interval = measure.interval(self.comparison, cell);
        Bar {
            label: cell.contender.clone(),
            colour: self.colours[&cell.contender],
            value,
            text: match value {
                Some(value) => self.figure(measure, cell, value, interval),
                None => without_value(measure, cell).to_owned(),
            },
            interval: interval.map(|interval| (interval.low, interval.high)),
            kind: match cell.verdict {
                Some(verdict) if verdict.is_at_least() => BarKind::Hatched,
                Some(Verdict::HostNoisy) => BarKind::Pale,
                _ => BarKind::Solid,
            },
        }
    }

    /// The figure as text. Where the generator was the limit a rate is a lower bound; if that was so
    /// for the ceiling, a share of it is an upper bound, and one bound by the other says nothing.
    fn figure(
        &self,
        measure: &Measure,
        cell: &CellResult,
        value: f64,
        interval: Option<Interval>,
    ) -> String {
        let text = (measure.format)(value);
        let bound = |cell: &CellResult| cell.verdict.is_some_and(Verdict::is_at_least);
        if measure.key != PERCENT_OF_CEILING.key {
            return if measure.at_least && bound(cell) { format!("≥ {text}") } else { text };
        }
        let ceiling = &self.comparison.manifest.ceiling;
        if cell.contender == *ceiling {
            return text;
        }
        let ceiling = self.at(cell.connections).find(|cell| cell.contender == *ceiling);
        let sign = match (bound(cell), ceiling.is_some_and(bound)) {
            (false, false) => "",
            (true, false) => "≥ ",
            (false, true) => "≤ ",
            (true, true) => "≈ ",
        };
        let interval = interval.map_or_else(String::new, |interval| {
            format!(" ({} to {})", significant(interval.low), significant(interval.high))
        });
        format!("{sign}{text}{interval}")
    }

    fn lines(&self, level: u32, points: fn(&[&Trial]) -> Vec<Points>) -> Vec<Line> {
        let line = |cell: &CellResult| Line {
            label: cell.contender.clone(),
            colour: self.colours[&cell.contender],
            lines: points(&measure::trials(self.comparison, cell)),
        };
        let measured = |cell: &&CellResult| cell.rate_per_s.is_some();
        self.at(level).filter(measured).map(line).collect()
    }
}

fn without_value(measure: &Measure, cell: &CellResult) -> &'static str {
    match cell.verdict {
        Some(Verdict::Invalid) => "invalid",
        None => "not run",
        _ if measure.key == PERCENT_OF_CEILING.key => "the ceiling was not measured",
        _ => "not measured",
    }
}

/// The curve of the merged trials.
fn percentile_points(trials: &[&Trial]) -> Vec<Points> {
    let loads = || trials.iter().filter_map(|trial| trial.load.as_ref());
    let merged = loads().try_fold(None::<Histogram<u64>>, |sum, load| {
        let next = histogram::decode(&load.service_time_ns_hdr).ok()?;
        Some(Some(match sum {
            None => next,
            Some(mut sum) => {
                sum.add(next).ok()?;
                sum
            }
        }))
    });
    match merged {
        Some(Some(histogram)) if !histogram.is_empty() => vec![curve(&histogram)],
        // A result without histograms has the usual percentiles.
        _ => loads().map(|load| usual_points(&load.service_time_us)).collect(),
    }
}

/// From the least to the last percentile that more than one request stands for.
#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
fn curve(histogram: &Histogram<u64>) -> Points {
    let last = (histogram.len() as f64).log10().max(0.3);
    let steps = (0..).map(|step| f64::from(step) / f64::from(POINTS_PER_NINE));
    let nines = steps.take_while(|nines| *nines < last).chain([last]);
    let us = |nines: f64| histogram::us_at(histogram, 1.0 - 10f64.powf(-nines));
    nines.map(|nines| (nines, us(nines))).collect()
}

fn usual_points(time: &Times) -> Points {
    let points = [
        (0.0, time.min),
        (0.25, time.p25),
        (0.5, time.p50),
        (0.75, time.p75),
        (0.9, time.p90),
        (0.95, time.p95),
        (0.99, time.p99),
        (0.999, time.p99_9),
    ];
    let measured = points.into_iter().filter_map(|(quantile, us)| Some((quantile, us?)));
    measured.map(|(quantile, us): (f64, f64)| (-(1.0 - quantile).log10(), us)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
fn timeline_points(trials: &[&Trial]) -> Vec<Points> {
    let loads = trials.iter().filter_map(|trial| trial.load.as_ref());
    let lines = loads.map(|load| {
        // The last step is cut off by the end of the window where it is not a whole one.
        let whole = (load.elapsed_s / TIMELINE_STEP_S + 1e-6).floor();
        let steps = load.timeline.iter().zip(0u32..).map(|(count, step)| (f64::from(step), *count));
        let steps = steps.take_while(|(step, _)| *step < whole);
        let middle = |step: f64| (step + 0.5) * TIMELINE_STEP_S;
        steps.map(|(step, count)| (middle(step), count as f64 / TIMELINE_STEP_S)).collect()
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_single_requests_begin() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for us in 1..=1000_u64 {
            histogram.record(us * 1000).unwrap();
        }
        let points = curve(&histogram);
        let (nines, us) = *points.last().unwrap();
        assert!((nines - 3.0).abs() < 1e-9 && (us / 999.0 - 1.0).abs() < 0.002, "{us}");
        assert!(points.iter().all(|(_, us)| *us > 0.0) && points.is_sorted_by(|a, b| a.1 <= b.1));
    }

    #[test]
    fn names_become_safe_for_files_and_links() {
        assert_eq!(slug("../a b\"<é>"), "---a-b----");
    }
}
