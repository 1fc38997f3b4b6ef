//! From the text of an experiment file to settings, and everything that is wrong on the way, with its line.

pub(crate) mod messages;
mod numbers;
pub(crate) mod sections;
mod source_map;
mod value;

use serde::Deserialize;
use toml::de::{DeTable, Deserializer};
use toml::{Table, Value};

pub use messages::{Problem, SpecError, choice};
pub use source_map::SourceMap;
pub(crate) use value::{put_at, read_value, value_at};

/// The values of a file, and where each of them stands.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub table: Table,
    pub places: SourceMap,
}

impl Document {
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let (parsed, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors
                .iter()
                .take(messages::MOST_PROBLEMS + 1)
                .map(|error| messages::syntax_error(text, error))
                .collect());
        }
        let places = SourceMap::of(text, parsed.get_ref());
        let too_large = numbers::too_large(parsed.get_ref());
        if !too_large.is_empty() {
            return Err(places.locate_all(too_large));
        }
        let table = Table::deserialize(Deserializer::from(parsed));
        let table = table.map_err(|error| vec![Problem::new("file", error.message())])?;
        Ok(Self { table, places })
    }

    /// Replaces values by those of the command line: `key=value`. What is not TOML is text.
    pub fn replace(&mut self, overrides: &[String]) -> Result<(), Vec<Problem>> {
        let results = overrides
            .iter()
            .map(|text| self.replace_one(text).map_err(|message| Problem::new(format!("--set {text}"), message)));
        let problems: Vec<Problem> = results.filter_map(Result::err).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn replace_one(&mut self, text: &str) -> Result<(), String> {
        let (key, value) = text.split_once('=').map(|(key, value)| (key.trim(), value.trim())).unwrap_or_default();
        if key.is_empty() {
            return Err("expected key=value, such as users.preset=perfect or clients.interactions=[2,4,8]".into());
        }
        let outer = key.match_indices('.').map(|(end, _)| &key[..end]);
        let is_blocked = |outer: &&str| value_at(&self.table, outer).is_some_and(|value| !value.is_table());
        if let Some(outer) = outer.into_iter().find(is_blocked) {
            return Err(format!("`{outer}` is no table in this file; replace it as a whole: --set '{outer}=...'"));
        }
        let parsed = match Self::parse(&format!("value = {value}")) {
            Ok(mut document) if document.table.len() == 1 => document.table.remove("value"),
            Err(problems) if numbers::is_too_large(&problems) => return Err(problems[0].message.clone()),
            _ => None,
        };
        put_at(&mut self.table, key, parsed.unwrap_or_else(|| Value::String(value.into())));
        self.places.replace(key, value);
        Ok(())
    }
}
