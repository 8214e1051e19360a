//! Horizontal bars in groups: one measure of one scenario, all connection levels in one chart.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::theme::{Colour, GRID, HATCH, INK, MUTED};
use super::{Chart, ChartError, LARGEST, TITLE, WIDTH, text, title, width_of};

/// Height of one bar and the gap under it, px.
const ROW: i32 = 17;
/// Height of the bar itself, px.
const BAR: i32 = 11;
/// Height of a group's heading, px.
const HEADING: i32 = 20;
/// Height of the axis under the bars, px.
const AXIS: i32 = 22;
/// Room at the right for half of the last mark of the axis, px.
const MARGIN: u32 = 18;
/// Gap between a bar or a whisker and its figure, px.
const GAP: f64 = 5.0;

/// A chart of bars.
#[derive(Clone, Debug)]
pub struct Bars {
    /// File name without `.svg`.
    pub name: String,
    /// Title, with the unit.
    pub title: String,
    /// From top to bottom.
    pub groups: Vec<Group>,
    /// A value marked by a line through all groups.
    pub reference: Option<f64>,
    /// Text of a mark on the axis.
    pub tick: fn(f64) -> String,
}

/// Bars that are compared with each other.
#[derive(Clone, Debug)]
pub struct Group {
    /// Heading; `None` where there is one group.
    pub heading: Option<String>,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Who.
    pub label: String,
    /// Whose colour.
    pub colour: Colour,
    /// Its length; `None`: the text stands alone.
    pub value: Option<f64>,
    /// The figure beside it.
    pub text: String,
    /// Ends of the whisker.
    pub interval: Option<(f64, f64)>,
    /// How far it can be trusted.
    pub kind: BarKind,
}

/// How a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarKind {
    /// The contender's own figure.
    Solid,
    /// Limited by the generator.
    Hatched,
    /// Measured on a noisy host.
    Pale,
}

impl Bars {
    /// Draws the chart.
    ///
    /// # Errors
    /// Plotters refuses it.
    pub fn draw(&self) -> Result<Chart, ChartError> {
        let rows_height: i32 = self.groups.iter().map(Group::height).sum();
        let height = TITLE + rows_height + AXIS;
        let labels = self.groups.iter().flat_map(|group| &group.bars);
        let left = labels.map(|bar| width_of(&bar.label)).fold(0.0, f64::max) + 8.0;
        let left = left.min(f64::from(WIDTH) / 3.0);
        let longest = self.longest(f64::from(WIDTH - MARGIN) - left);
        let mut svg = String::new();
        {
            let size = (WIDTH, height.unsigned_abs());
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.draw(&Text::new(self.title.clone(), (0, 9), title()))?;
            let mut plot = ChartBuilder::on(&root)
                .margin_top(TITLE)
                .margin_right(MARGIN)
                .set_label_area_size(LabelAreaPosition::Left, left)
                .set_label_area_size(LabelAreaPosition::Bottom, AXIS)
                .build_cartesian_2d(0.0..longest, 0.0..f64::from(rows_height))?;
            plot.configure_mesh()
                .disable_y_mesh()
                .disable_y_axis()
                .x_labels(4)
                .max_light_lines(0)
                .bold_line_style(GRID)
                .axis_style(TRANSPARENT)
                .x_label_style(text(&MUTED, HPos::Center))
                .x_label_formatter(&|value| (self.tick)(*value))
                .draw()?;
            if let Some(value) = self.reference {
                let line = vec![(value, 0.0), (value, f64::from(rows_height))];
                plot.draw_series([PathElement::new(line, MUTED)])?;
            }
            let mut top = 0;
            for group in &self.groups {
                if let Some(heading) = &group.heading {
                    let at = (0, TITLE + top + HEADING / 2);
                    root.draw(&Text::new(heading.clone(), at, text(&MUTED, HPos::Left)))?;
                    top += HEADING;
                }
                for bar in &group.bars {
                    let middle = top + ROW / 2;
                    top += ROW;
                    let y = |px: i32| f64::from(rows_height - px);
                    plot.draw_series(bar.rectangles(y(middle - BAR / 2), y(middle + BAR / 2 + 1)))?;
                    plot.draw_series(bar.whisker(y(middle), y(middle - 3), y(middle + 3)))?;
                    let (end, _) = plot.backend_coord(&(bar.end(), 0.0));
                    #[expect(clippy::cast_possible_truncation, reason = "px of a small chart")]
                    let (label_x, text_x) = (left as i32 - 6, end + GAP as i32);
                    let y = TITLE + middle;
                    let label = shortened(&bar.label, left - 8.0);
                    root.draw(&Text::new(label, (label_x, y), text(&INK, HPos::Right)))?;
                    let colour = if bar.value.is_some() { INK } else { MUTED };
                    let figure =
                        Text::new(bar.text.clone(), (text_x, y), text(&colour, HPos::Left));
                    root.draw(&figure)?;
                }
                top += group.gap();
            }
            root.present()?;
        }
        Ok(Chart { name: self.name.clone(), svg })
    }

    /// The value at the right edge: every bar, whisker and figure has room.
    fn longest(&self, plot_width: f64) -> f64 {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let needed = bars.map(|bar| {
            let room = plot_width - GAP - width_of(&bar.text) - 2.0;
            bar.end() * plot_width / room.max(plot_width / 4.0)
        });
        let longest = needed.fold(self.reference.unwrap_or(0.0) * 1.02, f64::max);
        if longest > 0.0 && longest.is_finite() { longest } else { 1.0 }
    }
}

impl Group {
    fn height(&self) -> i32 {
        let heading = if self.heading.is_some() { HEADING } else { 0 };
        heading + ROW * i32::try_from(self.bars.len()).unwrap_or(0) + self.gap()
    }

    /// Room under a group that has a heading, px.
    fn gap(&self) -> i32 {
        if self.heading.is_some() { 4 } else { 0 }
    }
}

impl Bar {
    /// Its length, if it can be drawn.
    fn length(&self) -> Option<f64> {
        self.value.filter(|value| (0.0..=LARGEST).contains(value))
    }

    /// Ends of its whisker, if that can be drawn.
    fn ends(&self) -> Option<(f64, f64)> {
        self.interval.filter(|(low, high)| 0.0 <= *low && low <= high && *high <= LARGEST)
    }

    /// Where its figure may begin.
    fn end(&self) -> f64 {
        let value = self.length().unwrap_or(0.0);
        self.ends().map_or(value, |(_, high)| high.max(value))
    }

    fn rectangles(&self, top: f64, bottom: f64) -> Vec<Rectangle<(f64, f64)>> {
        let Some(value) = self.length() else { return Vec::new() };
        let corners = [(0.0, top), (value, bottom)];
        let fill =
            |colour: RGBColor, opacity: f64| Rectangle::new(corners, colour.mix(opacity).filled());
        match self.kind {
            BarKind::Solid => vec![fill(self.colour.marker(), 1.0)],
            BarKind::Pale => vec![fill(self.colour.marker(), 0.4)],
            BarKind::Hatched => vec![fill(self.colour.marker(), 1.0), fill(HATCH, 1.0)],
        }
    }

    fn whisker(&self, middle: f64, top: f64, bottom: f64) -> Vec<PathElement<(f64, f64)>> {
        let Some((low, high)) = self.ends() else { return Vec::new() };
        let line = |points: [(f64, f64); 2]| PathElement::new(points, INK);
        vec![
            line([(low, middle), (high, middle)]),
            line([(low, top), (low, bottom)]),
            line([(high, top), (high, bottom)]),
        ]
    }
}

/// `label` cut to `width` px.
fn shortened(label: &str, width: f64) -> String {
    if width_of(label) <= width + 1.0 {
        return label.to_owned();
    }
    let mut short: String = label
        .chars()
        .take_while({
            let mut used = 0.0;
            move |_| {
                used += super::CHARACTER;
                used + super::CHARACTER <= width
            }
        })
        .collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::super::colours;
    use super::*;

    fn bars(values: &[Option<f64>]) -> Bars {
        let bar = |value: &Option<f64>| Bar {
            label: "a <contender> with a very very very very very long name".into(),
            colour: colours(["rust"].into_iter())[0].1,
            value: *value,
            text: "1,234,567".into(),
            interval: value.map(|value| (value * 0.9, value * 1.2)),
            kind: BarKind::Hatched,
        };
        let group = Group { heading: None, bars: values.iter().map(bar).collect() };
        let tick = |value: f64| format!("{value}");
        Bars { name: "n".into(), title: "T".into(), groups: vec![group], reference: None, tick }
    }

    #[test]
    fn figures_stay_inside_whatever_the_values() {
        for values in [
            vec![Some(1e-9), Some(1e12)],
            vec![Some(1e308), Some(-1e308)],
            vec![Some(0.0)],
            vec![None],
            vec![],
        ] {
            let svg = bars(&values).draw().unwrap().standalone();
            assert!(!svg.contains("NaN") && !svg.contains("<contender>"), "{svg}");
            let starts = svg.lines().filter(|line| line.contains("text-anchor=\"start\""));
            for line in starts {
                let x: f64 = line.split('"').nth(1).unwrap().parse().unwrap();
                assert!(x + width_of("1,234,567") <= f64::from(WIDTH) + 1.0, "{line}");
            }
        }
    }
}
