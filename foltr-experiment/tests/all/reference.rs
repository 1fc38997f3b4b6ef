//! `docs/reference.md`: every key of an experiment file with its default, limits and meaning, written from the types and
//! the checks.

mod limits;
mod values;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use foltr_experiment::schema::definitions;
use serde_json::Value;

use limits::Limits;
use values::{is_nested, one_line, resolve, type_of};

const INTRODUCTION: &str = "\
# Reference of experiment files

Written by a test of foltr-experiment from the types and checks that read a file: run
`FOLTR_WRITE_DOCS=1 cargo test --release -p foltr-experiment reference` after a change. `docs/experiment-file.md` is the
place to start. Every value may be a list, which is swept; sections `[grid]`, `[quick]`, `[choose]`, `[[entry]]`, `[[expect]]` and
`[[figure]]` are in `docs/experiment-file.md` and `docs/expectations.md`. What excludes each other is in
`docs/combinations.md`.

A key without a default is *required*; *absent* means that leaving it out is a choice of its own, which the meaning explains.
Limits are what the check says of a value beyond them.
";

const TRAINING: [&str; 18] = [
    "seeds",
    "data",
    "clients",
    "partition",
    "users",
    "ranker",
    "learner",
    "federation",
    "personalisation",
    "asynchrony",
    "adoption",
    "privacy",
    "budget",
    "attack",
    "defence",
    "history",
    "unlearning",
    "metrics",
];

const MIMIC: [&str; 8] = ["seeds", "data", "supervision", "public", "teacher", "student", "aggregation", "evaluation"];

#[test]
fn the_reference_has_every_key() {
    let definitions = definitions();
    let limits = Limits::of_examples();
    let mut text = INTRODUCTION.to_owned();
    for (title, file, sections) in
        [("Federations and baselines", "Experiment", &TRAINING[..]), ("Mimic learning", "MimicExperiment", &MIMIC[..])]
    {
        let _ = writeln!(text, "\n## {title}");
        let properties = definitions[file]["properties"].as_object().expect("sections");
        let listed: BTreeMap<&str, ()> = sections.iter().map(|section| (*section, ())).collect();
        assert!(properties.keys().eq(listed.keys()), "{:?}", properties.keys().collect::<Vec<_>>());
        for section in sections {
            let mut page = Page { definitions: &definitions, limits: &limits, text: String::new() };
            page.section(section, &properties[*section]);
            text += &page.text;
        }
    }
    let path = foltr_test::workspace().join("docs/reference.md");
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).expect("docs/reference.md");
    assert!(written == text, "docs/reference.md is out of date: run this test with FOLTR_WRITE_DOCS=1");
    // A limit that is certain: if probing broke, all would be gone.
    assert!(text.contains("| must be at least 0 and below 1 | Probability that a client's message of a round is lost"));
}

struct Page<'a> {
    definitions: &'a Value,
    limits: &'a Limits,
    text: String,
}

impl<'a> Page<'a> {
    fn section(&mut self, name: &str, property: &'a Value) {
        let schema = resolve(property, self.definitions);
        let meaning = one_line(property).or_else(|| one_line(schema)).unwrap_or_default();
        let title = if is_nested(schema) { format!("[{name}]") } else { name.to_owned() };
        let _ = writeln!(self.text, "\n### `{title}`\n\n{meaning}");
        if !is_nested(schema) {
            let _ = writeln!(self.text, "\n{}.", capitalised(&type_of(property, self.definitions)));
            return;
        }
        self.table(name, schema, &mut vec![]);
    }

    /// The keys of a table or, for each kind, of a table that has kinds; then those of the tables in it.
    fn table(&mut self, path: &str, schema: &'a Value, parents: &mut Vec<&'a Value>) {
        // Users may be made of several users.
        if parents.contains(&schema) {
            return;
        }
        parents.push(schema);
        let kinds = schema["oneOf"].as_array();
        for kind in kinds.into_iter().flatten().filter(|kind| kind["properties"].is_object()) {
            let name = kind["properties"]["kind"]["const"].as_str();
            // `{ every = 10 }`: the type of the key says all.
            if let Some(name) = name {
                let _ = writeln!(self.text, "\n`{path}.kind = \"{name}\"`: {}", one_line(kind).unwrap_or_default());
                self.keys(path, Some(name), kind);
            }
        }
        if kinds.is_none() {
            self.keys(path, None, schema);
        }
        let variants: Vec<&'a Value> = kinds.map_or_else(|| vec![schema], |kinds| kinds.iter().collect());
        let mut known: Vec<&str> = Vec::new();
        for (key, property) in variants.iter().filter_map(|variant| variant["properties"].as_object()).flatten() {
            let inner = resolve(property, self.definitions);
            if is_nested(inner) && !known.contains(&key.as_str()) {
                known.push(key);
                self.table(&format!("{path}.{key}"), inner, parents);
            }
        }
        parents.pop();
    }

    fn keys(&mut self, path: &str, kind: Option<&str>, schema: &Value) {
        let properties = schema["properties"].as_object().expect("keys");
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut rows = String::new();
        for (key, property) in properties.iter().filter(|(key, _)| *key != "kind") {
            let default = match property.get("default").filter(|default| !default.is_null()) {
                Some(default) => format!("`{}`", toml_text(default)),
                None if required.contains(&key.as_str()) => "*required*".into(),
                None => "*absent*".into(),
            };
            let limits = self.limits.of(path, kind, key);
            let meaning =
                one_line(property).or_else(|| one_line(resolve(property, self.definitions))).unwrap_or_default();
            let kind_of_value = type_of(property, self.definitions);
            let _ = writeln!(rows, "| `{path}.{key}` | {kind_of_value} | {default} | {limits} | {meaning} |");
        }
        if !rows.is_empty() {
            let _ = write!(self.text, "\n| key | value | default | limits | meaning |\n|---|---|---|---|---|\n{rows}");
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

fn toml_text(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string())
}
