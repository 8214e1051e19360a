//! What a stored result is, and of which version: the `schema` at its head, such as
//! `loadgen-compare/1`. Anything else is refused with a sentence that says what it is.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value whose schema is `expected` from JSON.
///
/// # Errors
/// In one line, after the name of the file: it is cut off, damaged, of another kind, or of a version
/// that this program does not know.
pub fn read<T: DeserializeOwned>(text: &[u8], expected: &str) -> Result<T, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        if error.is_eof() {
            format!("is cut off after {} bytes: {error}", text.len())
        } else {
            format!("is not JSON: {error}")
        }
    })?;
    check(&value, expected)?;
    serde_json::from_value(value).map_err(|error| format!("is damaged: {error}"))
}

/// Whether `value` says that it is `expected`.
fn check(value: &Value, expected: &str) -> Result<(), String> {
    let Some(found) = value["schema"].as_str() else {
        return Err(format!("is not a result: it has no schema, and this reads {expected:?}"));
    };
    if found == expected {
        return Ok(());
    }
    let newer = version(found)
        .zip(version(expected))
        .is_some_and(|(found, expected)| found.0 == expected.0 && found.1 > expected.1);
    Err(if newer {
        format!("is a {found:?} of a newer loadgen; this one reads {expected:?}: use the newer one")
    } else {
        format!("is a {found:?}; this reads {expected:?}")
    })
}

/// Kind and number of a schema.
fn version(schema: &str) -> Option<(&str, u32)> {
    let (kind, number) = schema.rsplit_once('/')?;
    Some((kind, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_thing_is_told_apart() {
        let message = |text: &str| read::<Value>(text.as_bytes(), "a/2").unwrap_err();
        assert!(read::<Value>(br#"{"schema":"a/2"}"#, "a/2").is_ok());
        assert!(message(r#"{"schema":"a/2","x":"#).starts_with("is cut off after 20 bytes: "));
        assert!(message("").starts_with("is cut off after 0 bytes: "));
        assert!(message("{]").starts_with("is not JSON: "));
        assert!(message("[]").contains("it has no schema"));
        assert_eq!(message(r#"{"schema":"b/3"}"#), r#"is a "b/3"; this reads "a/2""#);
        assert_eq!(message(r#"{"schema":"a/1"}"#), r#"is a "a/1"; this reads "a/2""#);
        assert!(message(r#"{"schema":"a/10"}"#).contains("of a newer loadgen"));
    }
}
