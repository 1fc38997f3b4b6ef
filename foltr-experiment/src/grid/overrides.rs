//! `--set key=value`: a value from the command line in place of that in the file.

use toml::{Table, Value};

use crate::spec::Problem;
use crate::spec::source_map::SourceMap;

/// Replaces values of a document, one `key=value` after the other. What is not TOML is text.
///
/// # Errors
/// One problem for every override that is not `key=value`, or whose key leads through something that is no table.
pub fn apply(overrides: &[String], document: &mut Table, places: &mut SourceMap) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for text in overrides {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                let (key, value) = (key.trim(), value.trim());
                match put(document, key, parsed(value)) {
                    Ok(()) => places.replace(key, value),
                    Err(message) => problems.push(Problem::new(format!("--set {text}"), message)),
                }
            }
            _ => {
                let message = "expected key=value, such as users.preset=perfect or clients.interactions=[2,4,8]";
                problems.push(Problem::new(format!("--set {text}"), message));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn parsed(value: &str) -> Value {
    let as_toml = toml::from_str::<Table>(&format!("value = {value}")).ok();
    let one_value = as_toml.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    one_value.unwrap_or_else(|| Value::String(value.into()))
}

fn put(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let Some((first, rest)) = key.split_once('.') else {
        table.insert(key.into(), value);
        return Ok(());
    };
    match table.entry(first).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => put(inner, rest, value),
        _ => Err(format!("`{first}` is no table in this file; replace it as a whole: --set '{first}=...'")),
    }
}
