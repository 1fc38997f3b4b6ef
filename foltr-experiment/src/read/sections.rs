//! The sections of an experiment: read together, and checked as far as they could be read.

use toml::{Table, Value};

use super::messages::{Problem, is_meant, no_such};
use super::{Document, value};
use crate::spec::Experiment;
use crate::study::STUDY_KEYS;

/// Sections and top-level keys, in the order in which a file should have them.
pub(crate) const SECTIONS: [&str; 18] = [
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
    "attack",
    "defence",
    "history",
    "unlearning",
    "privacy",
    "budget",
    "metrics",
];

const REQUIRED: [(&str, &str); 3] = [("seeds", "seeds = [1, 2, 3]"), ("data", "[data]"), ("learner", "[learner]")];

/// In place of sections that are wrong or missing, so that the others can be checked; all checks depend on the learner.
const STAND_INS: &str = r#"
seeds = [1]
data = { kind = "synthetic", shape = "tiny", queries = 1, seed = 1 }
"#;

impl Experiment {
    /// Reads and checks a plain experiment: one setting, nothing swept.
    pub fn from_toml(text: &str) -> Result<Self, Vec<Problem>> {
        let Document { table, places } = Document::parse(text)?;
        Self::from_table(table).map_err(|problems| places.locate_all(problems))
    }

    /// Reads and checks a plain experiment whose problems have no lines yet.
    pub fn from_table(table: Table) -> Result<Self, Vec<Problem>> {
        let mut problems = wrong_names(&table);
        let known = table.into_iter().filter(|(key, _)| SECTIONS.contains(&key.as_str()));
        let mut value = Value::Table(known.collect());
        let read: Option<Self> = value::read_in_part("", &mut value, &mut problems);
        let unreadable = unreadable(&value, &problems);
        let Some(mut experiment) = read.or_else(|| with_stand_ins(value)) else { return Err(problems) };
        experiment.resolve();
        let is_news = |checked: &Problem| {
            let is_about = |section: &&str| {
                checked.key.split('.').next() == Some(*section) || checked.message.contains(&format!("[{section}]"))
            };
            // What a section lacks may be what was wrong with it.
            let inside = format!("{}.", checked.key);
            !unreadable.iter().any(is_about) && !problems.iter().any(|known| known.key.starts_with(&inside))
        };
        let checked: Vec<Problem> = experiment.check().into_iter().filter(is_news).collect();
        problems.extend(checked);
        if problems.is_empty() { Ok(experiment) } else { Err(problems) }
    }
}

fn wrong_names(table: &Table) -> Vec<Problem> {
    let allowed: Vec<&str> = SECTIONS.into_iter().chain(["grid"]).chain(STUDY_KEYS).collect();
    let unknown = table.keys().filter(|key| !SECTIONS.contains(&key.as_str()));
    let mut problems: Vec<Problem> = unknown.map(|key| Problem::new(key, no_such("section", key, &allowed))).collect();
    for (section, example) in REQUIRED {
        if !table.contains_key(section) && !is_meant(section, &problems) {
            problems.push(Problem::new(section, format!("missing; every experiment needs `{example}`")));
        }
    }
    problems
}

/// Sections that are not in what could be read, although the file means to have them.
fn unreadable(read: &Value, problems: &[Problem]) -> Vec<&'static str> {
    let is_wrong = |section: &str| problems.iter().any(|problem| problem.key.split('.').next() == Some(section));
    let is_gone = |section: &&str| read.get(section).is_none() && (is_wrong(section) || is_meant(section, problems));
    SECTIONS.into_iter().filter(is_gone).collect()
}

fn with_stand_ins(mut value: Value) -> Option<Experiment> {
    let sections = value.as_table_mut()?;
    for (section, stand_in) in toml::from_str::<Table>(STAND_INS).ok()? {
        sections.entry(section).or_insert(stand_in);
    }
    value.try_into().ok()
}
