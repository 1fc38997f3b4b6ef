//! Limits as the checks state them: every key of an example is set to values that are hardly right, and what the check says
//! about that very key is its limit.

use std::collections::{BTreeMap, BTreeSet};

use foltr_experiment::grid::{Grid, Setting};
use toml::{Table, Value};

/// Most limits refuse at least one of these.
const PROBES: [&str; 8] = ["0", "-1.0", "0.0", "2.5", "1e300", "nan", "1000000000000000000", "[]"];

/// Words with which a check says what is right for one key whatever the others are.
const WORDS: [&str; 4] = ["must be", "at least", "at most", "must not"];

/// How messages begin that are about the type of a value, or about a list of values to try.
const NO_LIMITS: [&str; 2] = ["wrong value", "an empty list"];

/// Examples of every kind of every section, as plain files.
pub struct Limits {
    /// Path of a table and its kind -> an example that has it.
    examples: BTreeMap<(String, Option<String>), String>,
}

impl Limits {
    pub fn of_examples() -> Self {
        let mut examples = BTreeMap::new();
        for path in foltr_test::spec_files() {
            let grid = Grid::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
            for Setting { experiment, .. } in &grid.settings {
                let mut kinds = Vec::new();
                tables("", &Table::try_from(experiment).expect("a table"), &mut kinds);
                for kind in kinds {
                    examples.entry(kind).or_insert_with(|| experiment.to_toml().expect("an experiment can be written"));
                }
            }
        }
        Self { examples }
    }

    /// What the checks say about wrong values of a key; empty if they take all that have the right type.
    pub fn of(&self, path: &str, kind: Option<&str>, key: &str) -> String {
        let Some(example) = self.examples.get(&(path.to_owned(), kind.map(str::to_owned))) else {
            return String::new();
        };
        let full = format!("{path}.{key}");
        let mut messages = BTreeSet::new();
        for probe in PROBES {
            let Err(problems) = Grid::from_toml(example, &[format!("{full}={probe}")]) else { continue };
            let is_limit = |message: &str| {
                WORDS.iter().any(|word| message.contains(word))
                    && !NO_LIMITS.iter().any(|start| message.starts_with(start))
            };
            let of_key = problems.into_iter().filter(|problem| problem.key == full);
            messages.extend(of_key.map(|problem| problem.message).filter(|message| is_limit(message)));
        }
        messages.into_iter().collect::<Vec<_>>().join("; ").replace('|', "\\|")
    }
}

/// Paths of all tables, with their kinds.
fn tables(path: &str, table: &Table, found: &mut Vec<(String, Option<String>)>) {
    let kind = table.get("kind").and_then(Value::as_str).map(str::to_owned);
    found.push((path.to_owned(), kind));
    for (key, value) in table {
        if let Value::Table(inner) = value {
            tables(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, inner, found);
        }
    }
}
