//! What is wrong with an experiment file, one problem at a time, told so that it can be repaired.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1; unknown for an experiment that was not read from a file.
    pub line: Option<usize>,
    /// Key with its section, such as `learner.sigma`.
    pub key: String,
    /// The value as the file spells it, if there is one.
    pub value: Option<String>,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl Problem {
    /// A problem with a key; line and value are found later.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { line: None, key: key.into(), value: None, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Why an experiment file is not an experiment.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file was read, but is not a sound experiment.
    #[error("{}", told(path, problems))]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it, in the order of its lines.
        problems: Vec<Problem>,
    },
}

impl SpecError {
    /// What `parse` makes of a file's text.
    ///
    /// # Errors
    /// If the file cannot be read, or with everything that `parse` finds wrong with it.
    pub fn reading<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, Vec<Problem>>) -> Result<T, Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Self::Unreadable { path: path.into(), source })?;
        parse(&text).map_err(|problems| Self::Wrong { path: path.into(), problems })
    }
}

/// One line a problem, each with file and line, so that editors can jump there.
fn told(path: &Path, problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| match problem.line {
        Some(line) => format!("{}:{line}: {problem}", path.display()),
        None => format!("{}: {problem}", path.display()),
    });
    lines.collect::<Vec<_>>().join("\n")
}
