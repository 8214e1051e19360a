//! The published claims in the page.

use maud::{Markup, html as markup};

use crate::experiment::record::Comparison;
use crate::report::claims::{Judgement, measured, native, summary};

/// The section; nothing where none of the claims was measured.
pub(super) fn section(comparison: &Comparison) -> Markup {
    let Some(judgement) = Judgement::of(comparison) else { return markup! {} };
    markup! {
        section id="claims" {
            h2 { "Published claims" }
            p { (summary(judgement.claims())) " Ratios are judged, absolute rates of another machine are not." }
            @for article in judgement.articles.iter().filter(|article| !article.claims.is_empty()) {
                h3 { (article.article.title) }
                p.muted { (article.article.published) "; " (article.article.versions) }
                div.wide tabindex="0" role="region" aria-label={ "Claims of " (article.article.title) } {
                    table {
                        thead { tr {
                            @for heading in ["claim", "published", "measured now", "verdict", "native"] {
                                th scope="col" { (heading) }
                            }
                        } }
                        tbody { @for claim in &article.claims { tr {
                            th scope="row" { (claim.claim) }
                            td.left { (claim.published) }
                            td.left { @if claim.levels.is_empty() { "–" } @else { (measured(claim)) } }
                            td.left {
                                (claim.outcome.name())
                                @if !claim.reason.is_empty() { ": " (claim.reason) }
                            }
                            td.left { (native(claim).unwrap_or_else(|| "–".into())) }
                        } } }
                    }
                }
            }
        }
    }
}
