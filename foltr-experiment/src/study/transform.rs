//! From a file and what is asked for to one document with a grid: values are set in the documented order.

use toml::{Table, Value};

use super::{Asked, COLLECTION_AXIS, Entry, StudyFile, entry};
use crate::collection::ResolvedCollection;
use crate::read::{Document, SourceMap, put_at, value_at};
use crate::spec::Problem;

type Collections = Vec<(String, ResolvedCollection)>;

pub(super) struct Transformed {
    pub document: Document,
    pub collections: Collections,
    pub choose: Option<Value>,
}

pub(super) fn transform(file: &StudyFile, asked: &Asked<'_>) -> Result<Transformed, Vec<Problem>> {
    let unknown = |id: &str| vec![Problem::new("entry", format!("no entry has the id `{id}`"))];
    let entry = asked.entry.map(|id| file.entry(id).ok_or_else(|| unknown(id))).transpose()?;
    let collections = entry.map_or(Ok(Vec::new()), |entry| collections(file, entry, asked.is_quick))?;
    let mut documents = Vec::new();
    for (name, collection) in &collections {
        documents.push(document(file, entry, Some((name, collection)), asked)?);
    }
    if documents.is_empty() {
        documents.push(document(file, entry, None, asked)?);
    }
    let choose: Vec<_> = documents.iter_mut().map(|document| document.table.remove("choose")).collect();
    let document = joined(documents, &collections);
    Ok(Transformed { document, collections, choose: choose.into_iter().next().flatten() })
}

/// The collections of an entry that are at hand.
fn collections(file: &StudyFile, entry: &Entry, is_quick: bool) -> Result<Collections, Vec<Problem>> {
    let mut all: Collections = Vec::new();
    for (name, collection) in entry.collection.0.iter().filter_map(|choice| entry::resolve(choice)) {
        // Two collections may have the same stand-in.
        if !all.iter().any(|(known, _)| known == name) {
            all.push((name.to_owned(), collection));
        }
    }
    let is_small = |(name, _): &(String, _)| file.quick.collections.0.contains(name);
    // An entry with other collections than those of [quick] has no smaller choice.
    if is_quick && all.iter().any(is_small) {
        all.retain(is_small);
    }
    // What lacks other files is not run at all.
    if all.is_empty() && !entry.collection.0.is_empty() && entry.missing().is_none() {
        let message = "none of these collections is here; FOLTR_DATA names the folder with collections";
        let problem = Problem::new(format!("entry[{}].collection", entry.idx), message);
        return Err(file.document.places.locate_all(vec![problem]));
    }
    Ok(all)
}

fn document(
    file: &StudyFile,
    entry: Option<&Entry>,
    collection: Option<(&str, &ResolvedCollection)>,
    asked: &Asked<'_>,
) -> Result<Document, Vec<Problem>> {
    let mut changes = Changes { document: file.document.clone(), file: &file.document.places };
    let own = |sets: &Table, name: &str| sets.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
    if let Some((name, collection)) = collection {
        let origin = format!("entry[{}].collection", entry.map_or(0, |entry| entry.idx));
        changes.put("data", Value::Table(collection.data.clone()), &origin);
        changes.set_all(&own(&file.by_collection, name), &format!("collection.{name}"));
    }
    if let Some(entry) = entry {
        changes.set_all(&entry.set, &format!("entry[{}].set", entry.idx));
        changes.only(&entry.only, &format!("entry[{}].only", entry.idx));
    }
    if asked.is_quick {
        changes.set_all(&file.quick.set, "quick");
        changes.only(&file.quick.only, "quick.only");
        let is_folder = value_at(&changes.document.table, "data.kind").and_then(Value::as_str) == Some("folder");
        if let Some(folds) = file.quick.folds.as_ref().filter(|_| is_folder) {
            let folds = folds.iter().map(|&fold| Value::Integer(fold as i64)).collect();
            changes.put("data.folds", Value::Array(folds), "quick.folds");
        }
        if let Some((name, _)) = collection {
            changes.set_all(&own(&file.quick.collection, name), &format!("quick.collection.{name}"));
        }
    }
    changes.document.replace(asked.overrides)?;
    Ok(changes.document)
}

struct Changes<'a> {
    document: Document,
    file: &'a SourceMap,
}

impl Changes<'_> {
    fn put(&mut self, key: &str, value: Value, origin: &str) {
        put_at(&mut self.document.table, key, value);
        self.document.places.copy(key, origin, self.file);
    }

    fn set_all(&mut self, set: &Table, origin: &str) {
        for (key, value) in set {
            let origin = format!("{origin}.{key}");
            if key.ends_with('?') {
                self.set_later(key, value, &origin);
            } else {
                self.put(key, value.clone(), &origin);
                self.set_in_axes(key, value, &origin);
            }
        }
    }

    /// A key is set after all axes where its section knows it: `grid.set`.
    fn set_later(&mut self, key: &str, value: &Value, origin: &str) {
        let Some(set) = self.table_of_grid("set") else { return };
        // Later ones are last.
        set.remove(key);
        set.insert(key.into(), value.clone());
        self.document.places.copy(&format!("grid.set.{key}"), origin, self.file);
    }

    /// An axis that replaces a whole section has the key in its replacement.
    fn set_in_axes(&mut self, key: &str, value: &Value, origin: &str) {
        let Some(Value::Table(axes)) = self.document.table.get_mut("grid").and_then(|grid| grid.get_mut("axis")) else {
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
                        self.document.places.copy(&place, origin, self.file);
                    }
                }
            }
        }
    }

    /// Settings that are run; exclusions then need not match any.
    fn only(&mut self, only: &Table, origin: &str) {
        if only.is_empty() && !self.document.table.contains_key("grid") {
            return;
        }
        let Some(all) = self.table_of_grid("only") else { return };
        all.extend(only.clone());
        for axis in only.keys() {
            self.document.places.copy(&format!("grid.only.{axis}"), &format!("{origin}.{axis}"), self.file);
        }
    }

    fn table_of_grid(&mut self, key: &str) -> Option<&mut Table> {
        let new = || Value::Table(Table::new());
        let grid = self.document.table.entry("grid").or_insert_with(new).as_table_mut()?;
        grid.entry(key).or_insert_with(new).as_table_mut()
    }
}

/// Documents on several collections as one, in which each expands a grid of its own.
fn joined(mut documents: Vec<Document>, collections: &Collections) -> Document {
    if documents.len() == 1 {
        return documents.swap_remove(0);
    }
    let mut joined = Document { table: Table::new(), places: documents[0].places.clone() };
    for ((name, _), document) in collections.iter().zip(documents) {
        let place = format!("grid.{COLLECTION_AXIS}.{name}");
        for (key, value) in document.table {
            joined.places.copy(&format!("{place}.{key}"), &key, &document.places);
            put_at(&mut joined.table, &format!("{place}.{key}"), value);
        }
    }
    joined
}
