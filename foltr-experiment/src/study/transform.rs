//! From a file and what is asked for to one document with a grid: values are set in the documented order.

use toml::{Table, Value};

use super::entry::Wanted;
use super::{Asked, COLLECTION_AXIS, Entry, StudyFile};
use crate::collection::ResolvedCollection;
use crate::grid::expand::{put_at, value_at};
use crate::grid::overrides;
use crate::spec::Problem;
use crate::spec::source_map::SourceMap;

type Resolved = Vec<(String, ResolvedCollection)>;

/// A document, where its keys stand, the collections in it, and `[choose]`.
pub(super) struct Transformed {
    pub document: Table,
    pub places: SourceMap,
    pub collections: Resolved,
    pub choose: Option<Value>,
}

pub(super) fn transform(file: &StudyFile, asked: &Asked<'_>) -> Result<Transformed, Vec<Problem>> {
    let entry = match asked.entry {
        None => None,
        Some(id) => {
            let known = file.entries.iter().find(|entry| entry.id == id);
            Some(known.ok_or_else(|| vec![Problem::new("entry", format!("no entry has the id `{id}`"))])?)
        }
    };
    let collections = entry.map(|entry| resolved(file, entry, asked.is_quick)).transpose()?.unwrap_or_default();
    let mut documents = Vec::new();
    for (name, collection) in &collections {
        documents.push(document(file, entry, Some((name, collection)), asked)?);
    }
    if documents.is_empty() {
        documents.push(document(file, entry, None, asked)?);
    }
    let choose: Vec<Option<Value>> = documents.iter_mut().map(|(document, _)| document.remove("choose")).collect();
    let (document, places) = joined(documents, &collections);
    Ok(Transformed { document, places, collections, choose: choose.into_iter().next().flatten() })
}

/// The collections of an entry that are at hand.
fn resolved(file: &StudyFile, entry: &Entry, is_quick: bool) -> Result<Resolved, Vec<Problem>> {
    let wanted = file.quick.collections.as_ref().filter(|_| is_quick);
    let all = || entry.collection.0.iter();
    let mut found: Resolved = Vec::new();
    for (name, collection) in all().filter_map(|name| Wanted::of(name).found()) {
        // Two collections may have the same stand-in.
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_owned(), collection));
        }
    }
    // An entry with other collections than those of [quick] has no smaller choice.
    if let Some(wanted) = wanted.filter(|wanted| found.iter().any(|(name, _)| wanted.contains(name))) {
        found.retain(|(name, _)| wanted.contains(name));
    }
    if found.is_empty() && all().next().is_some() {
        let message = "none of these collections is here; FOLTR_DATA names the folder with collections";
        let mut problems = vec![Problem::new(format!("entry[{}].collection", entry.idx), message)];
        problems.iter_mut().for_each(|problem| file.places.locate(problem, &problem.key.clone()));
        return Err(problems);
    }
    Ok(found)
}

/// The document on one collection.
fn document(
    file: &StudyFile,
    entry: Option<&Entry>,
    collection: Option<(&str, &ResolvedCollection)>,
    asked: &Asked<'_>,
) -> Result<(Table, SourceMap), Vec<Problem>> {
    let mut changed = Changed { document: file.document.clone(), places: file.places.clone(), file };
    let set_of = |table: &Table, name: &str| table.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
    if let Some((name, collection)) = collection {
        let data = collection.data().map_err(|error| vec![Problem::new("data", error.message())])?;
        changed.put_data(data, entry.map_or(0, |entry| entry.idx));
        changed.set_all(&set_of(&file.by_collection, name), &format!("collection.{name}"));
    }
    if let Some(entry) = entry {
        changed.set_all(&entry.set, &format!("entry[{}].set", entry.idx));
        changed.only(&entry.only, &format!("entry[{}].only", entry.idx));
    }
    if asked.is_quick {
        changed.set_all(&file.quick.set, "quick");
        changed.only(&file.quick.only, "quick.only");
        if let Some(folds) = &file.quick.folds {
            changed.put_folds(folds);
        }
        if let Some((name, _)) = collection {
            changed.set_all(&set_of(&file.quick.by_collection, name), &format!("quick.collection.{name}"));
        }
    }
    overrides::apply(asked.overrides, &mut changed.document, &mut changed.places)?;
    Ok((changed.document, changed.places))
}

/// A document while values are set.
struct Changed<'a> {
    document: Table,
    places: SourceMap,
    file: &'a StudyFile,
}

impl Changed<'_> {
    fn put_data(&mut self, data: Table, entry: usize) {
        self.document.insert("data".into(), Value::Table(data));
        self.places.copy("data", &format!("entry[{entry}].collection"), &self.file.places);
    }

    fn put_folds(&mut self, folds: &[usize]) {
        let Some(Value::Table(data)) = self.document.get_mut("data") else { return };
        if data.get("kind").and_then(Value::as_str) == Some("folder") {
            let folds = folds.iter().map(|&fold| Value::Integer(fold as i64)).collect();
            data.insert("folds".into(), Value::Array(folds));
            self.places.copy("data.folds", "quick.folds", &self.file.places);
        }
    }

    fn set_all(&mut self, set: &Table, origin: &str) {
        for (key, value) in set {
            let origin = format!("{origin}.{key}");
            if key.ends_with('?') {
                self.set_later(key, value, &origin);
            } else {
                put_at(&mut self.document, key, value.clone());
                self.places.copy(key, &origin, &self.file.places);
                self.set_in_axes(key, value, &origin);
            }
        }
    }

    /// A key is set after all axes where its section knows it: `grid.set`.
    fn set_later(&mut self, key: &str, value: &Value, origin: &str) {
        let Some(set) = table_in(&mut self.document, "grid").and_then(|grid| table_in(grid, "set")) else { return };
        // Later ones are last.
        set.remove(key);
        set.insert(key.into(), value.clone());
        self.places.copy(&format!("grid.set.{key}"), origin, &self.file.places);
    }

    /// An axis that replaces a whole section has the key in its replacement.
    fn set_in_axes(&mut self, key: &str, value: &Value, origin: &str) {
        let Some(Value::Table(axes)) = self.document.get_mut("grid").and_then(|grid| grid.get_mut("axis")) else {
            return;
        };
        for (axis, labels) in axes.iter_mut() {
            for (label, replacements) in labels.as_table_mut().into_iter().flatten() {
                for (name, inner) in replacements.as_table_mut().into_iter().flatten() {
                    let rest = key.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('.'));
                    let (Some(rest), Value::Table(inner)) = (rest, inner) else { continue };
                    if value_at(inner, rest).is_some() {
                        put_at(inner, rest, value.clone());
                        let place = format!("grid.axis.{axis}.{label}.{key}");
                        self.places.copy(&place, origin, &self.file.places);
                    }
                }
            }
        }
    }

    /// Settings that are run; exclusions then need not match any.
    fn only(&mut self, only: &Table, origin: &str) {
        if only.is_empty() && !self.document.contains_key("grid") {
            return;
        }
        let Some(grid) = table_in(&mut self.document, "grid") else { return };
        let Some(all) = table_in(grid, "only") else { return };
        for (axis, labels) in only {
            all.insert(axis.clone(), labels.clone());
            self.places.copy(&format!("grid.only.{axis}"), &format!("{origin}.{axis}"), &self.file.places);
        }
    }
}

/// The table at a key, made if there is none.
fn table_in<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    table.entry(key).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
}

/// Documents on several collections as one, in which each expands a grid of its own.
fn joined(mut documents: Vec<(Table, SourceMap)>, collections: &Resolved) -> (Table, SourceMap) {
    if documents.len() == 1 {
        return documents.swap_remove(0);
    }
    let mut places = documents[0].1.clone();
    let mut all = Table::new();
    for ((name, _), (document, of_one)) in collections.iter().zip(documents) {
        for key in document.keys() {
            places.copy(&format!("grid.{COLLECTION_AXIS}.{name}.{key}"), key, &of_one);
        }
        all.insert(name.clone(), Value::Table(document));
    }
    let grid = Table::from_iter([(COLLECTION_AXIS.to_owned(), Value::Table(all))]);
    (Table::from_iter([("grid".to_owned(), Value::Table(grid))]), places)
}
