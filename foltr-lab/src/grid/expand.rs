//! From a file with lists to plain tables: named axes first, then zipped lists, then every other list, all crossed.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::exclude;
use super::section::GridSection;
use crate::spec::Problem;
use crate::spec::source::{SECTIONS, no_such, read_value};

/// More settings than anybody can look at; a slip of the pen is told before it fills the memory.
const MAX_SETTINGS: usize = 100_000;

/// Keys whose plain value is a list: they are swept by a list of lists.
const LISTS: [&str; 11] = [
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
];

/// One point of the grid, before it is read.
#[derive(Clone, Debug)]
pub struct Point {
    /// (axis, label), slowest first.
    pub labels: Vec<(String, String)>,
    /// A plain experiment.
    pub table: Table,
    /// Key -> where in the file its value stands, for values that stand elsewhere than under their key.
    origins: BTreeMap<String, String>,
}

impl Point {
    /// Where in the file the value of a key stands.
    pub fn place_of(&self, key: &str) -> String {
        let mut outer = key;
        loop {
            if let Some(origin) = self.origins.get(outer) {
                return format!("{origin}{}", &key[outer.len()..]);
            }
            match outer.rfind('.') {
                Some(end) => outer = &outer[..end],
                None => return key.into(),
            }
        }
    }

    /// All labels in one line.
    pub fn name(&self) -> String {
        self.labels.iter().map(|(axis, label)| format!("{axis} = {label}")).collect::<Vec<_>>().join(", ")
    }

    fn put(&mut self, key: &str, value: Value, origin: String) {
        self.origins.retain(|path, _| path != key && !path.starts_with(&format!("{key}.")));
        self.origins.insert(key.into(), origin);
        put_at(&mut self.table, key, value);
    }
}

/// All points of a document, without those left out, and what is wrong with the `[grid]` section.
pub fn expand(mut document: Table) -> (Vec<Point>, Vec<Problem>) {
    let mut problems = Vec::new();
    let section = document.remove("grid").and_then(|value| read_value("grid", value, &mut problems));
    let section: GridSection = section.unwrap_or_default();
    let mut points = vec![Point { labels: Vec::new(), table: document, origins: BTreeMap::new() }];
    for (axis, variants) in &section.axis {
        points = with_variants(points, axis, variants, &mut problems);
    }
    for (axis, keys) in &section.zip {
        points = with_zip(points, axis, keys, &mut problems);
    }
    for point in points.iter().take(1) {
        if let Some(key) = empty_list("", &point.table) {
            problems.push(Problem::new(key, "an empty list; name at least one value to try"));
            return (Vec::new(), problems);
        }
    }
    while let Some(i) = points.iter().position(|point| first_list("", &point.table).is_some()) {
        points = with_list(points, i);
        if points.len() > MAX_SETTINGS {
            problems.push(Problem::new("grid", format!("the lists make more than {MAX_SETTINGS} settings")));
            return (Vec::new(), problems);
        }
    }
    exclude::exclude(&section.exclude, &mut points, &mut problems);
    (points, problems)
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
            if !SECTIONS.contains(&section) || section == "seeds" {
                let allowed: Vec<&str> = SECTIONS[1..].iter().chain(&["remove"]).copied().collect();
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
                    point.put(name, value.clone(), place);
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
        if !SECTIONS.contains(&name) {
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
    let mut told: Option<String> = None;
    let mut somewhere = false;
    for point in points {
        let lists: Vec<Option<Vec<Value>>> = keys.iter().map(|key| list_at(&point.table, key).cloned()).collect();
        somewhere |= lists.iter().any(Option::is_some);
        if lists.iter().all(Option::is_none) {
            zipped.push(point);
            continue;
        }
        let lengths: Vec<usize> = lists.iter().map(|list| list.as_ref().map_or(0, Vec::len)).collect();
        if lengths.iter().any(|&length| length == 0 || length != lengths[0]) {
            let words: Vec<String> = keys.iter().zip(&lengths).map(|(key, n)| format!("{key} has {n}")).collect();
            told.get_or_insert(format!("lists that advance together need the same length: {}", words.join(", ")));
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
    let nowhere = || (!somewhere).then(|| "none of these keys has a list".to_owned());
    if let Some(message) = told.or_else(nowhere) {
        problems.push(Problem::new(place, message));
    }
    zipped
}

/// Crosses the points from `i` on with the first list that point `i` has, where they have it too.
fn with_list(points: Vec<Point>, i: usize) -> Vec<Point> {
    let key = first_list("", &points[i].table).unwrap_or_default();
    let mut crossed = Vec::new();
    for (idx, point) in points.into_iter().enumerate() {
        let list = if idx < i { None } else { list_at(&point.table, &key).cloned() };
        let Some(list) = list else {
            crossed.push(point);
            continue;
        };
        for (k, value) in list.iter().enumerate() {
            let mut next = point.clone();
            next.labels.push((key.clone(), label_of(value, &list)));
            let origin = format!("{}[{k}]", point.place_of(&key));
            next.put(&key, value.clone(), origin);
            crossed.push(next);
        }
    }
    crossed
}

/// The first key, in the order of the file, that is swept.
fn first_list(prefix: &str, table: &Table) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => first_list(&path, inner),
            Value::Array(elements) if is_swept(&path, elements) => Some(path),
            _ => None,
        }
    })
}

/// A key that is swept over nothing.
fn empty_list(prefix: &str, table: &Table) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => empty_list(&path, inner),
            Value::Array(elements) if elements.is_empty() && !LISTS.contains(&path.as_str()) => Some(path),
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

/// The value of a dotted key.
pub fn value_at<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let mut names = key.split('.');
    let first = table.get(names.next()?)?;
    names.try_fold(first, |value, name| value.as_table()?.get(name))
}

/// Puts a value at a dotted key; makes tables on the way, in place of what is no table.
fn put_at(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.into(), value);
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if !inner.is_table() {
                *inner = Value::Table(Table::new());
            }
            if let Some(inner) = inner.as_table_mut() {
                put_at(inner, rest, value);
            }
        }
    }
}

/// A value in a word: of tables the kind alone, if that tells it from the others of its list.
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
                    crate::spec::in_words(&plain)
                }
            }
        }
        other => other.to_string(),
    }
}
