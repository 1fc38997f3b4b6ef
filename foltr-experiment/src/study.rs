//! A study: an experiment file that also says what should come out.
//!
//! Its sections `[quick]`, `[[entry]]`, `[collection.NAME]` and `[choose]` change the document before its grid expands;
//! `[[expect]]` and `[[figure]]` are read by who judges the results (`docs/expectations.md`).

mod choose;
mod entry;
mod transform;

use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::collection::ResolvedCollection;
use crate::grid::Grid;
use crate::read::{Document, SourceMap, read_value};
use crate::spec::{Problem, SpecError};

pub use crate::read::messages::no_such;
pub use choose::{Choose, Chosen, chosen_csv};
pub use entry::{Entry, Names};
use transform::Transformed;

/// Sections that are not about one setting.
pub const STUDY_KEYS: [&str; 6] = ["quick", "entry", "collection", "choose", "expect", "figure"];

pub const COLLECTION_AXIS: &str = "collection";

/// A file, read but not expanded.
#[derive(Clone, Debug)]
pub struct StudyFile {
    pub entries: Vec<Entry>,
    expectations: Vec<Block>,
    figures: Vec<Block>,
    quick: entry::Quick,
    /// Collection -> key -> value.
    by_collection: Table,
    document: Document,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Of `[[entry]]`; the file's own `[data]` without one.
    pub entry: Option<&'a str>,
    pub is_quick: bool,
    pub overrides: &'a [String],
}

/// A file as one of its entries asks for it.
#[derive(Clone, Debug)]
pub struct Study {
    pub grid: Grid,
    pub entry: Option<Entry>,
    pub entry_ids: Vec<String>,
    pub is_quick: bool,
    /// By name; empty without an entry.
    pub collections: Vec<(String, ResolvedCollection)>,
    pub choose: Option<Choose>,
    pub expectations: Vec<Block>,
    pub figures: Vec<Block>,
    /// The grid without `[quick]`: what expectations may name.
    pub whole: Grid,
    places: SourceMap,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Such as `expect[2]`.
    pub place: String,
    table: Table,
}

impl Block {
    pub fn read<T: DeserializeOwned>(&self, problems: &mut Vec<Problem>) -> Option<T> {
        read_value(&self.place, Value::Table(self.table.clone()), problems)
    }
}

impl StudyFile {
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        SpecError::reading(path, Self::from_toml)
    }

    pub fn from_toml(text: &str) -> Result<Self, Vec<Problem>> {
        let mut document = Document::parse(text)?;
        let table = &mut document.table;
        let mut problems = Vec::new();
        let expectations = blocks("expect", table.remove("expect"), &mut problems);
        let figures = blocks("figure", table.remove("figure"), &mut problems);
        let entries = entry::entries(table.remove("entry"), &mut problems);
        let by_collection = entry::by_collection(table.remove("collection"), &mut problems);
        let quick = entry::quick(table.remove("quick"), &mut problems);
        if problems.is_empty() {
            return Ok(Self { entries, expectations, figures, quick, by_collection, document });
        }
        Err(document.places.locate_all(problems))
    }

    /// The study of an entry, or of the file's own `[data]`.
    pub fn study(&self, asked: &Asked<'_>) -> Result<Study, Vec<Problem>> {
        let Transformed { document, collections, choose } = transform::transform(self, asked)?;
        let mut problems = Vec::new();
        let choose: Option<Choose> = choose.and_then(|value| read_value("choose", value, &mut problems));
        let grid = Grid::from_document(&document)?;
        let whole = if asked.is_quick {
            Grid::from_document(&transform::transform(self, &Asked { is_quick: false, ..*asked })?.document)?
        } else {
            grid.clone()
        };
        problems.extend(choose.iter().flat_map(|choose| choose.check(&grid)));
        if !problems.is_empty() {
            return Err(document.places.locate_all(problems));
        }
        Ok(Study {
            grid,
            entry: asked.entry.and_then(|id| self.entry(id)).cloned(),
            entry_ids: self.entries.iter().map(|entry| entry.id.clone()).collect(),
            is_quick: asked.is_quick,
            collections,
            choose,
            expectations: self.expectations.clone(),
            figures: self.figures.clone(),
            whole,
            places: document.places,
        })
    }

    fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }
}

impl Study {
    /// Problems with their lines, in the order of the file.
    pub fn located(&self, problems: Vec<Problem>) -> Vec<Problem> {
        self.places.locate_all(problems)
    }

    /// The data of a collection's name; of the only one when there is none.
    pub fn collection(&self, name: Option<&str>) -> Option<&(String, ResolvedCollection)> {
        match name {
            Some(name) => self.collections.iter().find(|(known, _)| known == name),
            None => self.collections.first(),
        }
    }
}

fn blocks(key: &str, value: Option<Value>, problems: &mut Vec<Problem>) -> Vec<Block> {
    let tables = match value {
        None => return Vec::new(),
        Some(Value::Array(tables)) if tables.iter().all(Value::is_table) => tables,
        Some(_) => {
            problems.push(Problem::new(key, format!("expected sections with two brackets: [[{key}]]")));
            return Vec::new();
        }
    };
    let block = |(i, table): (usize, Value)| {
        let Value::Table(table) = table else { return None };
        Some(Block { place: format!("{key}[{i}]"), table })
    };
    tables.into_iter().enumerate().filter_map(block).collect()
}

#[cfg(test)]
mod tests;
