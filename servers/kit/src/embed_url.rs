//! The request body `{"urlToEmbed": "…"}` which two scenarios read.

use std::fmt;

use http::StatusCode;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{BodyError, RequestBody, Response, json_error};

/// The longest body that is read, in bytes.
pub const MAX_BODY_BYTES: u64 = 1024 * 1024;

/// The deepest nesting of arrays and objects that is read.
const MAX_DEPTH: usize = 128;

/// Why a body gives no text.
#[derive(Debug, thiserror::Error)]
pub enum EmbedUrlError {
    /// It could not be read.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// It is not JSON: broken syntax or UTF-8, or nested deeper than 128 levels.
    #[error("the body is not valid JSON: {0}")]
    Json(serde_json::Error),
    /// The member is missing, empty, or not a string.
    #[error("urlToEmbed parameter is missing")]
    Missing,
}

impl EmbedUrlError {
    /// The answer that tells it to the client.
    #[must_use]
    pub fn response(&self) -> Response {
        let status = match self {
            Self::Body(error) => error.status(),
            Self::Json(_) | Self::Missing => StatusCode::BAD_REQUEST,
        };
        json_error(status, &self.to_string())
    }
}

/// Reads a whole body and takes its `urlToEmbed`.
///
/// # Errors
///
/// All of [`EmbedUrlError`].
pub async fn read(body: RequestBody) -> Result<String, EmbedUrlError> {
    parse(&body.collect(MAX_BODY_BYTES).await?)
}

/// Takes the `urlToEmbed` of a JSON object: the last one, where there are several. Other members
/// must be JSON, and are ignored.
///
/// # Errors
///
/// [`EmbedUrlError::Json`] and [`EmbedUrlError::Missing`].
pub fn parse(body: &[u8]) -> Result<String, EmbedUrlError> {
    let parsed: Parsed = std::str::from_utf8(body)
        .map_err(serde_json::Error::custom)
        .and_then(serde_json::from_str)
        .and_then(|parsed| check_depth(body).map(|()| parsed))
        .map_err(EmbedUrlError::Json)?;
    match parsed.0 {
        Some(url) if !url.is_empty() => Ok(url),
        _ => Err(EmbedUrlError::Missing),
    }
}

/// The JSON document `{"urlToEmbed":"…"}` with this text.
#[must_use]
pub fn write(url: &str) -> Vec<u8> {
    const HEAD: &[u8] = b"{\"urlToEmbed\":";
    let mut document = Vec::with_capacity(HEAD.len() + url.len() + 16);
    document.extend_from_slice(HEAD);
    let written = serde_json::to_writer(&mut document, url);
    debug_assert!(written.is_ok(), "a string in memory is always written");
    document.push(b'}');
    document
}

/// Refuses valid JSON that is nested too deeply. serde_json skips what is ignored without
/// counting. A body with few brackets, the usual one, is done after one look.
fn check_depth(body: &[u8]) -> Result<(), serde_json::Error> {
    let opening = body.iter().filter(|&&byte| matches!(byte, b'[' | b'{')).count();
    if opening <= MAX_DEPTH {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(serde_json::Error::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        }
    }
    Ok(())
}

/// The text of a whole document, whatever the document is.
struct Parsed(Option<String>);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Document).map(Self)
    }
}

/// The value of the member: a string, or anything else, which counts as none.
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOnly).map(Self)
    }
}

/// Whether a key is the member's.
struct IsOurs(bool);

impl<'de> Deserialize<'de> for IsOurs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Key)
    }
}

struct Key;

impl Visitor<'_> for Key {
    type Value = IsOurs;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<IsOurs, E> {
        Ok(IsOurs(key == "urlToEmbed"))
    }
}

/// Implements the visits of JSON values that are no text.
macro_rules! not_text {
    () => {
        type Value = Option<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a JSON value")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    };
}

struct Document;

impl<'de> Visitor<'de> for Document {
    not_text!();

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut url = None;
        while let Some(IsOurs(is_ours)) = members.next_key()? {
            if is_ours {
                url = members.next_value::<Text>()?.0;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(url)
    }
}

struct TextOnly;

impl<'de> Visitor<'de> for TextOnly {
    not_text!();

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json_error(body: &[u8]) -> bool {
        matches!(parse(body), Err(EmbedUrlError::Json(_)))
    }

    #[test]
    fn the_last_of_several_wins_and_others_are_ignored() {
        let body =
            br#"{"a":[1,{"urlToEmbed":"no"}],"urlToEmbed":"x","urlToEmbed":"\u00e4\n","b":1e400}"#;
        assert_eq!(parse(body).unwrap(), "\u{e4}\n");
        assert_eq!(parse(br#"{"urlToEmbed":"\ud834\udd1e"}"#).unwrap(), "\u{1d11e}");
        assert_eq!(parse(br#"{"$serde_json::private::Number":0,"urlToEmbed":"y"}"#).unwrap(), "y");
    }

    #[test]
    fn what_is_not_a_text_is_missing() {
        for body in [
            "{}",
            "[]",
            "null",
            "1",
            "-1.5",
            "true",
            "\"urlToEmbed\"",
            r#"["urlToEmbed","x"]"#,
            r#"{"urlToEmbed":""}"#,
            r#"{"urlToEmbed":1}"#,
            r#"{"urlToEmbed":null}"#,
            r#"{"urlToEmbed":["x"]}"#,
            r#"{"urlToEmbed":{"a":"b"}}"#,
            r#"{"urltoembed":"x"}"#,
            r#"{"urlToEmbed":"x","urlToEmbed":false}"#,
        ] {
            assert!(matches!(parse(body.as_bytes()), Err(EmbedUrlError::Missing)), "{body}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let bodies: [&[u8]; 12] = [
            b"",
            b" ",
            b"{",
            b"{\"urlToEmbed\":\"x\"",
            b"{\"urlToEmbed\":\"x\"}{}",
            b"{'urlToEmbed':'x'}",
            b"\xef\xbb\xbf{\"urlToEmbed\":\"x\"}",
            b"\"\xed\xa0\x80\"",
            b"{\"a\":\"\xff\xfe\",\"urlToEmbed\":\"x\"}",
            br#"{"urlToEmbed":"\ud800"}"#,
            br#"{"a":01,"urlToEmbed":"x"}"#,
            br#"{"urlToEmbed":"x",}"#,
        ];
        for body in bodies {
            assert!(is_json_error(body), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let text = "a\"b\\\u{0}\n\u{7f}\u{e4}\u{1f600}\u{2028}";
        assert_eq!(parse(&write(text)).unwrap(), text);
        assert_eq!(write("a/b"), br#"{"urlToEmbed":"a/b"}"#);
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
            format!(r#"{{"a":{open}{close},"urlToEmbed":"x"}}"#)
        };
        assert!(parse(nested(127).as_bytes()).is_ok());
        assert!(parse(nested(128).as_bytes()).is_ok());
        assert!(is_json_error(nested(129).as_bytes()));
        assert!(is_json_error(nested(100_000).as_bytes()));
        let flat = format!(r#"{{"a":"{}\"","urlToEmbed":"x"}}"#, "[".repeat(1000));
        assert!(parse(flat.as_bytes()).is_ok(), "brackets in a string are no nesting");
    }
}
