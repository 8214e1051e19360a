//! One line of a check: what was found, how good that is, and what to do about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How good something is for figures that others are to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// As it should be.
    Good,
    /// It moves figures or limits what can be measured; worth a sentence beside published figures.
    Tolerable,
    /// Figures made like this should not be published.
    Bad,
}

impl Grade {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Tolerable => "tolerable",
            Self::Bad => "bad",
        }
    }

    /// The grade of a value that should be small.
    pub(super) fn at_most(value: f64, good: f64, tolerable: f64) -> Self {
        if value <= good {
            Self::Good
        } else if value <= tolerable {
            Self::Tolerable
        } else {
            // What cannot be compared (NaN) is bad, too.
            Self::Bad
        }
    }

    /// The grade of a value that should be large.
    pub(super) fn at_least(value: f64, good: f64, tolerable: f64) -> Self {
        Self::at_most(-value, -good, -tolerable)
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub name: String,
    /// How good it is.
    pub grade: Grade,
    /// What was found, in words.
    pub value: String,
    /// What to do about it; `null` where nothing needs to be done.
    pub advice: Option<String>,
    /// The same in numbers, units in the names.
    pub figures: BTreeMap<String, f64>,
}

impl Finding {
    /// A finding without numbers and advice.
    pub fn new(name: &str, grade: Grade, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            grade,
            value: value.into(),
            advice: None,
            figures: BTreeMap::new(),
        }
    }

    /// Adds a number.
    pub fn figure(mut self, name: &str, value: f64) -> Self {
        // JSON has no other numbers.
        if value.is_finite() {
            self.figures.insert(name.into(), value);
        }
        self
    }

    /// Adds what to do, unless all is good.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        if self.grade != Grade::Good {
            self.advice = Some(advice.into());
        }
        self
    }

    /// The finding in one line, for a list of objections.
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_have_two_bounds() {
        let small = |value| Grade::at_most(value, 1.0, 2.0);
        assert_eq!([0.5, 1.0, 1.5, 2.0].map(small), {
            use Grade::{Good, Tolerable};
            [Good, Good, Tolerable, Tolerable]
        });
        assert_eq!(small(2.1), Grade::Bad);
        assert_eq!(small(f64::NAN), Grade::Bad);
        assert_eq!(Grade::at_least(5.0, 4.0, 2.0), Grade::Good);
        assert_eq!(Grade::at_least(3.0, 4.0, 2.0), Grade::Tolerable);
        assert_eq!(Grade::at_least(f64::NAN, 4.0, 2.0), Grade::Bad);
    }

    #[test]
    fn what_is_good_needs_no_advice() {
        let finding = |grade| Finding::new("a", grade, "b").advise("c").figure("x", f64::INFINITY);
        assert_eq!(finding(Grade::Good).advice, None);
        assert_eq!(finding(Grade::Bad).advice.as_deref(), Some("c"));
        assert!(finding(Grade::Bad).figures.is_empty());
    }
}
