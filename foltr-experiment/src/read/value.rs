//! Reads a value as far as it can be read.
//!
//! Serde stops at its first error and does not say where it is. So the wrong key is found by trying, taken out, and reading
//! goes on: all problems of a section come together.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::messages::{Problem, is_meant, missing_key, plain};
use super::source_map::is_within;

/// Reads a value whose key is `path`; what is wrong with it goes to `problems`.
pub(crate) fn read_value<T: DeserializeOwned>(path: &str, mut value: Value, problems: &mut Vec<Problem>) -> Option<T> {
    read_in_part(path, &mut value, problems)
}

/// The same; leaves in `value` what could be read.
pub(super) fn read_in_part<T: DeserializeOwned>(
    path: &str,
    value: &mut Value,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    loop {
        let error = match read::<T>(value) {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        let place = wrong_place::<T>(value, &error);
        let key = place.iter().fold(path.to_owned(), |key, name| joined(&key, name));
        // A key that was taken out, or is misspelled, is missing now.
        let is_known = missing_key(&error).is_some_and(|missing| {
            let missed = joined(&key, missing);
            is_meant(missing, problems) || problems.iter().any(|problem| is_within(&problem.key, &missed))
        });
        if !is_known {
            problems.push(Problem::new(key, plain(&error)));
        }
        let (last, outer) = place.split_last()?;
        table_at(value, outer)?.remove(last);
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    value.clone().try_into().map_err(|error: toml::de::Error| error.message().trim_end().to_owned())
}

/// Keys that lead to the value, or to the table without a key, that the error is about.
fn wrong_place<T: DeserializeOwned>(value: &Value, error: &str) -> Vec<String> {
    let mut place = Vec::new();
    while let Some(key) = wrong_key::<T>(value, &place, error) {
        place.push(key);
    }
    place
}

/// The key to blame in the table at a place: with the keys before it there is another error. None if the table itself is
/// to blame.
fn wrong_key<T: DeserializeOwned>(value: &Value, place: &[String], error: &str) -> Option<String> {
    let mut value = value.clone();
    let table = std::mem::take(table_at(&mut value, place)?);
    let mut error_with = |part: Table| {
        *table_at(&mut value, place)? = part;
        read::<T>(&value).err()
    };
    if let Some(missing) = missing_key(error).filter(|missing| !table.contains_key(*missing)) {
        let mut filled = table.clone();
        filled.insert(missing.into(), Value::Boolean(true));
        let filled = error_with(filled).unwrap_or_default();
        if filled != error && !filled.starts_with("unknown field ") {
            return None;
        }
    }
    // What the other keys mean depends on the kind.
    let mut part: Table =
        table.get_key_value("kind").map(|(key, kind)| (key.clone(), kind.clone())).into_iter().collect();
    if error_with(part.clone()).as_deref() == Some(error) {
        let kind = table.get("kind")?;
        let is_wrong = kind.as_str().is_none_or(|kind| error.starts_with(&format!("unknown variant `{kind}`")));
        return is_wrong.then(|| "kind".into());
    }
    let others = table.into_iter().filter(|(key, _)| key != "kind");
    for (key, inner) in others {
        part.insert(key.clone(), inner);
        if error_with(part.clone()).as_deref() == Some(error) {
            return Some(key);
        }
    }
    None
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn table_at<'a>(value: &'a mut Value, place: &[String]) -> Option<&'a mut Table> {
    place.iter().try_fold(value, |value, key| value.get_mut(key))?.as_table_mut()
}

pub(crate) fn value_at<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let mut names = key.split('.');
    let first = table.get(names.next()?)?;
    names.try_fold(first, |value, name| value.as_table()?.get(name))
}

/// Puts a value at a dotted key; makes tables on the way, in place of what is no table.
pub(crate) fn put_at(table: &mut Table, key: &str, value: Value) {
    let Some((first, rest)) = key.split_once('.') else {
        table.insert(key.into(), value);
        return;
    };
    let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
    if !inner.is_table() {
        *inner = Value::Table(Table::new());
    }
    if let Some(inner) = inner.as_table_mut() {
        put_at(inner, rest, value);
    }
}
