//! The Fibonacci numbers as the scenario wants them: slowly.

use std::hint::black_box;

/// The largest N whose number fits 64 bits: fibonacci(93) is 12,200,160,415,121,876,738.
pub(crate) const LARGEST_N: u64 = 93;

/// Why a path names no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// It is not a plain decimal: digits only, and no leading zero.
    NotDecimal,
    /// It is over the limit.
    TooLarge(u64),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotDecimal => formatter.write_str("n must be a plain decimal number, like 31"),
            Self::TooLarge(max) => write!(formatter, "n must be at most {max}"),
        }
    }
}

/// Reads N: digits only, without a sign or leading zeros, at most `max`.
pub(crate) fn parse(text: &str, max: u64) -> Result<u64, ParseError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() || !plain || (text.len() > 1 && text.starts_with('0')) {
        return Err(ParseError::NotDecimal);
    }
    match text.parse() {
        Ok(n) if n <= max => Ok(n),
        // Only digits: what does not parse does not fit.
        _ => Err(ParseError::TooLarge(max)),
    }
}

/// The Nth Fibonacci number, by the double recursion of the published comparison.
///
/// `n` must be at most [`LARGEST_N`].
pub(crate) fn fibonacci(n: u64) -> u64 {
    // So that a caller with a known N does not get a known number.
    recurse(black_box(n))
}

/// The plain function, for the compiler to do with as C's does: one of the two calls becomes a
/// loop, the other stays a call, and their number stays exponential.
#[inline(never)]
fn recurse(n: u64) -> u64 {
    if n < 2 { n } else { recurse(n - 1) + recurse(n - 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_right() {
        let first: Vec<u64> = (0..10).map(fibonacci).collect();
        assert_eq!(first, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
        assert_eq!(fibonacci(31), 1_346_269);
    }

    #[test]
    fn the_largest_fits_and_the_next_does_not() {
        let (mut current, mut next) = (0_u64, 1_u64);
        for _ in 0..LARGEST_N - 1 {
            (current, next) = (next, current + next);
        }
        assert_eq!(next, 12_200_160_415_121_876_738);
        assert_eq!(current.checked_add(next), None);
    }

    #[test]
    fn only_plain_decimals_up_to_the_limit_are_read() {
        assert_eq!(parse("0", 45), Ok(0));
        assert_eq!(parse("45", 45), Ok(45));
        for large in ["46", "1000000", "18446744073709551616", &"9".repeat(1000)] {
            assert_eq!(parse(large, 45), Err(ParseError::TooLarge(45)), "{large}");
        }
        for junk in [
            "", "-1", "-0", "+5", "007", "00", "1.5", "1e3", "0x10", "%205", "abc", "5/", "\u{665}",
        ] {
            assert_eq!(parse(junk, 45), Err(ParseError::NotDecimal), "{junk}");
        }
    }
}
