//! TOML files that people write: how they are read, and errors that point at their line.

use std::path::Path;

use serde::de::DeserializeOwned;

/// Why such a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TomlError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Something in the file is wrong.
    #[error("{path}:{line}: {message}")]
    Invalid {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        message: String,
    },
}

/// The text in `file`, and its path as errors show it.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(file: &Path) -> Result<(String, String), TomlError> {
    let path = file.display().to_string();
    match std::fs::read_to_string(file) {
        Ok(text) => Ok((text, path)),
        Err(source) => Err(TomlError::Read { path, source }),
    }
}

/// A file and its text: the means to point into it.
#[derive(Clone, Copy)]
pub(crate) struct TomlText<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl TomlText<'_> {
    /// What the text holds.
    ///
    /// # Errors
    /// It is not TOML, or has other keys or types.
    pub(crate) fn parse<T: DeserializeOwned>(self) -> Result<T, TomlError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message().trim().replace('\n', ", "))
        })
    }

    /// An error at this byte of the text.
    pub(crate) fn error(self, at: usize, message: String) -> TomlError {
        let line = self.text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        TomlError::Invalid { path: self.path.to_owned(), line, message }
    }
}
