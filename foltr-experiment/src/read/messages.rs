//! What is wrong with an experiment file, in the words of a person who edits it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::source_map::line_of;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// From 1; none for what is not in the file.
    pub line: Option<usize>,
    /// With its section, such as `learner.sigma`.
    pub key: String,
    pub value: Option<String>,
    pub message: String,
}

impl Problem {
    /// A problem with a key; line and value are filled in later.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { line: None, key: key.into(), value: None, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", in_one_line(&self.key))?;
        if let Some(value) = &self.value {
            write!(f, " = {}", in_one_line(value))?;
        }
        write!(f, ": {}", self.message)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// All problems, in the order of their lines.
    #[error("{}", lines(path, problems))]
    Wrong { path: PathBuf, problems: Vec<Problem> },
}

impl SpecError {
    pub fn reading<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, Vec<Problem>>) -> Result<T, Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Self::Unreadable { path: path.into(), source })?;
        parse(&text).map_err(|problems| Self::Wrong { path: path.into(), problems })
    }
}

/// Problems that are printed; who has more begins with these.
pub(super) const MOST_PROBLEMS: usize = 100;

/// One line a problem, each with file and line, so that editors can jump there.
fn lines(path: &Path, problems: &[Problem]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for problem in problems {
        let line = match problem.line {
            Some(line) => format!("{}:{line}: {problem}", path.display()),
            None => format!("{}: {problem}", path.display()),
        };
        if !lines.contains(&line) && lines.len() <= MOST_PROBLEMS {
            lines.push(line);
        }
    }
    if lines.len() > MOST_PROBLEMS {
        lines[MOST_PROBLEMS] = format!("{}: there are more problems than these {MOST_PROBLEMS}", path.display());
    }
    lines.join("\n")
}

/// Characters of a key or value that are repeated: its start is enough to find it.
const MOST_SHOWN: usize = 160;

/// The start of a text, without characters that would end the line or move the cursor.
fn in_one_line(text: &str) -> String {
    let mut shown: String = text.chars().take(MOST_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    let shown = shown.chars().map(|letter| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    });
    shown.collect()
}

pub(super) fn syntax_error(text: &str, error: &toml::de::Error) -> Problem {
    let line = line_of(text, error.span().map_or(0, |span| span.start.min(text.len())));
    let key = text.lines().nth(line - 1).unwrap_or_default().trim().into();
    Problem { line: Some(line), key, value: None, message: format!("not TOML: {}", error.message().trim_end()) }
}

/// "Unknown key", with the nearest name and all that are allowed.
pub fn no_such(what: &str, name: &str, allowed: &[&str]) -> String {
    if allowed.is_empty() {
        return format!("unknown {what}; no other is allowed here");
    }
    let likeness = |known: &&&str| strsim::jaro_winkler(name, known);
    let nearest = allowed.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let expected = allowed.join(", ");
    match nearest.filter(|known| likeness(known) > 0.8) {
        Some(known) => format!("unknown {what}{} Expected one of: {expected}", guess(known)),
        None => format!("unknown {what}; expected one of: {expected}"),
    }
}

fn guess(known: &str) -> String {
    format!("; did you mean `{known}`?")
}

/// Whether one of these problems is this name, misspelled.
pub(super) fn is_meant(name: &str, problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.message.contains(&guess(name)))
}

/// Whether a problem is a key that its section does not have.
pub(crate) fn is_unknown_key(problem: &Problem) -> bool {
    problem.message.starts_with("unknown key")
}

pub(super) fn missing_key(error: &str) -> Option<&str> {
    error.strip_prefix("missing field `")?.split('`').next()
}

/// One of the names that a type has in experiment files.
pub fn choice<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::Value::String(text.into()).try_into().map_err(|error| plain(error.message().trim_end()))
}

pub(super) fn plain(error: &str) -> String {
    if let Some(key) = missing_key(error) {
        return format!("missing key `{key}`");
    }
    for (serde, what) in [("unknown field ", "key"), ("unknown variant ", "value")] {
        let names: Vec<&str> = error.split('`').skip(1).step_by(2).collect();
        if let (true, Some((name, allowed))) = (error.starts_with(serde), names.split_first()) {
            return no_such(what, name, allowed);
        }
    }
    let mut text = error.to_owned();
    for (serde, plain) in [
        ("invalid type: ", "wrong type: "),
        ("invalid value: ", "wrong value: "),
        ("floating point ", "number "),
        ("expected f64", "expected a number"),
        ("expected f32", "expected a number"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected a sequence", "expected a list"),
    ] {
        text = text.replace(serde, plain);
    }
    text
}
