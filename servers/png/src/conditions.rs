//! Conditional requests (RFC 9110, 13): which answer the validators of a file lead to.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, header};
use rustix::fs::Stat;

/// The validators of a file.
#[derive(Debug)]
pub(crate) struct Validators {
    /// The entity tag with its quotes: strong, for it has the nanosecond of the last change.
    pub(crate) etag: HeaderValue,
    /// The last change, to the second, as HTTP has it.
    pub(crate) modified: SystemTime,
}

/// What the conditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Answer as if there were none.
    Proceed,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

impl Validators {
    pub(crate) fn of(stat: &Stat) -> Self {
        // A file older than 1970 counts as of 1970: HTTP has no use for more.
        let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
        Self {
            etag: entity_tag(seconds, stat.st_mtime_nsec, u64::try_from(stat.st_size).unwrap_or(0)),
            modified: UNIX_EPOCH + Duration::from_secs(seconds),
        }
    }

    /// Evaluates the preconditions in the order of RFC 9110, 13.2.2, for GET and HEAD.
    pub(crate) fn evaluate(&self, headers: &HeaderMap) -> Outcome {
        if headers.contains_key(header::IF_MATCH) {
            if !self.matches(headers, &header::IF_MATCH, Comparison::Strong) {
                return Outcome::Failed;
            }
        } else if let Some(date) = date(headers, &header::IF_UNMODIFIED_SINCE)
            && self.modified > date
        {
            return Outcome::Failed;
        }
        if headers.contains_key(header::IF_NONE_MATCH) {
            if self.matches(headers, &header::IF_NONE_MATCH, Comparison::Weak) {
                return Outcome::NotModified;
            }
        } else if let Some(date) = date(headers, &header::IF_MODIFIED_SINCE)
            && self.modified <= date
        {
            return Outcome::NotModified;
        }
        Outcome::Proceed
    }

    /// Whether a `Range` is to be honoured: there is no `If-Range`, or it names this very version
    /// (RFC 9110, 13.1.5).
    pub(crate) fn allows_range(&self, headers: &HeaderMap) -> bool {
        headers.get(header::IF_RANGE).is_none_or(|value| {
            value == self.etag || date(headers, &header::IF_RANGE) == Some(self.modified)
        })
    }

    fn matches(&self, headers: &HeaderMap, name: &header::HeaderName, how: Comparison) -> bool {
        headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).any(|value| {
            // Our tags have no comma, so a tag with one, cut in two here, is none of ours.
            value.split(',').map(str::trim).any(|tag| {
                let strong = tag.strip_prefix("W/");
                tag == "*"
                    || self.etag == tag
                    || (how == Comparison::Weak && strong.is_some_and(|tag| self.etag == tag))
            })
        })
    }
}

/// `"seconds.nanoseconds-size"` in hexadecimal.
fn entity_tag(seconds: u64, nanoseconds: u64, size: u64) -> HeaderValue {
    // Three numbers of at most 16 digits, two between them, two around them.
    let mut tag = [0; 3 * 16 + 4];
    let mut length = 0;
    for (before, number) in [(b'"', seconds), (b'.', nanoseconds), (b'-', size)] {
        tag[length] = before;
        length += 1;
        let digits = (64 - (number | 1).leading_zeros()).div_ceil(4);
        for digit in (0..digits).rev() {
            tag[length] = b"0123456789abcdef"[(number >> (4 * digit) & 15) as usize];
            length += 1;
        }
    }
    tag[length] = b'"';
    // Digits and quotes are always a valid value.
    HeaderValue::from_bytes(&tag[..=length]).unwrap_or(HeaderValue::from_static("\"\""))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// The date of a field; one that is malformed is ignored, as if it were not there.
fn date(headers: &HeaderMap, name: &header::HeaderName) -> Option<SystemTime> {
    headers.get(name)?.to_str().ok().and_then(|value| httpdate::parse_http_date(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const SAME: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    const NEW: &str = "Sun, 06 Nov 1994 08:49:39 GMT";

    fn outcome(fields: &[(&'static str, &'static str)]) -> Outcome {
        validators().evaluate(&headers(fields))
    }

    fn validators() -> Validators {
        Validators {
            etag: HeaderValue::from_static("\"a\""),
            modified: httpdate::parse_http_date(SAME).unwrap(),
        }
    }

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|&(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn entity_tags_have_all_digits() {
        for (seconds, nanoseconds, size) in [
            (0, 0, 0),
            (0x6a, 0x10, 0xfff),
            (1_764_500_000, 999_999_999, 12_345),
            (u64::MAX, u64::MAX, u64::MAX),
        ] {
            let expected = format!("\"{seconds:x}.{nanoseconds:x}-{size:x}\"");
            assert_eq!(entity_tag(seconds, nanoseconds, size), expected);
        }
    }

    #[test]
    fn entity_tags_come_before_dates() {
        let cases: &[(&[(&str, &str)], Outcome)] = &[
            (&[], Outcome::Proceed),
            (&[("if-none-match", "\"a\"")], Outcome::NotModified),
            (&[("if-none-match", "W/\"a\"")], Outcome::NotModified),
            (&[("if-none-match", "\"x\", \"a\"")], Outcome::NotModified),
            (&[("if-none-match", "*")], Outcome::NotModified),
            (&[("if-none-match", "\"b\"")], Outcome::Proceed),
            (&[("if-none-match", "\"b\""), ("if-modified-since", NEW)], Outcome::Proceed),
            (&[("if-modified-since", SAME)], Outcome::NotModified),
            (&[("if-modified-since", OLD)], Outcome::Proceed),
            (&[("if-modified-since", "yesterday")], Outcome::Proceed),
            (&[("if-match", "\"a\"")], Outcome::Proceed),
            (&[("if-match", "W/\"a\"")], Outcome::Failed),
            (&[("if-match", "\"b\"")], Outcome::Failed),
            (&[("if-match", "\"a\""), ("if-unmodified-since", OLD)], Outcome::Proceed),
            (&[("if-unmodified-since", OLD)], Outcome::Failed),
            (&[("if-unmodified-since", SAME)], Outcome::Proceed),
        ];
        for (fields, expected) in cases {
            assert_eq!(outcome(fields), *expected, "{fields:?}");
        }
    }

    #[test]
    fn if_range_needs_this_very_version() {
        for (value, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", false),
            ("\"b\"", false),
            (SAME, true),
            (OLD, false),
            (NEW, false),
        ] {
            assert_eq!(
                validators().allows_range(&headers(&[("if-range", value)])),
                expected,
                "{value}"
            );
        }
        assert!(validators().allows_range(&HeaderMap::new()));
    }
}
