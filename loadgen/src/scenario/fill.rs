//! Placeholders filled for a single request; the engine's templates do the same at speed.

use rand::Rng;

const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Replaces `{rand:N}`, `{uuid}` and `{seq}` in `text` by random values; all else stays as it is.
pub fn fill(text: &str, random: &mut impl Rng) -> String {
    let mut filled = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        match rest.find('}').and_then(|close| Some((close, value(&rest[1..close], random)?))) {
            Some((close, value)) => {
                filled.push_str(&value);
                rest = &rest[close + 1..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn value(name: &str, random: &mut impl Rng) -> Option<String> {
    match name {
        "uuid" => {
            let hex = format!("{:032x}", random.random::<u128>());
            let (a, b, c, d, e) =
                (&hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32]);
            Some(format!("{a}-{b}-4{c}-a{d}-{e}"))
        }
        "seq" => Some(random.random_range(0..1_000_000_u32).to_string()),
        _ => {
            let length: usize = name.strip_prefix("rand:")?.parse().ok()?;
            let mut letter = || ALPHANUMERIC[random.random_range(0..ALPHANUMERIC.len())];
            Some((0..length).map(|_| char::from(letter())).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    #[test]
    fn placeholders_are_filled_and_json_braces_stay() {
        let mut random = SmallRng::seed_from_u64(1);
        let text = fill(r#"{"urlToEmbed":"https://a/{rand:45}"}"#, &mut random);
        assert_eq!(text.len(), r#"{"urlToEmbed":"https://a/"}"#.len() + 45);
        assert!(text.starts_with(r#"{"urlToEmbed":"https://a/"#) && text.ends_with(r#""}"#));
        assert_eq!(fill("{uuid}", &mut random).len(), 36);
        assert_eq!(fill("{other} {", &mut random), "{other} {");
    }

    #[test]
    fn two_fills_differ() {
        let mut random = SmallRng::seed_from_u64(1);
        assert_ne!(fill("{rand:20}", &mut random), fill("{rand:20}", &mut random));
    }
}
