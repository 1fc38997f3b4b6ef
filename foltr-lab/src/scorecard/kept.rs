//! Finished runs of a scorecard, one line each, appended as they end: what an interrupted card goes on from.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::folder::CODE_HASH;

/// What a run measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Values {
    /// nDCG@10 on test queries.
    pub test: f64,
    /// nDCG@10 on validation queries.
    pub validation: f64,
    /// Where documents of the promoted kind stand on test queries, as a share of their lists; 0 is the top.
    pub promoted: f64,
    /// nDCG@10 that a random ranking of the test queries has on average.
    pub random: f64,
}

/// One line of `runs.jsonl`.
#[derive(Deserialize, Serialize)]
struct Entry {
    /// The program that measured it: another one may come to other results.
    code: String,
    run: String,
    values: Values,
}

/// Finished runs.
pub struct Kept {
    known: HashMap<String, Values>,
    file: Option<Mutex<File>>,
}

impl Kept {
    /// Those in a folder, which must exist; none without a folder.
    ///
    /// # Errors
    /// If the file cannot be read or written. A line that was cut short by a crash is passed over.
    pub fn open(folder: Option<&Path>) -> Result<Self> {
        let Some(folder) = folder else { return Ok(Self { known: HashMap::new(), file: None }) };
        let path = folder.join("runs.jsonl");
        let text = if path.exists() { std::fs::read_to_string(&path) } else { Ok(String::new()) };
        let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        let known = entries.filter(|entry| entry.code == CODE_HASH).map(|entry| (entry.run, entry.values)).collect();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.with_context(|| format!("{} cannot be written", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self { known, file: Some(Mutex::new(file)) })
    }

    /// What a run measured, if it was finished before.
    pub fn of(&self, run: &str) -> Option<Values> {
        self.known.get(run).copied()
    }

    /// Keeps a finished run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&self, run: &str, values: &Values) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let entry = Entry { code: CODE_HASH.into(), run: run.into(), values: *values };
        let line = serde_json::to_string(&entry)? + "\n";
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).context("runs.jsonl cannot be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_runs_survive_a_torn_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let values = Values { test: 0.5, validation: 0.25, promoted: 0.125, random: 0.1 };
        Kept::open(Some(folder.path())).expect("new").add("a", &values).expect("written");
        let path = folder.path().join("runs.jsonl");
        let whole = std::fs::read_to_string(&path).expect("there");
        std::fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).expect("torn");
        let kept = Kept::open(Some(folder.path())).expect("readable");
        assert_eq!((kept.of("a"), kept.of("b")), (Some(values), None));
        kept.add("b", &Values::default()).expect("written");
        assert_eq!(Kept::open(Some(folder.path())).expect("readable").of("b"), Some(Values::default()));
        let other = std::fs::read_to_string(&path).expect("there").replace(CODE_HASH, "another");
        std::fs::write(&path, other).expect("written");
        assert_eq!(Kept::open(Some(folder.path())).expect("readable").of("a"), None, "of another program");
    }
}
