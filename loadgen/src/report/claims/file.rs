//! The file of the claims; every error points at its line.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::toml_file::{self, TomlError, TomlText};

/// The claims that are built in.
const BUILT_IN: &str = include_str!("../../../claims.toml");

/// "About X" is within this factor of X, on either side.
const ABOUT: f64 = 1.25;

/// Articles and their claims, checked: every article that is named is there.
#[derive(Clone, Debug)]
pub struct Claims {
    /// In the order of the file.
    pub articles: Vec<Article>,
    /// In the order of the file.
    pub claims: Vec<Claim>,
}

/// A published comparison.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Article {
    /// What claims call it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// When it was published.
    pub published: String,
    /// The versions it spoke of.
    pub versions: String,
    /// The scenarios it is reproduced by.
    pub scenarios: Vec<String>,
    /// What is run here.
    pub runs: String,
    /// What had to change for current versions, and why.
    pub changes: Vec<String>,
}

/// One statement that can be checked: a ratio of two figures, and where it must be.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What it is called.
    pub name: String,
    /// The article it is from.
    pub article: String,
    /// What it says, in our words.
    pub claim: String,
    /// The published figures.
    pub published: String,
    /// The figure that is compared.
    pub measure: Measure,
    /// Whose figure is divided.
    pub of: Side,
    /// By whose it is divided.
    pub to: Side,
    /// Only these numbers of connections; empty: all that both were measured at.
    pub connections: Vec<u32>,
    /// Where the ratio must be for the claim to hold.
    pub expected: Expected,
    /// CPUs of the server without which the ratio cannot show.
    pub needs_server_cpus: usize,
}

/// One side of a ratio: `scenario/contender`, or `scenario/contender@connections`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Scenario name.
    pub scenario: String,
    /// Contender name.
    pub contender: String,
    /// Only at this number of connections.
    pub connections: Option<u32>,
}

/// The figure that a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Completed requests (uploads) per second.
    Rate,
    /// CPU time per time, percent.
    Cpu,
    /// Mean resident memory, MiB.
    MemoryMean,
    /// Largest resident memory, MiB.
    MemoryPeak,
    /// Mean service time, µs.
    LatencyMean,
    /// Largest service time, µs.
    LatencyMax,
    /// Bytes of answers per second.
    ResponseBytes,
    /// Requests that failed or timed out, percent of those sent.
    FailedShare,
}

/// The ratios with which a claim holds: above `low` and below `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Lower bound.
    pub low: f64,
    /// Upper bound, if there is one.
    pub high: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsToml {
    #[serde(default)]
    article: Vec<Article>,
    #[serde(default)]
    claim: Vec<ClaimToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimToml {
    name: Spanned<String>,
    article: Spanned<String>,
    claim: String,
    published: String,
    measure: Measure,
    of: Spanned<String>,
    to: Spanned<String>,
    #[serde(default)]
    connections: Vec<u32>,
    expect: Spanned<ExpectToml>,
    #[serde(default)]
    needs_server_cpus: usize,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExpectToml {
    About(f64),
    MoreThan(f64),
    LessThan(f64),
    Between([f64; 2]),
}

impl Claims {
    /// The claims that are built in.
    ///
    /// # Errors
    /// What is wrong in them; a test makes sure that nothing is.
    pub fn built_in() -> Result<Self, TomlError> {
        Self::parse("claims.toml", BUILT_IN)
    }

    /// The claims in `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or what is wrong in it, with its line.
    pub fn load(path: &Path) -> Result<Self, TomlError> {
        let (text, path) = toml_file::read(path)?;
        Self::parse(&path, &text)
    }

    fn parse(path: &str, text: &str) -> Result<Self, TomlError> {
        let source = TomlText { path, text };
        let error = |at: usize, message: String| source.error(at, message);
        let file: ClaimsToml = source.parse()?;
        let mut claims: Vec<Claim> = Vec::new();
        for claim in file.claim {
            let name = claim.name.get_ref().clone();
            let at = claim.name.span().start;
            if claims.iter().any(|other| other.name == name) {
                return Err(error(at, format!("claim {name:?} is there twice")));
            }
            let article = claim.article.get_ref();
            if !file.article.iter().any(|known| known.name == *article) {
                let message = format!("no article {article:?}");
                return Err(error(claim.article.span().start, message));
            }
            let side = |text: &Spanned<String>| {
                parse_side(text.get_ref()).ok_or_else(|| {
                    let message = format!(
                        "{:?} is not scenario/contender or scenario/contender@connections",
                        text.get_ref()
                    );
                    error(text.span().start, message)
                })
            };
            let (of, to) = (side(&claim.of)?, side(&claim.to)?);
            if of.connections.is_some() != to.connections.is_some() {
                let message = "of and to need @connections both, or neither".to_owned();
                return Err(error(claim.to.span().start, message));
            }
            let expected = expected(*claim.expect.get_ref())
                .map_err(|message| error(claim.expect.span().start, message))?;
            claims.push(Claim {
                name,
                article: claim.article.into_inner(),
                claim: claim.claim,
                published: claim.published,
                measure: claim.measure,
                of,
                to,
                connections: claim.connections,
                expected,
                needs_server_cpus: claim.needs_server_cpus,
            });
        }
        Ok(Self { articles: file.article, claims })
    }
}

fn parse_side(text: &str) -> Option<Side> {
    let (scenario, rest) = text.split_once('/')?;
    let (contender, connections) = match rest.split_once('@') {
        Some((contender, number)) => (contender, Some(number.parse().ok().filter(|&n| n > 0)?)),
        None => (rest, None),
    };
    let named = !scenario.is_empty() && !contender.is_empty();
    named.then(|| Side { scenario: scenario.into(), contender: contender.into(), connections })
}

fn expected(toml: ExpectToml) -> Result<Expected, String> {
    let (low, high) = match toml {
        ExpectToml::About(ratio) => (ratio / ABOUT, Some(ratio * ABOUT)),
        ExpectToml::MoreThan(ratio) => (ratio, None),
        ExpectToml::LessThan(ratio) => (0.0, Some(ratio)),
        ExpectToml::Between([low, high]) => (low, Some(high)),
    };
    let right = low.is_finite() && low >= 0.0 && high.is_none_or(|h| h.is_finite() && h > low);
    if right {
        Ok(Expected { low, high })
    } else {
        Err("expected ratios from low to high, both positive".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Suite;

    #[test]
    fn the_built_in_claims_name_scenarios_and_contenders_of_the_built_in_suite() {
        let claims = Claims::built_in().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("data");
        let suite = Suite::load(None, &data).unwrap();
        assert_eq!(claims.articles.len(), 5);
        assert!(claims.claims.len() >= 20, "{}", claims.claims.len());
        for claim in &claims.claims {
            for side in [&claim.of, &claim.to] {
                let plays = suite
                    .contenders
                    .iter()
                    .any(|c| c.name == side.contender && c.scenarios.contains(&side.scenario));
                assert!(plays, "{}: {side:?}", claim.name);
            }
        }
        for article in &claims.articles {
            for scenario in &article.scenarios {
                assert!(suite.scenario(scenario).is_some(), "{scenario}");
            }
        }
    }

    fn message(keys: &str) -> String {
        let article = "[[article]]\nname = \"a\"\ntitle = \"t\"\npublished = \"2022\"\n\
            versions = \"v\"\nscenarios = []\nruns = \"r\"\nchanges = []\n";
        let claim =
            "[[claim]]\nname = \"c\"\nclaim = \"x\"\npublished = \"p\"\nmeasure = \"rate\"\n";
        let text = format!("{article}{claim}{keys}");
        Claims::parse("my.toml", &text).unwrap_err().to_string()
    }

    #[test]
    fn errors_point_at_their_line() {
        let sides = "of = \"hello/bun\"\nto = \"hello/node\"\n";
        assert_eq!(
            message(&format!("article = \"b\"\n{sides}expect = {{ about = 2 }}\n")),
            "my.toml:14: no article \"b\""
        );
        let side =
            message("article = \"a\"\nof = \"hello\"\nto = \"a/b\"\nexpect = { about = 2 }\n");
        assert!(side.starts_with("my.toml:15: \"hello\" is not scenario/contender"), "{side}");
        let one = "article = \"a\"\nof = \"a/b@5\"\nto = \"a/c\"\nexpect = { about = 2 }\n";
        assert!(message(one).starts_with("my.toml:16: of and to need @connections both"));
        let range = message(&format!("article = \"a\"\n{sides}expect = {{ between = [3, 2] }}\n"));
        assert!(range.starts_with("my.toml:17: expected ratios from low to high"), "{range}");
        let key = message(&format!("article = \"a\"\n{sides}expect = {{ about = 2 }}\nnmae = 1\n"));
        assert!(key.starts_with("my.toml:18: unknown field `nmae`"), "{key}");
    }
}
