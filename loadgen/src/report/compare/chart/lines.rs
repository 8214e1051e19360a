//! Line charts: latency by percentile, and rate over time.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::theme::{Colour, GRID, INK, MUTED};
use super::{Chart, ChartError, LARGEST, TITLE, WIDTH, text, title, width_of};
use crate::report::units;

/// Height of the plot itself, px.
const PLOT: i32 = 200;
/// Height of one line of the legend, px.
const LEGEND: i32 = 16;
/// Width of a legend's mark and its gaps, px.
const MARK: i32 = 26;
/// Width of the labels of the y axis, px.
const Y_LABELS: i32 = 62;

/// Points from left to right, joined by a line.
pub type Points = Vec<(f64, f64)>;

/// The lines of one contender.
#[derive(Clone, Debug)]
pub struct Line {
    /// Who.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
    /// One or several.
    pub lines: Vec<Points>,
}

/// Time by percentile: x is the number of nines, `-log10(1 - quantile)`, y is µs on a log scale.
///
/// # Errors
/// Plotters refuses it.
pub fn percentile_curves(name: &str, heading: &str, lines: &[Line]) -> Result<Chart, ChartError> {
    let nines = all(lines).map(|point| point.0).fold(1.0, f64::max);
    let positive = || all(lines).map(|point| point.1).filter(|us| *us > 0.0);
    let low = 10f64.powf(positive().fold(1e9, f64::min).log10().floor());
    let high = 10f64.powf(positive().fold(low * 10.0, f64::max).log10().ceil());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few nines")]
    let marks = nines.floor() as usize + 1;
    let axes = Axes {
        x: 0.0..nines,
        y: (low..high).log_scale(),
        x_marks: marks,
        x_mark: |nines| percentile(*nines),
        y_mark: |us| units::round_time_us(significant(*us)),
        style: |colour| colour.stroke_width(2),
    };
    draw(name, heading, lines, axes)
}

/// Completed requests per second over the window: x is seconds; a thin line for each trial.
///
/// # Errors
/// Plotters refuses it.
pub fn rate_over_time(name: &str, heading: &str, lines: &[Line]) -> Result<Chart, ChartError> {
    let end = all(lines).map(|point| point.0).fold(0.1, f64::max);
    let top = all(lines).map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let axes = Axes {
        x: 0.0..end,
        y: 0.0..top,
        x_marks: 5,
        x_mark: |s| format!("{} s", (s * 100.0).round() / 100.0),
        y_mark: |rate| round_rate(*rate),
        style: |colour| colour.mix(0.75).stroke_width(1),
    };
    draw(name, heading, lines, axes)
}

/// Every point that can be drawn.
fn all(lines: &[Line]) -> impl Iterator<Item = (f64, f64)> {
    lines.iter().flat_map(|line| &line.lines).flat_map(drawable)
}

/// Those of `points` that can be drawn.
fn drawable(points: &Points) -> impl Iterator<Item = (f64, f64)> {
    let fits = |figure: f64| (0.0..=LARGEST).contains(&figure);
    points.iter().copied().filter(move |(x, y)| fits(*x) && fits(*y))
}

/// What the kinds of line chart differ in.
struct Axes<Y> {
    x: Range<f64>,
    y: Y,
    /// Marks of the x axis, about.
    x_marks: usize,
    x_mark: fn(&f64) -> String,
    y_mark: fn(&f64) -> String,
    style: fn(RGBColor) -> ShapeStyle,
}

fn draw<Y>(name: &str, heading: &str, lines: &[Line], axes: Axes<Y>) -> Result<Chart, ChartError>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let layout = Layout::new(lines);
        let root = SVGBackend::with_string(&mut svg, layout.size()).into_drawing_area();
        layout.draw_head(&root, heading, lines)?;
        let mut plot = ChartBuilder::on(&root)
            .margin_top(layout.plot_top())
            .margin_right(30)
            .set_label_area_size(LabelAreaPosition::Left, Y_LABELS)
            .set_label_area_size(LabelAreaPosition::Bottom, 24)
            .build_cartesian_2d(axes.x, axes.y)?;
        plot.configure_mesh()
            .x_labels(axes.x_marks)
            .y_labels(5)
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(text(&MUTED, HPos::Center))
            .y_label_style(text(&MUTED, HPos::Right))
            .x_label_formatter(&axes.x_mark)
            .y_label_formatter(&axes.y_mark)
            .draw()?;
        for line in lines {
            for points in &line.lines {
                let style = (axes.style)(line.colour.marker());
                plot.draw_series(LineSeries::new(drawable(points), style))?;
            }
        }
        root.present()?;
    }
    Ok(Chart { name: name.to_owned(), svg })
}

/// Where the legend's entries go, and how high all is.
struct Layout {
    entries: Vec<(i32, i32)>,
    legend_lines: i32,
}

impl Layout {
    fn new(lines: &[Line]) -> Self {
        let (mut x, mut row) = (0, 0);
        let mut entries = Vec::new();
        for line in lines {
            #[expect(clippy::cast_possible_truncation, reason = "px of a small chart")]
            let width = width_of(&line.label) as i32 + MARK;
            if x > 0 && x + width > WIDTH.cast_signed() {
                (x, row) = (0, row + 1);
            }
            entries.push((x, row));
            x += width;
        }
        Self { entries, legend_lines: row + 1 }
    }

    fn plot_top(&self) -> i32 {
        TITLE + self.legend_lines * LEGEND + 6
    }

    fn size(&self) -> (u32, u32) {
        (WIDTH, (self.plot_top() + PLOT + 24).unsigned_abs())
    }

    fn draw_head<B: DrawingBackend>(
        &self,
        root: &DrawingArea<B, plotters::coord::Shift>,
        heading: &str,
        lines: &[Line],
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        root.draw(&Text::new(heading.to_owned(), (0, 9), title()))?;
        for (line, (x, row)) in lines.iter().zip(&self.entries) {
            let y = TITLE + row * LEGEND + LEGEND / 2 - 4;
            let mark = [(*x, y - 1), (x + 12, y + 2)];
            root.draw(&Rectangle::new(mark, line.colour.marker().filled()))?;
            root.draw(&Text::new(line.label.clone(), (x + 16, y), text(&INK, HPos::Left)))?;
        }
        Ok(())
    }
}

/// `2` → `99 %`.
fn percentile(nines: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few nines")]
    let decimals = (nines.round() as usize).saturating_sub(2);
    format!("{:.decimals$} %", 100.0 * (1.0 - 10f64.powf(-nines)))
}

/// A mark of a log axis without the noise of its computation.
fn significant(value: f64) -> f64 {
    let scale = 10f64.powf(value.log10().floor() - 1.0);
    let rounded = (value / scale).round() * scale;
    // Back through text: 0.30000000000000004 is 0.3.
    format!("{rounded:.6}").parse().unwrap_or(rounded)
}

/// A mark of a rate axis: `0.5`, `20`, `150,000`.
fn round_rate(rate: f64) -> String {
    if rate < 100.0 { format!("{}", (rate * 100.0).round() / 100.0) } else { units::rate(rate) }
}

#[cfg(test)]
mod tests {
    use super::super::colours;
    use super::*;

    #[test]
    fn percentiles_are_named_by_their_nines() {
        assert_eq!(percentile(0.0), "0 %");
        assert_eq!(percentile(1.0), "90 %");
        assert_eq!(percentile(2.0), "99 %");
        assert_eq!(percentile(3.0), "99.9 %");
        assert_eq!(units::round_time_us(significant(300.000_000_04)), "300 µs");
    }

    #[test]
    fn nothing_measured_is_an_empty_chart() {
        for lines in [vec![], vec![vec![]], vec![vec![(0.0, 0.0)]], vec![vec![(1.0, 1e308)]]] {
            let colour = colours(["rust"].into_iter())[0].1;
            let line = Line { label: "rust".into(), colour, lines };
            let charts = [
                percentile_curves("p", "P", std::slice::from_ref(&line)),
                rate_over_time("r", "R", std::slice::from_ref(&line)),
                rate_over_time("r", "R", &[]),
            ];
            for chart in charts {
                assert!(!chart.unwrap().inline().contains("NaN"));
            }
        }
    }
}
