//! The resolved experiment file: what was asked for, with every default that all settings share filled in.

use toml::{Table, Value};

use super::Grid;

impl Grid {
    /// The file as TOML, after overrides, with the defaults that all settings share. It can be run again.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut document = self.document.clone();
        if document.contains_key(super::SETTINGS) {
            return toml::to_string(&document);
        }
        let settings: Result<Vec<Table>, _> =
            self.settings.iter().map(|setting| Table::try_from(&setting.experiment)).collect();
        if let Some((first, others)) = settings?.split_first() {
            fill(&mut document, first, &others.iter().collect::<Vec<_>>());
        }
        // What was filled in may be a table before a plain value.
        toml::to_string(&sorted(document))
    }
}

/// Puts into `document` what is missing there but the same in all settings.
fn fill(document: &mut Table, first: &Table, others: &[&Table]) {
    for (key, value) in first {
        match (document.get_mut(key), value) {
            (None, _) if others.iter().all(|other| other.get(key) == Some(value)) => {
                document.insert(key.clone(), value.clone());
            }
            (Some(Value::Table(inner)), Value::Table(value)) => {
                let inside: Option<Vec<&Table>> =
                    others.iter().map(|other| other.get(key).and_then(Value::as_table)).collect();
                if let Some(inside) = inside {
                    fill(inner, value, &inside);
                }
            }
            _ => {}
        }
    }
}

/// Tables after everything else, at every depth, as TOML wants it.
pub(super) fn sorted(table: Table) -> Table {
    let is_table = |value: &Value| {
        value.is_table() || value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_table))
    };
    let (tables, plain): (Vec<_>, Vec<_>) = table.into_iter().partition(|(_, value)| is_table(value));
    let deeper = |(key, value)| match value {
        Value::Table(inner) => (key, Value::Table(sorted(inner))),
        other => (key, other),
    };
    plain.into_iter().chain(tables.into_iter().map(deeper)).collect()
}
