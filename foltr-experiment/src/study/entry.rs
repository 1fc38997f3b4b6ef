//! `[[entry]]`, `[collection.NAME]` and `[quick]` as a file writes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};

use super::blocks;
use crate::collection::{Collection, ResolvedCollection};
use crate::data;
use crate::read::messages::no_such;
use crate::read::read_value;
use crate::spec::Problem;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Names(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Names {
    fn from(names: OneOrMany) -> Self {
        match names {
            OneOrMany::One(name) => Self(vec![name]),
            OneOrMany::Many(names) => Self(names),
        }
    }
}

impl Names {
    /// Whether a name is among them, or there are none.
    pub fn allow(&self, name: Option<&str>) -> bool {
        self.0.is_empty() || name.is_some_and(|name| self.0.iter().any(|known| known == name))
    }
}

/// What `foltr reproduce` runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub id: String,
    /// Key in PAPERS.md, or `foltr`.
    pub paper: String,
    pub item: String,
    #[serde(default)]
    pub title: String,
    /// Each `NAME`, `NAME or OTHER` (where the first would be generated) or `NAME?` (left out where it would be).
    #[serde(default)]
    pub collection: Names,
    /// Values in place of those in the file.
    #[serde(default)]
    pub set: Table,
    /// Axis -> labels: the entry needs no other settings.
    #[serde(default)]
    pub only: Table,
    /// Files without which it is left out, here or below the folder with data sets, and what makes them.
    #[serde(default)]
    pub needs: BTreeMap<PathBuf, String>,
    #[serde(skip)]
    pub idx: usize,
}

impl Entry {
    /// In a sentence: files that it needs and that are not here.
    pub fn missing(&self) -> Option<String> {
        let missing = self.needs.iter().filter(|(file, _)| data::resolve_path(file).is_err());
        let sentences: Vec<String> = missing.map(|(file, how)| format!("{} ({how})", file.display())).collect();
        (!sentences.is_empty()).then(|| format!("left out, because it needs {}", sentences.join(" and ")))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Quick {
    pub only: Table,
    /// Of real collections.
    pub folds: Option<Vec<usize>>,
    pub collections: Names,
    /// Collection -> key -> value.
    pub collection: Table,
    #[serde(flatten)]
    pub set: Table,
}

pub(super) fn entries(value: Option<Value>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (idx, block) in blocks("entry", value, problems).iter().enumerate() {
        let Some(mut entry) = block.read::<Entry>(problems) else { continue };
        entry.idx = idx;
        let names = entry.collection.0.iter().flat_map(|choice| names_in(choice));
        check_names(&format!("{}.collection", block.place), names, problems);
        if entries.iter().any(|known| known.id == entry.id) {
            problems.push(Problem::new(format!("{}.id", block.place), "another entry has this id"));
        }
        entries.push(entry);
    }
    entries
}

pub(super) fn by_collection(value: Option<Value>, problems: &mut Vec<Problem>) -> Table {
    let table = value.and_then(|value| read_value("collection", value, problems)).unwrap_or_default();
    check_sets("collection", &table, problems);
    table
}

pub(super) fn quick(value: Option<Value>, problems: &mut Vec<Problem>) -> Quick {
    let quick: Quick = value.and_then(|value| read_value("quick", value, problems)).unwrap_or_default();
    check_names("quick.collections", quick.collections.0.iter().map(String::as_str), problems);
    check_sets("quick.collection", &quick.collection, problems);
    quick
}

fn check_names<'a>(key: &str, names: impl Iterator<Item = &'a str>, problems: &mut Vec<Problem>) {
    for name in names.filter(|name| Collection::named(name).is_none()) {
        let message = no_such("collection", name, &Collection::keys());
        problems.push(Problem::new(key, message));
    }
}

fn check_sets(place: &str, sets: &Table, problems: &mut Vec<Problem>) {
    for (name, set) in sets {
        let key = format!("{place}.{name}");
        check_names(&key, [name.as_str()].into_iter(), problems);
        if !set.is_table() {
            problems.push(Problem::new(key, "expected keys with values, such as \"data.normalise\" = \"query\""));
        }
    }
}

/// The names of an entry's choice of a collection.
fn names_in(choice: &str) -> impl Iterator<Item = &str> {
    choice.trim_end_matches('?').split(" or ").map(str::trim)
}

/// The first collection of a choice that is real, else what is generated for the last, unless that is optional.
pub(super) fn resolve(choice: &str) -> Option<(&str, ResolvedCollection)> {
    let mut at_hand = names_in(choice).filter_map(|name| Some((name, Collection::named(name)?.find()?)));
    let last = names_in(choice).last();
    at_hand.find(|(name, data)| data.is_real || Some(*name) == last && !choice.ends_with('?'))
}
