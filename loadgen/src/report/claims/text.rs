//! Claims as text for the terminal, and the parts that all forms share.

use std::fmt::Write as _;

use super::{AtLevel, Judged, Judgement, Measure, Outcome};
use crate::report::compare::percent;
use crate::report::units;

/// All claims for the terminal.
pub fn text(judgement: &Judgement) -> String {
    let mut text = String::new();
    for article in judgement.articles.iter().filter(|article| !article.claims.is_empty()) {
        let about = &article.article;
        let _ = writeln!(text, "{} ({}; {})", about.title, about.published, about.versions);
        for claim in &article.claims {
            let _ = writeln!(text, "  {:<18}  {}", claim.outcome.name(), claim.claim);
            let _ = writeln!(text, "  {:18}  published {}", "", claim.published);
            if !claim.levels.is_empty() {
                let _ = writeln!(text, "  {:18}  measured  {}", "", measured(claim));
            }
            if let Some(native) = native(claim) {
                let _ = writeln!(text, "  {:18}  native    {native}", "");
            }
            if !claim.reason.is_empty() {
                let _ = writeln!(text, "  {:18}  {}", "", claim.reason);
            }
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(judgement.claims()));
    text
}

/// `12 of 25 claims hold, 8 no longer hold, 5 are not separable here.`
pub fn summary<'a>(claims: impl Iterator<Item = &'a Judged>) -> String {
    let claims: Vec<&Judged> = claims.collect();
    let count = |outcome| claims.iter().filter(|claim| claim.outcome == outcome).count();
    format!(
        "Of {} {} hold, {} no longer hold, {} are not separable here, {} were not measured.",
        units::counted(claims.len() as u64, "claim"),
        count(Outcome::Holds),
        count(Outcome::NoLongerHolds),
        count(Outcome::NotSeparable),
        count(Outcome::NotMeasured)
    )
}

/// The ratio with its interval at each number of connections: `2.61 (2.55 to 2.70) at 50`.
pub fn measured(claim: &Judged) -> String {
    let one = |level: &AtLevel| {
        let ratio = match (level.ratio, level.of == 0.0 && level.to == 0.0) {
            (_, true) => "none of either".to_owned(),
            (Some(ratio), _) => short(ratio),
            (None, _) => "–".to_owned(),
        };
        let interval = level
            .interval
            .map_or_else(String::new, |i| format!(" ({} to {})", short(i.low), short(i.high)));
        format!("{ratio}{interval} at {}", level.connections)
    };
    let levels: Vec<String> = claim.levels.iter().map(one).collect();
    format!("{} / {}: {}", claim.of, claim.to, levels.join("; "))
}

/// What the native ceiling has beside the side that is divided.
pub fn native(claim: &Judged) -> Option<String> {
    let one = |level: &AtLevel| {
        Some(format!("{} at {}", figure(claim, level.ceiling?), level.connections))
    };
    let levels: Vec<String> = claim.levels.iter().filter_map(one).collect();
    (!levels.is_empty()).then(|| levels.join("; "))
}

/// A figure with its unit.
fn figure(claim: &Judged, value: f64) -> String {
    match claim.measure {
        Measure::Rate => format!("{}/s", units::rate(value)),
        Measure::Cpu | Measure::FailedShare => percent(value),
        Measure::MemoryMean | Measure::MemoryPeak => units::bytes(value * 1024.0 * 1024.0),
        Measure::LatencyMean | Measure::LatencyMax => units::time_us(value),
        Measure::ResponseBytes => format!("{}/s", units::bytes(value)),
    }
}

fn short(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.4}") } else { format!("{ratio:.2}") }
}
