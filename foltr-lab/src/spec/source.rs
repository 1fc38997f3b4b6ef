//! Reads an experiment file section by section, so that every section reports its own problems with line and value.
//!
//! Serde stops at its first error and forgets the line inside a table with a `kind`. So each section is read by itself,
//! unknown keys are taken out and reading goes on, and a value of the wrong type is found by leaving one key out at a
//! time: the key that is then missing is the one that was wrong.

use std::collections::HashMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::{Experiment, Problem, SpecError};

/// Sections and top-level keys, in the order in which a file should have them.
const SECTIONS: [&str; 9] =
    ["seeds", "data", "clients", "users", "ranker", "learner", "federation", "privacy", "metrics"];

impl Experiment {
    /// Reads and checks an experiment file.
    ///
    /// # Errors
    /// If the file cannot be read, or with everything that is wrong with it.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| SpecError::Unreadable { path: path.into(), source })?;
        Self::from_toml(&text).map_err(|problems| SpecError::Wrong { path: path.into(), problems })
    }

    /// Reads and checks the text of an experiment file.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, Vec<Problem>> {
        let places = Places::of(text)?;
        let mut read = read_sections(text);
        if let Ok(experiment) = &mut read {
            experiment.data.resolve();
        }
        let problems = match &read {
            Ok(experiment) => experiment.check(),
            Err(problems) => problems.clone(),
        };
        if problems.is_empty() { read } else { Err(places.locate(problems)) }
    }
}

/// Line and spelling of every key of a file.
struct Places(HashMap<String, (usize, Option<String>)>);

impl Places {
    /// Finds all keys. A file that is not TOML is one problem a syntax error.
    fn of(text: &str) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            let mut places = HashMap::new();
            note_places(text, "", table.get_ref(), &mut places);
            return Ok(Self(places));
        }
        let problem = |error: &toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = line_of(text, start);
            let spelled = text.lines().nth(line - 1).unwrap_or_default().trim();
            let message = format!("this is not TOML: {}", error.message().trim_end());
            Problem { line: Some(line), key: spelled.into(), value: None, message }
        };
        Err(errors.iter().map(problem).collect())
    }

    /// Fills in lines and values, and puts problems in the order of the file.
    fn locate(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in &mut problems {
            let section = problem.key.split('.').next().unwrap_or_default();
            if let Some((line, spelled)) = self.0.get(&problem.key) {
                problem.line = Some(*line);
                problem.value.clone_from(spelled);
            } else if let Some((line, _)) = self.0.get(section) {
                problem.line = Some(*line);
            }
        }
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}

fn note_places(text: &str, prefix: &str, table: &DeTable<'_>, places: &mut HashMap<String, (usize, Option<String>)>) {
    for (key, value) in table.iter() {
        let path = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        let spelled = match value.get_ref() {
            DeValue::Table(inner) => {
                note_places(text, &path, inner, places);
                None
            }
            _ => text.get(value.span()).map(|spelled| spelled.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        places.insert(path, (line_of(text, key.span().start), spelled));
    }
}

fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte].iter().filter(|&&letter| letter == b'\n').count() + 1
}

/// Reads all sections; the problems of one do not hide those of another.
fn read_sections(text: &str) -> Result<Experiment, Vec<Problem>> {
    let mut table: Table = toml::from_str(text).map_err(|error| vec![Problem::new("file", error.message())])?;
    let mut problems = Vec::new();
    for key in table.keys().filter(|key| !SECTIONS.contains(&key.as_str())) {
        problems.push(Problem::new(key, no_such("section", key, &SECTIONS)));
    }
    let seeds = required(&mut table, "seeds", "seeds = [1, 2, 3]", &mut problems);
    let data = required(&mut table, "data", "[data]", &mut problems);
    let clients = optional(&mut table, "clients", &mut problems);
    let users = optional(&mut table, "users", &mut problems);
    let ranker = optional(&mut table, "ranker", &mut problems);
    let learner = required(&mut table, "learner", "[learner]", &mut problems);
    let federation = optional(&mut table, "federation", &mut problems);
    let privacy = optional(&mut table, "privacy", &mut problems).unwrap_or_else(super::no_privacy);
    let metrics = optional(&mut table, "metrics", &mut problems).unwrap_or_default();
    match (seeds, data, learner) {
        (Some(seeds), Some(data), Some(learner)) if problems.is_empty() => {
            Ok(Experiment { seeds, data, clients, users, ranker, learner, federation, privacy, metrics })
        }
        _ => Err(problems),
    }
}

fn required<T: DeserializeOwned>(
    table: &mut Table,
    key: &str,
    example: &str,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    if !table.contains_key(key) {
        problems.push(Problem::new(key, format!("missing; every experiment needs `{example}`")));
    }
    optional(table, key, problems)
}

fn optional<T: DeserializeOwned>(table: &mut Table, key: &str, problems: &mut Vec<Problem>) -> Option<T> {
    read_value(key, table.remove(key)?, problems)
}

/// Reads a value; takes unknown keys out one by one, then names the key whose value is wrong.
fn read_value<T: DeserializeOwned>(path: &str, mut value: Value, problems: &mut Vec<Problem>) -> Option<T> {
    let mut sound = true;
    loop {
        let error = match value.clone().try_into::<T>() {
            Ok(read) => return sound.then_some(read),
            Err(error) => error.message().trim_end().to_owned(),
        };
        sound = false;
        if let Some((unknown, known)) = unknown_field(&error)
            && let Some(owner) = path_of_unknown(&value, &unknown, &known)
        {
            let key = joined(path, &owner, &unknown);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            problems.push(Problem::new(key, no_such("key", &unknown, &known)));
            table_at(&mut value, &owner)?.remove(&unknown);
            continue;
        }
        let missing = error.strip_prefix("missing field ").map(quoted).unwrap_or_default();
        // A misspelled or wrong key was told already; that it is missing without its value is no news.
        let known = |key: &String| {
            let told = joined(path, &[], key);
            problems.iter().any(|problem| problem.key.starts_with(&told) || problem.message.contains(&guess(key)))
        };
        if missing.iter().any(known) {
            return None;
        }
        let Some(culprit) = culprit::<T>(&value, !missing.is_empty()) else {
            problems.push(Problem::new(path, kindly(&error)));
            return None;
        };
        let inner = value.get(&culprit).and_then(Value::as_table).and_then(|inner| quoted_in(inner, &error));
        let key = inner
            .map_or_else(|| joined(path, &[], &culprit), |inner| joined(path, std::slice::from_ref(&culprit), &inner));
        problems.push(Problem::new(key, kindly(&error)));
        table_at(&mut value, &[])?.remove(&culprit);
        if culprit == "kind" {
            return None;
        }
    }
}

/// The unknown key that serde complains about, and the keys that it knows.
fn unknown_field(error: &str) -> Option<(String, Vec<String>)> {
    let names = quoted(error.strip_prefix("unknown field ")?);
    let (unknown, known) = names.split_first()?;
    Some((unknown.clone(), known.to_vec()))
}

/// Everything between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Keys that lead to the table with the unknown key: the value itself, or a table inside it.
fn path_of_unknown(value: &Value, unknown: &str, known: &[String]) -> Option<Vec<String>> {
    let table = value.as_table()?;
    let fits = |table: &Table| table.keys().all(|key| key == "kind" || known.contains(key) || key == unknown);
    if table.contains_key(unknown) && (fits(table) || !known.iter().any(|key| key == unknown)) {
        return Some(Vec::new());
    }
    table.iter().find_map(|(key, inner)| {
        let mut path = path_of_unknown(inner, unknown, known)?;
        path.insert(0, key.clone());
        Some(path)
    })
}

fn joined(path: &str, owner: &[String], key: &str) -> String {
    [&[path.to_owned()], owner, &[key.to_owned()]].concat().join(".")
}

fn table_at<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Table> {
    path.iter().try_fold(value, |value, key| value.get_mut(key))?.as_table_mut()
}

/// The key whose value is wrong: without it, serde complains about something else. What misses a key is a table.
fn culprit<T: DeserializeOwned>(value: &Value, only_tables: bool) -> Option<String> {
    let table = value.as_table()?;
    let original = value.clone().try_into::<T>().err()?.message().to_owned();
    let matters = |key: &&String| {
        let mut without = table.clone();
        without.remove(*key);
        Value::Table(without).try_into::<T>().err().is_none_or(|error| error.message() != original)
    };
    let candidates = || table.keys().filter(|key| !only_tables || table[*key].is_table());
    // Without its kind a section always fails in another way: a kind is to blame only when nothing else is.
    let other = candidates().filter(|key| *key != "kind").find(matters);
    other.or_else(|| candidates().find(|key| *key == "kind")).cloned()
}

/// The key of an inner table whose value a message quotes.
fn quoted_in(inner: &Table, message: &str) -> Option<String> {
    let is_quoted = |value: &Value| match value {
        Value::String(text) => message.contains(&format!("`{text}`")) || message.contains(&format!("\"{text}\"")),
        other => message.contains(&format!("`{other}`")),
    };
    inner.iter().find(|(_, value)| is_quoted(value)).map(|(key, _)| key.clone())
}

fn guess(known: &str) -> String {
    format!("; did you mean `{known}`?")
}

/// "No such key", with the nearest name and all allowed ones.
fn no_such(what: &str, name: &str, allowed: &[&str]) -> String {
    let near =
        allowed.iter().map(|known| (strsim::jaro_winkler(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    let near = near.filter(|(likeness, _)| *likeness > 0.8).map(|(_, known)| guess(known));
    let near = near.unwrap_or_default();
    if allowed.is_empty() {
        return format!("no such {what}; no other key is allowed here");
    }
    format!("no such {what}{near} (allowed: {})", allowed.join(", "))
}

/// Serde's message in the words of a person who edits a file.
fn kindly(error: &str) -> String {
    if let Some(rest) = error.strip_prefix("missing field ") {
        let key = quoted(rest).into_iter().next().unwrap_or_default();
        return format!("the key `{key}` is missing here");
    }
    if error.starts_with("unknown variant ") {
        let names = quoted(error);
        if let Some((wrong, allowed)) = names.split_first() {
            let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
            return no_such("choice", wrong, &allowed);
        }
    }
    let mut text = error.to_owned();
    for (serde, plain) in [
        ("invalid type: ", "wrong kind of value: "),
        ("invalid value: ", "wrong value: "),
        ("floating point ", "number "),
        ("expected f64", "expected a number"),
        ("expected f32", "expected a number"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected a sequence", "expected a list"),
    ] {
        text = text.replace(serde, plain);
    }
    text
}
