//! What is wrong, where, and what would be right.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A value that cannot be used, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{found}; expected {expected}")]
pub struct InvalidInput {
    pub found: String,
    pub expected: String,
}

impl InvalidInput {
    pub(crate) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }
}

/// A file that cannot be read, used or written: why, and what would be right.
#[derive(Debug, Error)]
#[error("{}{}: {message}", file.display(), line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct FileError {
    pub file: PathBuf,
    /// From 1, where the problem is on one line.
    pub line: Option<usize>,
    pub message: String,
}

impl FileError {
    pub(crate) fn new(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, message: message.into() }
    }

    /// For `map_err`; `action` is `read` or `written`.
    pub(crate) fn io(file: &Path, action: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::new(file, format!("cannot be {action}: {source}"))
    }
}
