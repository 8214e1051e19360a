//! The `Range` field (RFC 9110, 14.1 and 14.2), for single ranges of bytes.

/// What a `Range` field asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranged {
    /// The whole: there is no field, or one that is malformed, of another unit or of several
    /// ranges, which a server may ignore.
    Whole,
    /// The bytes from `first` to `last`, both included.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// A range that lies outside: 416.
    Unsatisfiable,
}

/// Reads the value of a `Range` field for a file of `length` bytes.
pub(crate) fn parse(value: &[u8], length: u64) -> Ranged {
    let asked = std::str::from_utf8(value)
        .ok()
        .and_then(|value| value.split_once('='))
        .filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"))
        .and_then(|(_, set)| set.trim_matches([' ', '\t']).split_once('-'));
    match asked {
        Some(("", suffix)) => number(suffix).map_or(Ranged::Whole, |n| last_bytes(n, length)),
        Some((first, "")) => {
            number(first).map_or(Ranged::Whole, |first| from_to(first, u64::MAX, length))
        }
        Some((first, last)) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => from_to(first, last, length),
            _ => Ranged::Whole,
        },
        None => Ranged::Whole,
    }
}

fn last_bytes(count: u64, length: u64) -> Ranged {
    match (count, length) {
        (0, _) => Ranged::Unsatisfiable,
        // Satisfiable, but a 206 has no way to say "nothing".
        (_, 0) => Ranged::Whole,
        _ => Ranged::Part { first: length.saturating_sub(count), last: length - 1 },
    }
}

fn from_to(first: u64, last: u64, length: u64) -> Ranged {
    if first < length {
        Ranged::Part { first, last: last.min(length - 1) }
    } else {
        Ranged::Unsatisfiable
    }
}

/// A number of any length: what does not fit is more than any file has.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: u64, last: u64) -> Ranged {
        Ranged::Part { first, last }
    }

    #[test]
    fn ranges_of_a_file_of_1000_bytes() {
        for (value, expected) in [
            ("bytes=0-0", part(0, 0)),
            ("bytes=50-99999", part(50, 999)),
            ("bytes=999-", part(999, 999)),
            ("bytes=-1", part(999, 999)),
            ("bytes=-99999", part(0, 999)),
            ("BYTES=0-1", part(0, 1)),
            ("bytes=-18446744073709551616", part(0, 999)),
            ("bytes=0-18446744073709551616", part(0, 999)),
            ("bytes=-0", Ranged::Unsatisfiable),
            ("bytes=1000-", Ranged::Unsatisfiable),
            ("bytes=18446744073709551616-", Ranged::Unsatisfiable),
        ] {
            assert_eq!(parse(value.as_bytes(), 1000), expected, "{value}");
        }
        for ignored in [
            "bytes=2-1",
            "bytes=0-1,5-6",
            "bytes: 0-22",
            "items=0-1",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=1",
            "",
            "bytes=--1",
        ] {
            assert_eq!(parse(ignored.as_bytes(), 1000), Ranged::Whole, "{ignored}");
        }
        assert_eq!(parse(b"bytes=\xff-", 1000), Ranged::Whole);
    }

    #[test]
    fn ranges_of_an_empty_file() {
        assert_eq!(parse(b"bytes=0-0", 0), Ranged::Unsatisfiable);
        assert_eq!(parse(b"bytes=0-", 0), Ranged::Unsatisfiable);
        assert_eq!(parse(b"bytes=-0", 0), Ranged::Unsatisfiable);
        assert_eq!(parse(b"bytes=-5", 0), Ranged::Whole);
    }
}
