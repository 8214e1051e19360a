//! Colours: charts are drawn in marker colours, which become CSS variables or the light theme.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// Text and whiskers.
pub(super) const INK: RGBColor = RGBColor(1, 1, 1);
/// Text that is read second.
pub(super) const MUTED: RGBColor = RGBColor(1, 1, 2);
/// Lines behind the data.
pub(super) const GRID: RGBColor = RGBColor(1, 1, 3);
/// Fill of the lines that hatch a bar.
pub(super) const HATCH: RGBColor = RGBColor(1, 1, 4);

/// Hues, in the order in which families of contenders appear; the ceiling is the first.
const LIGHT: [u32; 8] =
    [0xB5_541C, 0x3F_7D3A, 0x2F_6DB5, 0xB0_467E, 0x73_56B5, 0x0F_8082, 0x92_731A, 0x66_6D78];
const DARK: [u32; 8] =
    [0xE5_8A55, 0x7F_BF78, 0x7C_B0EA, 0xE5_8BB9, 0xB3_9BE6, 0x5C_C4C6, 0xD3_B55A, 0xA3_ABB8];
/// How much of the paper is mixed into the hue for the variants of a family, percent.
const TONES: [u32; 3] = [0, 38, 58];
/// Ink, muted, grid and paper.
const LIGHT_GREYS: [u32; 4] = [0x1C_1F23, 0x5C_636B, 0xE3_E5E8, 0xFF_FFFF];
const DARK_GREYS: [u32; 4] = [0xE8_EAED, 0xA0_A7B0, 0x34_383E, 0x15_171A];
const GREY_NAMES: [&str; 4] = ["ink", "muted", "grid", "paper"];

/// The colour of one contender: a hue for its family, a tone for the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    hue: u8,
    tone: u8,
}

impl Colour {
    pub(super) fn marker(self) -> RGBColor {
        RGBColor(2, self.hue, self.tone)
    }
}

/// A colour for each contender: `node-fastify` is a paler `node`.
pub fn colours<'a>(contenders: impl Iterator<Item = &'a str>) -> Vec<(String, Colour)> {
    let mut families: Vec<(&str, u8)> = Vec::new();
    let mut colours: Vec<(String, Colour)> = Vec::new();
    for name in contenders {
        if colours.iter().any(|(known, _)| known == name) {
            continue;
        }
        let family = name.split('-').next().unwrap_or(name);
        let index = families.iter().position(|(known, _)| *known == family).unwrap_or_else(|| {
            families.push((family, 0));
            families.len() - 1
        });
        let tone = families[index].1;
        families[index].1 = (tone + 1) % 3;
        let hue = u8::try_from(index % LIGHT.len()).unwrap_or(0);
        colours.push((name.to_owned(), Colour { hue, tone }));
    }
    colours
}

/// Definition of the hatching; its lines have the colour of the paper.
pub(super) fn hatch_definition(line: &str) -> String {
    format!(
        "<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"2.4\" height=\"5\" fill=\"{line}\"/>\
         </pattern></defs>"
    )
}

/// The variables that [`variable`] names, for both themes.
pub fn css() -> String {
    let set = |greys: [u32; 4], hues: [u32; 8]| {
        let mut css = String::new();
        for (name, grey) in GREY_NAMES.iter().zip(greys) {
            let _ = write!(css, "--{name}:#{grey:06x};");
        }
        for (hue, colour) in hues.iter().enumerate() {
            for (tone, share) in TONES.iter().enumerate() {
                let _ = write!(css, "--s{hue}{tone}:#{:06x};", mix(*colour, greys[3], *share));
            }
        }
        css
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark)\
         {{:root{{{}}}}}\n",
        set(LIGHT_GREYS, LIGHT),
        set(DARK_GREYS, DARK)
    )
}

/// What a marker colour is in a page: a CSS variable.
pub(super) fn variable(marker: [u8; 3]) -> Option<String> {
    Some(match marker {
        [1, 1, 4] => "url(#hatch)".into(),
        [1, 1, grey @ 1..=3] => format!("var(--{})", GREY_NAMES[usize::from(grey) - 1]),
        [2, hue, tone] => format!("var(--s{hue}{tone})"),
        _ => return None,
    })
}

/// What a marker colour is in a file of its own: the light theme.
pub(super) fn light(marker: [u8; 3]) -> Option<String> {
    Some(match marker {
        [1, 1, 4] => "url(#hatch)".into(),
        [1, 1, grey @ 1..=3] => format!("#{:06x}", LIGHT_GREYS[usize::from(grey) - 1]),
        [2, hue, tone] => {
            let (hue, share) = (LIGHT.get(usize::from(hue))?, TONES.get(usize::from(tone))?);
            format!("#{:06x}", mix(*hue, LIGHT_GREYS[3], *share))
        }
        _ => return None,
    })
}

/// `colour` with `share` percent of `paper` in it.
fn mix(colour: u32, paper: u32, share: u32) -> u32 {
    let channel = |shift: u32| {
        let (one, other) = ((colour >> shift) & 0xff, (paper >> shift) & 0xff);
        ((one * (100 - share) + other * share) / 100) << shift
    };
    channel(16) | channel(8) | channel(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_share_the_hue_of_their_family() {
        let names = ["rust", "node", "node-fastify", "bun", "node"];
        let colours = colours(names.into_iter());
        assert_eq!(colours.len(), 4);
        assert_eq!(colours[1].1, Colour { hue: 1, tone: 0 });
        assert_eq!(colours[2].1, Colour { hue: 1, tone: 1 });
        assert_eq!(colours[3].1, Colour { hue: 2, tone: 0 });
    }

    #[test]
    fn every_variable_that_is_used_is_defined() {
        let css = css();
        let many: Vec<String> = (0..30).map(|i| format!("c{i}")).collect();
        for (_, colour) in colours(many.iter().map(String::as_str)) {
            let RGBColor(r, g, b) = colour.marker();
            let name = variable([r, g, b]).unwrap().replace("var(", "").replace(')', ":");
            assert!(css.contains(&name), "{name}");
            assert!(light([r, g, b]).is_some());
        }
        assert_eq!(variable([9, 9, 9]), None);
    }

    #[test]
    fn half_of_the_paper_is_in_the_middle() {
        assert_eq!(mix(0x00_0000, 0xff_ffff, 50), 0x7f_7f7f);
        assert_eq!(mix(0x12_3456, 0xff_ffff, 0), 0x12_3456);
    }
}
