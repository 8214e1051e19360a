//! From the path of a request to the name of a file.

use std::borrow::Cow;

use http::StatusCode;
use server_kit::{Response, plain_error};

/// Why a path gives no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFile {
    /// No file can have this name: a broken escape, a NUL, a backslash, a step up.
    Malformed,
    /// There is no such file, or it is outside the folder, or it is not a regular file.
    Missing,
    /// The process has no descriptor left for it.
    Busy,
    /// The file is there and cannot be read.
    Unreadable,
}

impl NoFile {
    pub(crate) fn response(self) -> Response {
        let (status, message) = match self {
            Self::Malformed => (StatusCode::BAD_REQUEST, "malformed path"),
            Self::Missing => (StatusCode::NOT_FOUND, "not found"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "too many open files"),
            Self::Unreadable => (StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be read"),
        };
        plain_error(status, message)
    }
}

/// The file a path names, relative to the folder: decoded exactly once. It has no empty, `.` or
/// `..` component, no NUL and no backslash; a `+` is a `+`.
pub(crate) fn file_name(path: &str) -> Result<Cow<'_, [u8]>, NoFile> {
    let Some(encoded) = path.strip_prefix('/') else {
        return Err(NoFile::Missing);
    };
    let name = if encoded.contains('%') {
        Cow::Owned(decode(encoded.as_bytes()).ok_or(NoFile::Malformed)?)
    } else {
        Cow::Borrowed(encoded.as_bytes())
    };
    if name.iter().any(|byte| matches!(byte, 0 | b'\\')) {
        return Err(NoFile::Malformed);
    }
    for component in name.split(|&byte| byte == b'/') {
        match component {
            b"." | b".." => return Err(NoFile::Malformed),
            b"" => return Err(NoFile::Missing),
            _ => {}
        }
    }
    Ok(name)
}

/// Decodes percent escapes (RFC 3986, 2.1), or `None` where one is broken.
fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            rest = after;
            hex(digits[0])? << 4 | hex(digits[1])?
        } else {
            byte
        });
    }
    Some(decoded)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &str) -> Result<String, NoFile> {
        file_name(path).map(|name| String::from_utf8_lossy(&name).into_owned())
    }

    #[test]
    fn names_are_decoded_exactly_once() {
        for (path, expected) in [
            ("/logo.png", "logo.png"),
            ("/a%20b.png", "a b.png"),
            ("/a%2520b.png", "a%20b.png"),
            ("/50%25.png", "50%.png"),
            ("/a+b.png", "a+b.png"),
            ("/what%3f.png", "what?.png"),
            ("/m%C3%BCnchen.png", "m\u{fc}nchen.png"),
            ("/sub/x", "sub/x"),
            ("/..a", "..a"),
        ] {
            assert_eq!(name(path).as_deref(), Ok(expected), "{path}");
        }
    }

    #[test]
    fn no_name_steps_up_or_is_absolute() {
        for path in [
            "/../../../etc/passwd",
            "/..%2f..%2f..%2fetc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/..%5c..%5cx",
            "/a/../b",
            "/.",
            "/%00",
            "/image.png%00",
            "/%",
            "/%zz",
            "/%2",
            "/a%+1",
        ] {
            assert_eq!(name(path), Err(NoFile::Malformed), "{path}");
        }
        for path in ["/", "", "*", "//etc/passwd", "/%2fetc%2fpasswd", "/logo.png/", "/a//b"] {
            assert_eq!(name(path), Err(NoFile::Missing), "{path}");
        }
    }
}
