//! Numbers with units for people: four significant digits, one unit for each size, never `1000 µs`.

/// A time given in µs: `999.6 µs`, `1.000 ms`, `60.00 s`. Seconds are the largest unit.
pub fn time_us(us: f64) -> String {
    if us == 0.0 {
        return "0 µs".into();
    }
    scaled(us, &["µs", "ms", "s"], 1000.0)
}

/// A round number of µs without needless digits: `1.5 ms`, `100 µs`.
pub fn round_time_us(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us} µs"),
        us if us < 1e6 => format!("{} ms", us / 1e3),
        us => format!("{} s", us / 1e6),
    }
}

/// [`time_us`], or a dash for what was not measured.
pub fn time_us_or_dash(us: Option<f64>) -> String {
    us.map_or_else(|| "-".into(), time_us)
}

/// A number of bytes: `512 B`, `1.500 KiB`, `95.79 MiB`.
pub fn bytes(count: f64) -> String {
    if count < 1023.5 {
        return format!("{count:.0} B");
    }
    scaled(count / 1024.0, &["KiB", "MiB", "GiB", "TiB"], 1024.0)
}

/// A rate or another number per second: `1,000,000`, `99.50`.
pub fn rate(per_second: f64) -> String {
    if per_second < 99.995 {
        return format!("{per_second:.2}");
    }
    count(per_second.round() as u64)
}

/// A whole number with thousands separators: `1,350,234`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 thread`, `2 threads`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `value` in the smallest of `units` in which it is below `step` after rounding.
fn scaled(mut value: f64, units: &[&str], step: f64) -> String {
    let (last, rest) = units.split_last().unwrap_or((&"", &[]));
    for unit in rest {
        let text = four_digits(value);
        if text.parse::<f64>().is_ok_and(|rounded| rounded < step) {
            return format!("{text} {unit}");
        }
        value /= step;
    }
    format!("{} {last}", four_digits(value))
}

fn four_digits(value: f64) -> String {
    let decimals = match value {
        v if v < 9.9995 => 3,
        v if v < 99.995 => 2,
        v if v < 9999.5 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_before_its_unit_is_chosen() {
        for (us, text) in [
            (0.0, "0 µs"),
            (0.5, "0.500 µs"),
            (1.0, "1.000 µs"),
            (9.9996, "10.00 µs"),
            (99.996, "100.0 µs"),
            (999.6, "999.6 µs"),
            (999.96, "1.000 ms"),
            (1000.0, "1.000 ms"),
            (999_995.0, "1.000 s"),
            (999_940.0, "999.9 ms"),
            (59_996_000.0, "60.00 s"),
            (60_000_000.0, "60.00 s"),
            (3_600_000_000.0, "3600.0 s"),
        ] {
            assert_eq!(time_us(us), text);
        }
    }

    #[test]
    fn rates_and_counts_have_separators() {
        assert_eq!(rate(999_999.6), "1,000,000");
        assert_eq!(rate(99.996), "100");
        assert_eq!(rate(0.5), "0.50");
        assert_eq!(count(0), "0");
        assert_eq!(count(1_350_234), "1,350,234");
        assert_eq!(counted(1, "thread"), "1 thread");
        assert_eq!(counted(1000, "connection"), "1,000 connections");
    }

    #[test]
    fn bytes_are_binary() {
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(bytes(1023.9), "1.000 KiB");
        assert_eq!(bytes(1536.0), "1.500 KiB");
        assert_eq!(bytes(100_450_390.0), "95.80 MiB");
    }
}
