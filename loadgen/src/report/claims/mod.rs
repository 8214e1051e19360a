//! Published claims, tested on the result of a comparison: ratios are judged, absolute rates of
//! another machine are not.

mod file;
mod judge;
mod markdown;
mod text;

use serde::Serialize;

pub use file::{Article, Claim, Claims, Expected, Measure, Side};
pub use judge::{AtLevel, Judged, Outcome, judge};
pub use markdown::{page, section};
pub use text::{measured, native, summary, text};

use crate::experiment::record::Comparison;

/// Value of [`Judgement::schema`].
pub const SCHEMA: &str = "loadgen-claims/1";

/// All claims of a file, judged by one comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Start of the comparison, UTC.
    pub started_at: String,
    /// What the profile's counts and lengths were multiplied by.
    pub scale: f64,
    /// Articles, in the order of the file.
    pub articles: Vec<JudgedArticle>,
}

/// One article and its claims.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedArticle {
    /// The article.
    #[serde(flatten)]
    pub article: Article,
    /// Its claims, in the order of the file.
    pub claims: Vec<Judged>,
}

impl Judgement {
    /// Judges `claims` by `comparison`.
    pub fn new(claims: &Claims, comparison: &Comparison) -> Self {
        let of_article = |article: &Article| JudgedArticle {
            article: article.clone(),
            claims: claims
                .claims
                .iter()
                .filter(|claim| claim.article == article.name)
                .map(|claim| judge(claim, comparison))
                .collect(),
        };
        Self {
            schema: SCHEMA,
            started_at: comparison.manifest.started_at.clone(),
            scale: comparison.manifest.scale,
            articles: claims.articles.iter().map(of_article).collect(),
        }
    }

    /// The built-in claims, if any of them was measured.
    pub fn of(comparison: &Comparison) -> Option<Self> {
        let judgement = Self::new(&Claims::built_in().ok()?, comparison);
        let measured = |claim: &Judged| claim.outcome != Outcome::NotMeasured;
        let any = judgement.claims().any(measured);
        any.then_some(judgement)
    }

    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &Judged> {
        self.articles.iter().flat_map(|article| &article.claims)
    }
}
