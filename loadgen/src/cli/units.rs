//! Values of arguments that have a unit or a grammar of their own.

use std::str::FromStr;
use std::time::Duration;

/// Parses a time: `500ms`, `2s`, `1.5s`, `1m`, `1h`, `250us`; a bare number is seconds.
///
/// # Errors
/// One line that says what would be right.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds_per_unit = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a time such as 500ms, 2s, 1.5s or 1m".into()),
    };
    let number: f64 =
        number.parse().map_err(|_| "expected a time such as 500ms, 2s, 1.5s or 1m".to_owned())?;
    Duration::try_from_secs_f64(number * seconds_per_unit)
        .ok()
        .filter(|time| time.as_secs() <= 366 * 86_400)
        .ok_or_else(|| "a time longer than a year".into())
}

/// [`duration`] that must not be zero.
///
/// # Errors
/// As [`duration`], and for zero.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        time => Ok(time),
    }
}

/// A number of workers, or as many as the server has CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerCount {
    /// One for each CPU of the server.
    All,
    /// So many.
    Exactly(usize),
}

/// Parses a number of workers: `1` to `1024`, or `all`.
///
/// # Errors
/// One line that says what would be right.
pub fn worker_count(text: &str) -> Result<WorkerCount, String> {
    if text == "all" {
        return Ok(WorkerCount::All);
    }
    let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
    count.map(WorkerCount::Exactly).ok_or_else(|| "expected a number from 1 to 1024, or all".into())
}

/// Parses a share of CPU time: `0.5` is half a CPU.
///
/// # Errors
/// One line that says what would be right.
pub fn cpu_share(text: &str) -> Result<f64, String> {
    // The kernel's shortest quota is 1 ms in a period of 100 ms.
    let share = text.parse().ok().filter(|share| (0.01..=1024.0).contains(share));
    share.ok_or_else(|| "expected a number of CPUs from 0.01, such as 0.5".into())
}

/// Parses a factor that shortens: `0.01` is a hundredth.
///
/// # Errors
/// One line that says what would be right.
pub fn scale(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0001..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0.0001 to 1, such as 0.01".into())
}

/// Parses a list of CPU numbers in the kernel's form: `0`, `0,2`, `0-3,8`.
///
/// # Errors
/// One line that says what would be right.
pub fn cpu_list(text: &str) -> Result<CpuList, String> {
    let wrong = || "expected CPU numbers such as 0, 0,2 or 0-3,8".to_owned();
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().map_err(|_| wrong())?;
        let last: usize = last.parse().map_err(|_| wrong())?;
        if last < first || last > 4095 {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(CpuList(cpus))
}

/// CPU numbers, ascending, each once, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

/// Parses a count of at least one.
///
/// # Errors
/// One line that says what would be right.
pub fn count<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a whole number, at least 1".into())
}

/// Parses a rate in requests per second: any positive number up to a thousand million.
///
/// # Errors
/// One line that says what would be right.
pub fn rate(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|rate| *rate > 0.0 && *rate <= 1e9)
        .ok_or_else(|| "expected requests per second, more than 0, such as 5000 or 0.5".into())
}

/// Parses a request method (RFC 9110 section 9.1): a token, sent as it is written.
///
/// # Errors
/// One line that says what would be right.
pub fn method(text: &str) -> Result<String, String> {
    if !is_token(text) {
        return Err("expected a method such as GET or POST".into());
    }
    if text == "CONNECT" {
        return Err("CONNECT opens a tunnel, which has no response to measure".into());
    }
    Ok(text.to_owned())
}

/// Whether `text` is a token (RFC 9110 section 5.6.2).
pub fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Status codes, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCodes(pub Vec<u16>);

/// Parses a list of status codes: `200`, `200,404`, `2xx`.
///
/// # Errors
/// One line that says what would be right.
pub fn status_codes(text: &str) -> Result<StatusCodes, String> {
    let mut codes = Vec::new();
    for part in text.split(',') {
        if let Some(class) = part.strip_suffix("xx").and_then(|class| class.parse::<u16>().ok())
            && (2..=9).contains(&class)
        {
            codes.extend(class * 100..(class + 1) * 100);
        } else if let Some(code) = part.parse().ok().filter(|code| (200..=999).contains(code)) {
            codes.push(code);
        } else {
            return Err("expected final status codes such as 200, 200,404 or 2xx".into());
        }
    }
    Ok(StatusCodes(codes))
}

/// A SHA-256 digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha256(pub [u8; 32]);

/// Parses a SHA-256 digest: 64 hexadecimal digits, as `sha256sum` prints it.
///
/// # Errors
/// One line that says what would be right.
pub fn sha256(text: &str) -> Result<Sha256, String> {
    let wrong = || "expected 64 hexadecimal digits, as sha256sum prints them".to_owned();
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let mut digest = [0; 32];
    for (i, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| wrong())?;
    }
    Ok(Sha256(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_and_cpu_shares_have_bounds() {
        assert_eq!(worker_count("all"), Ok(WorkerCount::All));
        assert_eq!(worker_count("2"), Ok(WorkerCount::Exactly(2)));
        assert_eq!(cpu_share("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "1025", "many", ""] {
            assert!(worker_count(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "-1", "nan", "inf", "half", "50%"] {
            assert!(cpu_share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(scale("0.01"), Ok(0.01));
        for wrong in ["0", "1.5", "-1", "nan", "1%", ""] {
            assert!(scale(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_with_and_without_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("2s", 2000),
            ("1.5s", 1500),
            ("1m", 60_000),
            ("10", 10_000),
            ("0.25", 250),
            ("1h", 3_600_000),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(duration("250us"), Ok(Duration::from_micros(250)));
        for text in ["", "s", "-1s", "1 s", "1x", "1.2.3s", "inf", "nan", "1e3s", "9999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(positive_duration("0s").is_err());
    }

    #[test]
    fn cpu_lists_are_those_of_the_kernel() {
        assert_eq!(cpu_list("0"), Ok(CpuList(vec![0])));
        assert_eq!(cpu_list("0-2,8,1"), Ok(CpuList(vec![0, 1, 2, 8])));
        for text in ["", "a", "3-1", "1,", "-1", "0-99999999"] {
            assert!(cpu_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_positive_and_finite() {
        assert_eq!(rate("0.5"), Ok(0.5));
        assert_eq!(rate("1e6"), Ok(1e6));
        for text in ["0", "-1", "nan", "inf", "", "5/s", "1e10"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn methods_are_tokens() {
        assert_eq!(method("PURGE"), Ok("PURGE".into()));
        for text in ["", "GET /", "GET\r\n", "CONNECT", "é"] {
            assert!(method(text).is_err(), "{text}");
        }
    }

    #[test]
    fn status_lists_and_classes() {
        assert_eq!(status_codes("200,404"), Ok(StatusCodes(vec![200, 404])));
        assert_eq!(status_codes("2xx").map(|codes| codes.0.len()), Ok(100));
        for text in ["", "20", "abc", "200,", "1xx", "100", "1000"] {
            assert!(status_codes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn digests_are_hexadecimal() {
        assert_eq!(sha256(&"0f".repeat(32)), Ok(Sha256([15; 32])));
        assert!(sha256("0f").is_err());
        assert!(sha256(&"é".repeat(32)).is_err());
    }
}
