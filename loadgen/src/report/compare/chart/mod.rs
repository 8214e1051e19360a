//! Charts as SVG with real text, drawn by plotters.

mod bars;
mod lines;
mod theme;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub use bars::{Bar, BarKind, Bars, Group};
pub use lines::{Line, Points, percentile_curves, rate_over_time};
pub use theme::{Colour, colours, css};

/// Width of every chart; a page scales it by little, so that its text keeps its size.
const WIDTH: u32 = 440;
/// Size of text, px.
const TEXT: f64 = 11.0;
/// Height of the line the title is on, px.
const TITLE: i32 = 28;
/// Width of a character, px, at most: there are no font metrics here, and a label must fit.
const CHARACTER: f64 = 6.4;
/// Larger figures are not drawn: nothing measured is as large, and plotters counts px in 32 bits.
const LARGEST: f64 = 1e15;

/// Attributes that a page says itself or that are so without being said: a fifth of a large page. Text
/// cannot hold them: in it, plotters escapes `"`.
const SAID_BY_THE_PAGE: [&str; 3] =
    [" opacity=\"1\"", " font-family=\"sans-serif\"", " stroke=\"none\""];

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("chart cannot be drawn: {0}")]
pub struct ChartError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for ChartError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// A finished chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its file name without `.svg`.
    pub name: String,
    svg: String,
}

impl Chart {
    /// For a page that has [`css`] and [`hatching`]: follows the page's theme, font and width.
    pub fn inline(&self) -> String {
        let mut svg = recoloured(&self.svg, theme::variable);
        for said in SAID_BY_THE_PAGE {
            svg = svg.replace(said, "");
        }
        // The first line is plotters' own: `<svg width="…" height="…" viewBox=…`.
        match (svg.find(" width=\""), svg.find(" viewBox=")) {
            (Some(from), Some(to)) if from < to => format!("{}{}", &svg[..from], &svg[to..]),
            _ => svg,
        }
    }

    /// A file of its own, in the light theme, on white.
    pub fn standalone(&self) -> String {
        let svg = recoloured(&self.svg, theme::light);
        let head = svg.find('>').map_or(0, |end| end + 1);
        format!(
            "{}\n<style>text{{paint-order:stroke;stroke:#fff;stroke-width:3px}}</style>{}<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{}",
            &svg[..head],
            theme::hatch_definition("#ffffff"),
            &svg[head..]
        )
    }
}

/// What the charts of a page share: an element that takes no room.
pub fn hatching() -> String {
    let definition = theme::hatch_definition("var(--paper)");
    format!(
        "<svg width=\"0\" height=\"0\" class=\"shared\" aria-hidden=\"true\">{definition}</svg>"
    )
}

/// Replaces marker colours. Text cannot be mistaken for one: in it, plotters escapes `"`.
fn recoloured(svg: &str, colour: fn([u8; 3]) -> Option<String>) -> String {
    let mut parts = svg.split("\"#");
    let mut out = String::with_capacity(svg.len());
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push('"');
        let hex = part.get(..6).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let found = hex.and_then(|hex| {
            let [_, red, green, blue] = hex.to_be_bytes();
            colour([red, green, blue])
        });
        match found {
            Some(colour) => {
                out.push_str(&colour);
                out.push_str(&part[6..]);
            }
            None => {
                out.push('#');
                out.push_str(part);
            }
        }
    }
    out
}

/// A style of text; plotters' SVG writes a size 1.24 times smaller than it is asked for.
fn text(colour: &RGBColor, horizontal: HPos) -> TextStyle<'_> {
    TextStyle::from(("sans-serif", TEXT * 1.24).into_font())
        .color(colour)
        .pos(Pos::new(horizontal, VPos::Center))
}

fn title() -> TextStyle<'static> {
    TextStyle::from(("sans-serif", 12.5 * 1.24, FontStyle::Bold).into_font())
        .color(&theme::INK)
        .pos(Pos::new(HPos::Left, VPos::Center))
}

/// Room for `text`, px.
fn width_of(text: &str) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a label has few characters")]
    let characters = text.chars().count() as f64;
    characters * CHARACTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_replaced_and_text_is_not() {
        let svg = "<svg width=\"1\" viewBox=\"0\"><rect opacity=\"1\" fill=\"#010101\"/><rect fill=\"#020100\"/>\
                   <rect fill=\"#ABCDEF\"/><text>&quot;#010101</text></svg>";
        let chart = Chart { name: "x".into(), svg: svg.into() };
        let inline = chart.inline();
        assert!(inline.starts_with("<svg viewBox"), "{inline}");
        for part in ["\"var(--ink)\"", "\"var(--s10)\"", "\"#ABCDEF\"", ">&quot;#010101<"] {
            assert!(inline.contains(part), "{part} in {inline}");
        }
        assert!(!inline.contains("opacity"), "{inline}");
        let file = chart.standalone();
        assert!(file.contains("id=\"hatch\"") && !file.contains("var("), "{file}");
    }
}
