//! Moments as results write them: UTC, whole seconds, RFC 3339.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now.
pub fn now() -> String {
    text(SystemTime::now())
}

/// `time` as `2026-11-30T15:33:22Z`; before 1970, the beginning of 1970.
pub fn text(time: SystemTime) -> String {
    format(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Seconds since 1970 of a moment that [`text`] wrote; `None` for anything else.
pub fn seconds(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let in_range = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    let seconds = in_range.then(|| {
        days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    })?;
    // What does not come out again as it went in was no such moment.
    (format(seconds) == text).then_some(seconds)
}

/// Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn format(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same paper, `days_from_civil`, for years from 1970.
fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_date_u_prints_them_and_back() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_796_052_802, "2026-11-30T15:33:22Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(format(at), text);
            assert_eq!(seconds(text), Some(at), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "yesterday",
            "2026-11-30",
            "2026-11-30T15:33:22",
            "2026-11-30 15:33:22Z",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-11-30T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "٢٠٢٦-11-30T15:33:22Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
