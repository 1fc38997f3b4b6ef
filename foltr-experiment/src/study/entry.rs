//! `[[entry]]`, `[collection.NAME]` and `[quick]` as a file writes them.

use serde::Deserialize;
use toml::{Table, Value};

use super::blocks;
use crate::collection::{Collection, ResolvedCollection};
use crate::spec::Problem;
use crate::spec::source::{no_such, read_value};

/// One name, or a list of them.
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
    /// Whether a name is among them, or none is asked for.
    pub fn allow(&self, name: Option<&str>) -> bool {
        self.0.is_empty() || name.is_some_and(|name| self.0.iter().any(|known| known == name))
    }
}

/// `NAME`, `NAME or OTHER` (where the first would be generated) or `NAME?` (left out where it would be).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    Always(&'a str),
    Or(&'a str, &'a str),
    IfReal(&'a str),
}

impl<'a> Wanted<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        match (text.split_once(" or "), text.strip_suffix('?')) {
            (Some((first, other)), _) => Self::Or(first.trim(), other.trim()),
            (None, Some(name)) => Self::IfReal(name),
            (None, None) => Self::Always(text),
        }
    }

    pub(super) fn names(self) -> Vec<&'a str> {
        match self {
            Self::Always(name) | Self::IfReal(name) => vec![name],
            Self::Or(first, other) => vec![first, other],
        }
    }

    /// The collection that is used, by its name.
    pub(super) fn found(self) -> Option<(&'a str, ResolvedCollection)> {
        let find = |name: &'a str| {
            let collection = Collection::named(name)?;
            collection.is_at_hand().then(|| (name, collection.find()))
        };
        match self {
            Self::Always(name) => find(name),
            Self::IfReal(name) => find(name).filter(|(_, found)| found.is_real),
            Self::Or(first, other) => find(first).filter(|(_, found)| found.is_real).or_else(|| find(other)),
        }
    }
}

/// What `foltr reproduce` runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub id: String,
    /// Key in PAPERS.md, or `foltr`.
    pub paper: String,
    pub item: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub collection: Names,
    /// Values in place of those in the file.
    #[serde(default)]
    pub set: Table,
    /// Axis -> labels: the entry needs no other settings.
    #[serde(default)]
    pub only: Table,
    /// Its index in the file.
    #[serde(skip)]
    pub idx: usize,
}

/// `[quick]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Quick {
    /// Key -> value.
    pub set: Table,
    pub only: Table,
    /// Of real collections.
    pub folds: Option<Vec<usize>>,
    pub collections: Option<Vec<String>>,
    /// Collection -> key -> value.
    pub by_collection: Table,
}

pub(super) fn entries(value: Option<Value>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (idx, block) in blocks("entry", value, problems).iter().enumerate() {
        let Some(mut entry) = block.read::<Entry>(problems) else { continue };
        entry.idx = idx;
        let names = entry.collection.0.iter().flat_map(|wanted| Wanted::of(wanted).names());
        for name in names.filter(|name| Collection::named(name).is_none()) {
            problems.push(unknown_collection(&format!("{}.collection", block.place), name));
        }
        if entries.iter().any(|known| known.id == entry.id) {
            problems.push(Problem::new(format!("{}.id", block.place), "another entry has this id"));
        }
        entries.push(entry);
    }
    entries
}

fn unknown_collection(key: &str, name: &str) -> Problem {
    let names = Collection::keys();
    Problem::new(key, no_such("collection", name, &names))
}

pub(super) fn by_collection(value: Option<Value>, problems: &mut Vec<Problem>) -> Table {
    sets_of_collections("collection", value, problems)
}

fn sets_of_collections(place: &str, value: Option<Value>, problems: &mut Vec<Problem>) -> Table {
    let Some(value) = value else { return Table::new() };
    let Value::Table(table) = value else {
        problems.push(Problem::new(place, format!("expected sections such as [{place}.mq2007]")));
        return Table::new();
    };
    for (name, set) in &table {
        let key = format!("{place}.{name}");
        if Collection::named(name).is_none() {
            problems.push(unknown_collection(&key, name));
        } else if !set.is_table() {
            problems.push(Problem::new(key, "expected keys with values, such as \"data.normalise\" = \"query\""));
        }
    }
    table
}

pub(super) fn quick(value: Option<Value>, problems: &mut Vec<Problem>) -> Quick {
    let Some(value) = value else { return Quick::default() };
    let Value::Table(mut set) = value else {
        problems.push(Problem::new("quick", "expected a section [quick]"));
        return Quick::default();
    };
    let by_collection = sets_of_collections("quick.collection", set.remove("collection"), problems);
    let folds = set.remove("folds").and_then(|value| read_value("quick.folds", value, problems));
    let only = set.remove("only").and_then(|value| read_value("quick.only", value, problems)).unwrap_or_default();
    let collections: Option<Names> =
        set.remove("collections").and_then(|value| read_value("quick.collections", value, problems));
    for name in collections.iter().flat_map(|names| &names.0).filter(|name| Collection::named(name).is_none()) {
        problems.push(unknown_collection("quick.collections", name));
    }
    Quick { set, only, folds, collections: collections.map(|names| names.0), by_collection }
}
