//! The Fibonacci numbers with a line on standard output for every base case.

use std::hint::black_box;
use std::io::{self, Write};

/// Lines are handed to the kernel when there are this many bytes of them, as C's streams do on a
/// pipe, only with a larger buffer; the last ones before the number is returned.
const CHUNK: usize = 64 * 1024;

/// The Nth Fibonacci number by the double recursion, each base case printed: `base case 1`.
///
/// `n` must be at most [`LARGEST_N`](crate::fibonacci::LARGEST_N).
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn fibonacci(n: u64, mut out: impl Write) -> io::Result<u64> {
    let mut lines = Vec::with_capacity(CHUNK + 16);
    let value = recurse(black_box(n), &mut lines, &mut out)?;
    out.write_all(&lines)?;
    out.flush()?;
    Ok(value)
}

fn recurse(n: u64, lines: &mut Vec<u8>, out: &mut impl Write) -> io::Result<u64> {
    if n >= 2 {
        return Ok(recurse(n - 1, lines, out)? + recurse(n - 2, lines, out)?);
    }
    lines.extend_from_slice(if n == 0 { b"base case 0\n" } else { b"base case 1\n" });
    if lines.len() >= CHUNK {
        out.write_all(lines)?;
        lines.clear();
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_case_is_a_line() {
        let mut out = Vec::new();
        assert_eq!(fibonacci(3, &mut out).unwrap(), 2);
        assert_eq!(out, b"base case 1\nbase case 0\nbase case 1\n");
        let mut out = Vec::new();
        assert_eq!(fibonacci(24, &mut out).unwrap(), 46_368);
        // fibonacci(25) base cases, more than one chunk.
        assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 75_025);
    }
}
