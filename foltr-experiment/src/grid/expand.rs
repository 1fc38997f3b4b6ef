//! From a file with lists to plain tables: named axes first, then zipped lists, then every other list, all crossed.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use toml::{Table, Value};

use super::{AnyExperiment, MIMIC_SECTIONS, exclude};
use crate::read::messages::{is_unknown_key, no_such};
use crate::read::sections::SECTIONS;
use crate::read::{put_at, read_value, value_at};
use crate::spec::Problem;
use crate::study::COLLECTION_AXIS;

/// More settings than anybody can look at; a slip of the pen is refused before it fills the memory.
const MAX_SETTINGS: usize = 100_000;

/// Keys whose plain value is a list: they are swept by a list of lists.
const LISTS: [&str; 15] = [
    "seeds",
    "data.folds",
    "data.train",
    "data.validation",
    "data.test",
    "clients.quantities",
    "clients.absent",
    "unlearning.clients",
    "users.models",
    "metrics.offline",
    "metrics.evaluate_on",
    "supervision.runs",
    "teacher.hidden",
    "student.hidden",
    "aggregation",
];

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GridSection {
    /// Axis name -> keys whose lists advance together.
    zip: Table,
    /// Axis name -> label -> sections and keys that are replaced, and `remove`.
    axis: Table,
    /// Key -> value, of every setting, after all axes.
    set: Table,
    /// Axis -> labels: all other settings are left out. Without axes it only says that the file is run in part.
    only: Option<Table>,
    /// Points that match all conditions of one of these are left out.
    exclude: Vec<Table>,
}

#[derive(Clone, Debug, Default)]
pub struct Point {
    /// (axis, label), slowest first.
    pub labels: Vec<(String, String)>,
    pub table: Table,
    /// Key -> where in the file its value stands, for values that stand elsewhere than under their key.
    origins: BTreeMap<String, String>,
    /// Keys that end in `?`, with their values and where they stand: set when everything else is known.
    deferred: Vec<(String, Value, String)>,
    /// Before every place: where its document stands.
    prefix: String,
}

impl Point {
    pub fn place_of(&self, key: &str) -> String {
        let ends = [key.len()].into_iter().chain(key.rmatch_indices('.').map(|(end, _)| end));
        let moved = |end: usize| self.origins.get(&key[..end]).map(|origin| format!("{origin}{}", &key[end..]));
        format!("{}{}", self.prefix, ends.into_iter().find_map(moved).unwrap_or_else(|| key.into()))
    }

    /// Sets a key, now or, if it ends in `?`, when it is known whether its section has such a key.
    fn set(&mut self, key: &str, value: Value, origin: String) {
        match key.strip_suffix('?') {
            Some(key) => self.deferred.push((key.into(), value, origin)),
            None => self.put(key, value, origin),
        }
    }

    /// Sets the deferred keys that their sections know; `known` remembers which do.
    fn settle(&mut self, known: &mut HashMap<String, bool>) {
        for (key, value, origin) in std::mem::take(&mut self.deferred) {
            let section = key.rsplit_once('.').and_then(|(parent, _)| value_at(&self.table, parent));
            let is_known = match section.filter(|section| section.is_table()) {
                Some(section) => *known.entry(format!("{key} {section}")).or_insert_with(|| self.knows(&key, &value)),
                None => value_at(&self.table, &key).is_some(),
            };
            if is_known {
                self.put(&key, value, origin);
            }
        }
    }

    /// Whether a section that is there has such a key.
    fn knows(&self, key: &str, value: &Value) -> bool {
        let mut tried = self.table.clone();
        let one = value.as_array().filter(|list| is_swept(key, list)).map_or(value, |list| &list[0]);
        put_at(&mut tried, key, one.clone());
        let refuses = |problem: &Problem| problem.key == key && is_unknown_key(problem);
        !AnyExperiment::from_table(tried).is_err_and(|problems| problems.iter().any(refuses))
    }

    fn put(&mut self, key: &str, value: Value, origin: String) {
        self.origins.retain(|path, _| path != key && !path.starts_with(&format!("{key}.")));
        self.origins.insert(key.into(), origin);
        put_at(&mut self.table, key, value);
    }
}

/// All points of a document, and what is wrong with the `[grid]` section. Collections have documents of their own.
pub fn expand(document: Table) -> (Vec<Point>, Vec<Problem>) {
    let Some(documents) = value_at(&document, "grid.collection").and_then(Value::as_table) else {
        return expand_one(document);
    };
    let (mut points, mut problems) = (Vec::new(), Vec::new());
    for (name, document) in documents {
        let prefix = format!("grid.collection.{name}.");
        let (of_one, wrong) = expand_one(document.as_table().cloned().unwrap_or_default());
        for mut point in of_one {
            point.labels.insert(0, (COLLECTION_AXIS.into(), name.clone()));
            point.prefix.clone_from(&prefix);
            points.push(point);
        }
        problems.extend(wrong.into_iter().map(|it| Problem { key: format!("{prefix}{}", it.key), ..it }));
    }
    (points, problems)
}

/// A key without the place of its document.
pub fn own_key(path: &str) -> &str {
    let of_one = path.strip_prefix("grid.collection.").and_then(|rest| rest.split_once('.'));
    of_one.map_or(path, |(_, key)| key)
}

/// The points of one document, without those left out.
fn expand_one(mut document: Table) -> (Vec<Point>, Vec<Problem>) {
    let mut problems = Vec::new();
    let section = document.remove("grid").and_then(|value| read_value("grid", value, &mut problems));
    let section: GridSection = section.unwrap_or_default();
    let mut points = vec![Point { table: document, ..Point::default() }];
    for (axis, variants) in &section.axis {
        points = with_variants(points, axis, variants, &mut problems);
    }
    for (axis, keys) in &section.zip {
        points = with_zip(points, axis, keys, &mut problems);
    }
    let is_empty = |key: &str, list: &[Value]| list.is_empty() && !LISTS.contains(&key);
    if let Some(key) = points.first().and_then(|point| find_list("", &point.table, &is_empty)) {
        problems.push(Problem::new(key, "an empty list; name at least one value to try"));
        return (Vec::new(), problems);
    }
    for (key, value) in &section.set {
        points.iter_mut().for_each(|point| point.set(key, value.clone(), format!("grid.set.{key}")));
    }
    let mut crossed = cross_lists(points);
    if let Some(points) = &mut crossed {
        let mut known = HashMap::new();
        points.iter_mut().for_each(|point| point.settle(&mut known));
    }
    // A key that was set last may be a list.
    let Some(mut points) = crossed.and_then(cross_lists) else {
        problems.push(Problem::new("grid", format!("the lists make more than {MAX_SETTINGS} settings")));
        return (Vec::new(), problems);
    };
    exclude::exclude(&section.exclude, section.only.is_some(), &mut points, &mut problems);
    exclude::only(&section.only.unwrap_or_default(), &mut points, &mut problems);
    (points, problems)
}

/// Crosses every list; none if there are too many settings.
fn cross_lists(mut points: Vec<Point>) -> Option<Vec<Point>> {
    let swept = |point: &Point| find_list("", &point.table, &is_swept);
    while let Some((i, key)) = points.iter().enumerate().find_map(|(i, point)| Some((i, swept(point)?))) {
        points = with_list(points, i, &key);
        if points.len() > MAX_SETTINGS {
            return None;
        }
    }
    Some(points)
}

fn is_section(name: &str) -> bool {
    SECTIONS.contains(&name) || MIMIC_SECTIONS.contains(&name)
}

/// Crosses points with the labelled replacements of an axis.
fn with_variants(points: Vec<Point>, axis: &str, variants: &Value, problems: &mut Vec<Problem>) -> Vec<Point> {
    let key = format!("grid.axis.{axis}");
    let Some(variants) = variants.as_table().filter(|variants| !variants.is_empty()) else {
        let example = format!("[grid.axis.{axis}.some-label]");
        problems.push(Problem::new(key, format!("an axis has labels, each with its replacements: {example}")));
        return points;
    };
    let mut sound = true;
    for (label, replacements) in variants {
        let replaced = replacements.as_table();
        if replaced.is_none() {
            let message = "replacements are needed here, such as learner = { ... } or \"clients.interactions\" = 2";
            problems.push(Problem::new(format!("{key}.{label}"), message));
        }
        sound &= replaced.is_some();
        for name in replaced.into_iter().flatten().map(|(name, _)| name).filter(|name| *name != "remove") {
            let section = name.split('.').next().unwrap_or_default();
            if !is_section(section) {
                let allowed: Vec<&str> = SECTIONS.iter().chain(&["remove"]).copied().collect();
                problems.push(Problem::new(format!("{key}.{label}.{name}"), no_such("section", section, &allowed)));
                sound = false;
            }
        }
    }
    if !sound {
        return points;
    }
    let pairs = points.iter().flat_map(|point| variants.iter().map(move |variant| (point, variant)));
    pairs
        .map(|(point, (label, replacements))| {
            let mut point = point.clone();
            point.labels.push((axis.into(), label.clone()));
            for (name, value) in replacements.as_table().into_iter().flatten() {
                let place = format!("{key}.{label}.{name}");
                if name == "remove" {
                    remove_sections(&mut point.table, &place, value, problems);
                } else {
                    point.set(name, value.clone(), place);
                }
            }
            point
        })
        .collect()
}

fn remove_sections(table: &mut Table, place: &str, names: &Value, problems: &mut Vec<Problem>) {
    let names: Option<Vec<&str>> = names.as_array().and_then(|names| names.iter().map(|name| name.as_str()).collect());
    let Some(names) = names else {
        problems.push(Problem::new(place, "expected a list of section names, such as [\"federation\", \"clients\"]"));
        return;
    };
    for name in names {
        if !is_section(name) {
            problems.push(Problem::new(place, no_such("section", name, &SECTIONS)));
        }
        table.remove(name);
    }
}

/// Lets lists advance together. A point that has none of them is left as it is.
fn with_zip(points: Vec<Point>, axis: &str, keys: &Value, problems: &mut Vec<Problem>) -> Vec<Point> {
    let place = format!("grid.zip.{axis}");
    let keys: Option<Vec<&str>> = keys.as_array().and_then(|keys| keys.iter().map(Value::as_str).collect());
    let Some(keys) = keys.filter(|keys| keys.len() > 1) else {
        let message = "expected at least two keys, such as [\"privacy.epsilon\", \"privacy.sensitivity\"]";
        problems.push(Problem::new(place, message));
        return points;
    };
    let mut zipped = Vec::new();
    let mut wrong: Option<String> = None;
    let mut is_somewhere = false;
    for point in points {
        let lists: Vec<Option<Vec<Value>>> = keys.iter().map(|key| list_at(&point.table, key).cloned()).collect();
        is_somewhere |= lists.iter().any(Option::is_some);
        if lists.iter().all(Option::is_none) {
            zipped.push(point);
            continue;
        }
        // What a setting has not need not advance.
        let (keys, lists): (Vec<&str>, Vec<Option<Vec<Value>>>) =
            keys.iter().zip(lists).filter(|(key, _)| value_at(&point.table, key).is_some()).unzip();
        let lengths: Vec<usize> = lists.iter().map(|list| list.as_ref().map_or(0, Vec::len)).collect();
        if lengths.iter().any(|&length| length == 0 || length != lengths[0]) {
            let words: Vec<String> = keys.iter().zip(&lengths).map(|(key, n)| format!("{key} has {n}")).collect();
            wrong.get_or_insert(format!("lists that advance together need the same length: {}", words.join(", ")));
            continue;
        }
        let lists: Vec<Vec<Value>> = lists.into_iter().flatten().collect();
        for i in 0..lengths[0] {
            let mut next = point.clone();
            let labels: Vec<String> = lists.iter().map(|list| label_of(&list[i], list)).collect();
            next.labels.push((axis.into(), labels.join(" / ")));
            for (key, list) in keys.iter().zip(&lists) {
                let origin = format!("{}[{i}]", point.place_of(key));
                next.put(key, list[i].clone(), origin);
            }
            zipped.push(next);
        }
    }
    let nowhere = || (!is_somewhere).then(|| "none of these keys has a list".to_owned());
    if let Some(message) = wrong.or_else(nowhere) {
        problems.push(Problem::new(place, message));
    }
    zipped
}

/// Crosses the points from `first` on with a list, where they have it.
fn with_list(points: Vec<Point>, first: usize, key: &str) -> Vec<Point> {
    let mut crossed = Vec::new();
    for (i, point) in points.into_iter().enumerate() {
        let Some(list) = list_at(&point.table, key).filter(|_| i >= first) else {
            crossed.push(point);
            continue;
        };
        crossed.extend(list.iter().enumerate().map(|(k, value)| {
            let mut next = point.clone();
            next.labels.push((key.into(), label_of(value, list)));
            next.put(key, value.clone(), format!("{}[{k}]", point.place_of(key)));
            next
        }));
    }
    crossed
}

/// The first key, in the order of the file, whose list is meant.
fn find_list(prefix: &str, table: &Table, is_meant: &dyn Fn(&str, &[Value]) -> bool) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => find_list(&path, inner, is_meant),
            Value::Array(elements) if is_meant(&path, elements) => Some(path),
            _ => None,
        }
    })
}

/// Whether a list is a list of values to try. An empty list by nature is left for the checks to refuse.
fn is_swept(path: &str, elements: &[Value]) -> bool {
    let by_nature = LISTS.contains(&path);
    path != "seeds" && !elements.is_empty() && (!by_nature || elements.iter().all(Value::is_array))
}

fn list_at<'a>(table: &'a Table, key: &str) -> Option<&'a Vec<Value>> {
    let list = value_at(table, key)?.as_array()?;
    is_swept(key, list).then_some(list)
}

/// A value in a word: of tables the kind alone, if no other of its list has it.
pub fn label_of(value: &Value, all: &[Value]) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(elements) => {
            elements.iter().map(|element| label_of(element, elements)).collect::<Vec<_>>().join(" + ")
        }
        Value::Table(table) => {
            let kind = |value: &Value| value.get("kind").and_then(Value::as_str).map(str::to_owned);
            let same = all.iter().filter(|other| kind(other) == kind(value)).count();
            match kind(value) {
                Some(kind) if same == 1 => kind,
                // Lists inside become axes of their own.
                _ => {
                    let plain: Table =
                        table.iter().filter(|(_, v)| !v.is_array()).map(|(k, v)| (k.clone(), v.clone())).collect();
                    crate::spec::label(&plain)
                }
            }
        }
        other => other.to_string(),
    }
}
