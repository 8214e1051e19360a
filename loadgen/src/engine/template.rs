//! Text with placeholders (`{uuid}`, `{seq}`, `{rand:N}`) that is expanded for each request.
//!
//! Only these exact forms are special: any other brace, as in JSON, stands for itself.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Most characters one `{rand:N}` may ask for.
const MAX_RAND: usize = 1 << 20;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Vec<u8>),
    /// A random UUID, version 4 (RFC 9562 section 5.4), 36 characters.
    Uuid,
    /// The number of the request, from 0, unique over the whole run.
    Seq,
    /// Random characters of `A-Z a-z 0-9 - _`.
    Rand(usize),
}

/// A placeholder that cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} at byte {at} is not a placeholder: write {{rand:N}} with N from 1 to {MAX_RAND}")]
pub struct TemplateError {
    /// The text in braces.
    pub text: String,
    /// Where it begins.
    pub at: usize,
}

impl Template {
    /// A template with no placeholders.
    pub fn literal(text: impl Into<Vec<u8>>) -> Self {
        Self { parts: vec![Part::Literal(text.into())] }
    }

    /// Finds the placeholders in `text`.
    ///
    /// # Errors
    /// `{rand:…}` with anything but a sensible number of characters.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, TemplateError> {
        let text = text.as_ref();
        let mut parts = Vec::new();
        let mut literal_from = 0;
        let mut at = 0;
        while at < text.len() {
            let Some((part, length)) = placeholder(&text[at..], at)? else {
                at += 1;
                continue;
            };
            if literal_from < at {
                parts.push(Part::Literal(text[literal_from..at].to_vec()));
            }
            parts.push(part);
            at += length;
            literal_from = at;
        }
        if literal_from < text.len() {
            parts.push(Part::Literal(text[literal_from..].to_vec()));
        }
        Ok(Self { parts })
    }

    /// The bytes, if they are the same for every request.
    pub fn as_literal(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Length of every expansion with this request number.
    pub(crate) fn expanded_len(&self, seq: u64) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => text.len(),
                Part::Uuid => 36,
                Part::Seq => decimal_len(seq),
                Part::Rand(length) => *length,
            })
            .sum()
    }

    /// Appends one expansion.
    pub(crate) fn expand(&self, values: &mut Values, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.extend_from_slice(text),
                Part::Uuid => values.uuid(out),
                Part::Seq => push_decimal(values.seq, out),
                Part::Rand(length) => values.random_text(*length, out),
            }
        }
    }
}

/// The placeholder that `text` starts with, and its length.
fn placeholder(text: &[u8], at: usize) -> Result<Option<(Part, usize)>, TemplateError> {
    if text.starts_with(b"{uuid}") {
        return Ok(Some((Part::Uuid, 6)));
    }
    if text.starts_with(b"{seq}") {
        return Ok(Some((Part::Seq, 5)));
    }
    let Some(rest) = text.strip_prefix(b"{rand:") else { return Ok(None) };
    let end = rest.iter().position(|&byte| byte == b'}');
    let number = end
        .and_then(|end| std::str::from_utf8(&rest[..end]).ok())
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .filter(|number| (1..=MAX_RAND).contains(number));
    let length = end.map_or(text.len().min(24), |end| end + 7);
    match number {
        Some(number) => Ok(Some((Part::Rand(number), length))),
        None => {
            Err(TemplateError { text: String::from_utf8_lossy(&text[..length]).into_owned(), at })
        }
    }
}

/// Where the values of one worker's placeholders come from.
#[derive(Debug)]
pub(crate) struct Values {
    random: SmallRng,
    seq: u64,
    step: u64,
}

impl Values {
    /// Values of worker `worker` of `workers`: numbers `worker`, `worker + workers`, and so on.
    pub(crate) fn new(seed: u64, worker: u64, workers: u64) -> Self {
        let random = SmallRng::seed_from_u64(seed.wrapping_add(worker));
        Self { random, seq: worker, step: workers }
    }

    /// The number of the request being expanded.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Moves on to the next request.
    pub(crate) fn advance(&mut self) {
        self.seq += self.step;
    }

    fn uuid(&mut self, out: &mut Vec<u8>) {
        let mut bits: u128 = self.random.random();
        bits = bits & !(0xf << 76) | 4 << 76;
        bits = bits & !(0b11 << 62) | 0b10 << 62;
        let mut text = [b'-'; 36];
        let mut shift = 128;
        for (at, byte) in text.iter_mut().enumerate() {
            if !matches!(at, 8 | 13 | 18 | 23) {
                shift -= 4;
                *byte = b"0123456789abcdef"[(bits >> shift) as usize & 0xf];
            }
        }
        out.extend_from_slice(&text);
    }

    fn random_text(&mut self, length: usize, out: &mut Vec<u8>) {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut left = length;
        while left > 0 {
            let mut bits: u64 = self.random.random();
            for _ in 0..left.min(10) {
                out.push(ALPHABET[bits as usize & 63]);
                bits >>= 6;
            }
            left -= left.min(10);
        }
    }
}

/// Digits of `value` in decimal.
fn decimal_len(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Appends `value` in decimal.
pub(crate) fn push_decimal(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, values: &mut Values) -> String {
        let template = Template::parse(text).unwrap();
        let mut out = Vec::new();
        template.expand(values, &mut out);
        assert_eq!(out.len(), template.expanded_len(values.seq()));
        values.advance();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_exact_forms_are_placeholders() {
        let mut values = Values::new(1, 0, 1);
        let json = r#"{"a":{"seq":1},"b":"{uuid","c":"{SEQ}","d":"{}","e":"{rand}"}"#;
        assert_eq!(expand(json, &mut values), json);
        assert_eq!(Template::parse(json).unwrap().as_literal(), Some(json.as_bytes()));
    }

    #[test]
    fn numbers_are_unique_over_workers_and_grow_in_width() {
        let mut seen = std::collections::BTreeSet::new();
        for worker in 0..3 {
            let mut values = Values::new(1, worker, 3);
            for _ in 0..50 {
                assert!(seen.insert(expand("{seq}", &mut values)));
            }
        }
        assert_eq!(seen.len(), 150);
        assert!(seen.contains("0") && seen.contains("99") && seen.contains("149"));
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let mut values = Values::new(7, 0, 1);
        for _ in 0..100 {
            let uuid = expand("{uuid}", &mut values);
            let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12]);
            assert_eq!(uuid.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&uuid.as_bytes()[19]));
        }
    }

    #[test]
    fn random_text_is_seeded_and_safe_in_urls() {
        let a = expand("x{rand:25}y", &mut Values::new(7, 0, 1));
        let b = expand("x{rand:25}y", &mut Values::new(7, 0, 1));
        let c = expand("x{rand:25}y", &mut Values::new(8, 0, 1));
        assert_eq!(a.len(), 27);
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert!(a.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    }

    #[test]
    fn a_bad_length_is_named_with_its_place() {
        for bad in ["ab{rand:x}", "ab{rand:0}", "ab{rand:}", "ab{rand:99999999}", "ab{rand:5"] {
            let error = Template::parse(bad).unwrap_err();
            assert_eq!(error.at, 2, "{bad}");
            assert!(error.text.starts_with("{rand:"), "{bad}");
        }
    }

    #[test]
    fn decimal_lengths_agree() {
        for value in [0, 1, 9, 10, 99, 100, 12345, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(value, &mut out);
            assert_eq!(out, value.to_string().as_bytes());
            assert_eq!(decimal_len(value), out.len());
        }
    }
}
