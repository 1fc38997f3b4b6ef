//! Reads an experiment file section by section, so that every section reports its own problems with line and value.
//!
//! Serde stops at its first error and forgets the line inside a table with a `kind`. So each section is read by itself,
//! unknown keys are taken out and reading goes on, and a value of the wrong type is found by leaving one key out at a
//! time: the key that is then missing is the one that was wrong.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::source_map::SourceMap;
use super::{Defence, Experiment, HistoryPolicy, Measures, Privacy, Problem};
use crate::study::STUDY_KEYS;

/// Sections and top-level keys, in the order in which a file should have them.
pub(crate) const SECTIONS: [&str; 17] = [
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
    "attack",
    "defence",
    "history",
    "unlearning",
    "privacy",
    "budget",
    "metrics",
];

impl Experiment {
    /// Reads and checks a plain experiment: one setting, nothing swept.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, Vec<Problem>> {
        let places = SourceMap::of(text)?;
        let table = toml::from_str(text).map_err(|error| vec![Problem::new("file", error.message())])?;
        Self::from_table(table).map_err(|problems| {
            let located = problems.into_iter().map(|mut problem| {
                let path = problem.key.clone();
                places.locate(&mut problem, &path);
                problem
            });
            in_order(located.collect())
        })
    }

    /// Reads and checks a plain experiment whose problems have no lines yet.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn from_table(table: Table) -> Result<Self, Vec<Problem>> {
        let mut sections = Sections::read(table);
        if let Some(experiment) = &mut sections.experiment {
            experiment.resolve();
            // What is said about a section that could not be read is about its stand-in.
            let of_stand_in = |problem: &Problem| {
                sections.unreadable.iter().any(|section| problem.key.split('.').next() == Some(section))
            };
            // A section that lacks something may lack just what was wrong with it.
            let told = |key: &str| sections.problems.iter().any(|known| known.key.starts_with(&format!("{key}.")));
            let checked: Vec<Problem> = experiment.check();
            let news = checked.into_iter().filter(|problem| !of_stand_in(problem) && !told(&problem.key));
            let news: Vec<Problem> = news.collect();
            sections.problems.extend(news);
        }
        match sections.experiment {
            Some(experiment) if sections.problems.is_empty() => Ok(experiment),
            _ => Err(sections.problems),
        }
    }
}

/// Problems in the order of the file.
pub(crate) fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| problem.line);
    problems
}

/// Everything read from a file, as far as it could be read.
struct Sections {
    /// Sections that could not be read have a stand-in that is in nobody's way, so that the others can be checked. None
    /// without a learner, on which all other sections depend.
    experiment: Option<Experiment>,
    unreadable: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl Sections {
    /// Reads all sections; the problems of one do not hide those of another.
    fn read(mut table: Table) -> Self {
        let mut problems: Vec<Problem> = table
            .keys()
            .filter(|key| !SECTIONS.contains(&key.as_str()))
            .map(|key| {
                let allowed: Vec<&str> = SECTIONS.into_iter().chain(["grid"]).chain(STUDY_KEYS).collect();
                Problem::new(key, no_such("section", key, &allowed))
            })
            .collect();
        // A misspelled section is told as that, not as missing.
        let is_meant = |section: &&str| problems.iter().any(|problem| problem.message.contains(&guess(section)));
        let mut unreadable: Vec<&'static str> = SECTIONS.into_iter().filter(|section| is_meant(section)).collect();
        let (table, problems_of) = (&mut table, &mut problems);
        let seeds = required(table, "seeds", "seeds = [1, 2, 3]", problems_of, &mut unreadable);
        let data = required(table, "data", "[data]", problems_of, &mut unreadable);
        let clients = optional(table, "clients", problems_of, &mut unreadable, stand_in::CLIENTS);
        let partition = optional(table, "partition", problems_of, &mut unreadable, stand_in::PARTITION);
        let users = optional(table, "users", problems_of, &mut unreadable, stand_in::USERS);
        let ranker = optional(table, "ranker", problems_of, &mut unreadable, stand_in::RANKER);
        let learner = required(table, "learner", "[learner]", problems_of, &mut unreadable);
        let federation = optional(table, "federation", problems_of, &mut unreadable, stand_in::FEDERATION);
        let personalisation =
            optional(table, "personalisation", problems_of, &mut unreadable, stand_in::PERSONALISATION);
        let asynchrony = optional(table, "asynchrony", problems_of, &mut unreadable, stand_in::ASYNCHRONY);
        let attack = optional(table, "attack", problems_of, &mut unreadable, stand_in::ATTACK);
        let defence = optional(table, "defence", problems_of, &mut unreadable, Defence::NONE);
        let history = optional(table, "history", problems_of, &mut unreadable, HistoryPolicy::default());
        let unlearning = optional(table, "unlearning", problems_of, &mut unreadable, stand_in::unlearning());
        let privacy = optional(table, "privacy", problems_of, &mut unreadable, Privacy::NONE);
        let budget = optional(table, "budget", problems_of, &mut unreadable, stand_in::BUDGET);
        let metrics = optional(table, "metrics", problems_of, &mut unreadable, Measures::default());
        let experiment = learner.map(|learner| Experiment {
            seeds: seeds.unwrap_or_else(|| vec![1]),
            data: data.unwrap_or(stand_in::DATA),
            clients,
            partition,
            users,
            ranker,
            learner,
            federation,
            personalisation,
            asynchrony,
            attack,
            defence,
            history,
            unlearning,
            privacy: privacy.unwrap_or_default(),
            budget,
            metrics: metrics.unwrap_or_default(),
        });
        Self { experiment, unreadable, problems }
    }
}

/// Sections in place of unreadable ones: small, so that no check of another section fails because of them.
mod stand_in {
    use foltr_federation::asynchronous::Buffered;
    use foltr_federation::unlearn::Retrain;
    use foltr_rank::Initialisation;
    use foltr_rank::personal::{LocalOnly, Personalisation};
    use foltr_simulation::adversary::{Attack, Attackers, ClickPoisoning, Knowledge, Seeds};
    use foltr_simulation::click::CascadeParameters;
    use foltr_simulation::partition::Iid;

    use crate::spec::{
        Asynchrony, Budget, ClickModel, Clients, Data, Federation, Normalisation, Partition, Preset, RankerShape,
        ServerOptimiser, SyntheticShape, Unlearning, UnlearningRequest,
    };

    pub const CLIENTS: Clients = Clients {
        n_clients: 1,
        interactions: Some(2),
        quantities: None,
        cohort: None,
        participation: None,
        dropout: None,
        absent: None,
        stragglers: None,
    };
    pub const PARTITION: Partition = Partition::Iid(Iid {});
    pub const USERS: ClickModel = ClickModel::Cascade(CascadeParameters { preset: Preset::Perfect, grades: None });
    pub const RANKER: RankerShape = RankerShape::Linear { initialisation: Initialisation::Zero };
    pub const FEDERATION: Federation = Federation {
        rounds: Some(1),
        budget: None,
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
        shards: None,
        average_last: None,
    };
    pub const PERSONALISATION: Personalisation = Personalisation::LocalOnly(LocalOnly {});
    pub const ASYNCHRONY: Asynchrony =
        Asynchrony::Buffered(Buffered { buffer: 1, staleness_exponent: 0.0, rate_limit: 1, max_staleness: u32::MAX });
    pub const ATTACK: Attackers = Attackers {
        attackers: 1,
        knowledge: Knowledge::Full,
        seeds: Seeds::Own,
        method: Attack::ClickPoisoning(ClickPoisoning {}),
    };
    pub fn unlearning() -> UnlearningRequest {
        UnlearningRequest { clients: vec![0], method: Unlearning::Retrain(Retrain {}) }
    }

    pub const BUDGET: Budget = Budget { epsilon: f64::MAX, delta: 0.5 };
    pub const DATA: Data = Data::Synthetic {
        shape: SyntheticShape::Tiny,
        queries: 1,
        validation_queries: None,
        test_queries: None,
        seed: 1,
        intents: None,
        conflict: None,
        normalise: Normalisation::None,
    };
}

/// A section that every experiment has; none if it is missing or cannot be read.
fn required<T: DeserializeOwned>(
    table: &mut Table,
    key: &'static str,
    example: &str,
    problems: &mut Vec<Problem>,
    unreadable: &mut Vec<&'static str>,
) -> Option<T> {
    let read = match table.remove(key) {
        Some(value) => read_value(key, value, problems),
        None => {
            problems.push(Problem::new(key, format!("missing; every experiment needs `{example}`")));
            None
        }
    };
    if read.is_none() {
        unreadable.push(key);
    }
    read
}

/// A section that some experiments have; a stand-in if it is there but cannot be read.
fn optional<T: DeserializeOwned>(
    table: &mut Table,
    key: &'static str,
    problems: &mut Vec<Problem>,
    unreadable: &mut Vec<&'static str>,
    stand_in: T,
) -> Option<T> {
    let read = read_value(key, table.remove(key)?, problems);
    if read.is_none() {
        unreadable.push(key);
    }
    Some(read.unwrap_or(stand_in))
}

/// Reads a value; takes unknown keys out one by one, then names the key whose value is wrong. What is left after that
/// is returned if it can be read, so that it can be checked with the rest.
pub(crate) fn read_value<T: DeserializeOwned>(path: &str, mut value: Value, problems: &mut Vec<Problem>) -> Option<T> {
    loop {
        let error = match value.clone().try_into::<T>() {
            Ok(read) => return Some(read),
            Err(error) => error.message().trim_end().to_owned(),
        };
        if let Some((unknown, known)) = unknown_field(&error)
            && let Some(owner) = path_of_unknown(&value, &unknown, &known)
        {
            let key = joined(path, &owner, &unknown);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            problems.push(Problem::new(key, no_such("key", &unknown, &known)));
            table_at(&mut value, &owner)?.remove(&unknown);
            continue;
        }
        let missing = error.strip_prefix("missing field ").map(quoted).unwrap_or_default();
        // A misspelled or wrong key was told already; that it is missing without its value is no news.
        let known = |key: &String| {
            let told = joined(path, &[], key);
            problems.iter().any(|problem| problem.key.starts_with(&told) || problem.message.contains(&guess(key)))
        };
        if missing.iter().any(known) {
            return None;
        }
        let Some(invalid_key) = invalid_key::<T>(&value, !missing.is_empty()) else {
            problems.push(Problem::new(path, user_message(&error)));
            return None;
        };
        let inner = value.get(&invalid_key).and_then(Value::as_table).and_then(|inner| quoted_in(inner, &error));
        let key = inner.map_or_else(
            || joined(path, &[], &invalid_key),
            |inner| joined(path, std::slice::from_ref(&invalid_key), &inner),
        );
        problems.push(Problem::new(key, user_message(&error)));
        table_at(&mut value, &[])?.remove(&invalid_key);
        if invalid_key == "kind" {
            return None;
        }
    }
}

/// The unknown key that serde complains about, and the keys that it knows.
fn unknown_field(error: &str) -> Option<(String, Vec<String>)> {
    let names = quoted(error.strip_prefix("unknown field ")?);
    let (unknown, known) = names.split_first()?;
    Some((unknown.clone(), known.to_vec()))
}

/// Everything between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Keys that lead to the table with the unknown key: the value itself, or a table inside it.
fn path_of_unknown(value: &Value, unknown: &str, known: &[String]) -> Option<Vec<String>> {
    let table = value.as_table()?;
    let fits = |table: &Table| table.keys().all(|key| key == "kind" || known.contains(key) || key == unknown);
    if table.contains_key(unknown) && (fits(table) || !known.iter().any(|key| key == unknown)) {
        return Some(Vec::new());
    }
    table.iter().find_map(|(key, inner)| {
        let mut path = path_of_unknown(inner, unknown, known)?;
        path.insert(0, key.clone());
        Some(path)
    })
}

fn joined(path: &str, owner: &[String], key: &str) -> String {
    [&[path.to_owned()], owner, &[key.to_owned()]].concat().join(".")
}

fn table_at<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Table> {
    path.iter().try_fold(value, |value, key| value.get_mut(key))?.as_table_mut()
}

/// The key whose value is wrong: without it, serde complains about something else. What misses a key is a table.
fn invalid_key<T: DeserializeOwned>(value: &Value, only_tables: bool) -> Option<String> {
    let table = value.as_table()?;
    let original = value.clone().try_into::<T>().err()?.message().to_owned();
    let matters = |key: &&String| {
        let mut without = table.clone();
        without.remove(*key);
        Value::Table(without).try_into::<T>().err().is_none_or(|error| error.message() != original)
    };
    let candidates = || table.keys().filter(|key| !only_tables || table[*key].is_table());
    // Without its kind a section always fails in another way: a kind is to blame only when nothing else is.
    let other = candidates().filter(|key| *key != "kind").find(matters);
    other.or_else(|| candidates().find(|key| *key == "kind")).cloned()
}

/// The key of an inner table whose value a message quotes.
fn quoted_in(inner: &Table, message: &str) -> Option<String> {
    let is_quoted = |value: &Value| match value {
        Value::String(text) => message.contains(&format!("`{text}`")) || message.contains(&format!("\"{text}\"")),
        other => message.contains(&format!("`{other}`")),
    };
    inner.iter().find(|(_, value)| is_quoted(value)).map(|(key, _)| key.clone())
}

fn guess(known: &str) -> String {
    format!("; did you mean `{known}`?")
}

/// "No such key", with the nearest name and all allowed ones.
pub fn no_such(what: &str, name: &str, allowed: &[&str]) -> String {
    let near =
        allowed.iter().map(|known| (strsim::jaro_winkler(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    let near = near.filter(|(likeness, _)| *likeness > 0.8).map(|(_, known)| guess(known));
    let near = near.unwrap_or_default();
    if allowed.is_empty() {
        return format!("no such {what}; no other key is allowed here");
    }
    format!("no such {what}{near} (allowed: {})", allowed.join(", "))
}

/// Whether a problem is a key that its section does not have.
pub(crate) fn is_unknown_key(problem: &Problem) -> bool {
    problem.message.starts_with("no such key")
}

/// Serde's message in the words of a person who edits a file.
fn user_message(error: &str) -> String {
    if let Some(rest) = error.strip_prefix("missing field ") {
        let key = quoted(rest).into_iter().next().unwrap_or_default();
        return format!("the key `{key}` is missing here");
    }
    if error.starts_with("unknown variant ") {
        let names = quoted(error);
        if let Some((wrong, allowed)) = names.split_first() {
            let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
            return no_such("choice", wrong, &allowed);
        }
    }
    let mut text = error.to_owned();
    for (serde, plain) in [
        ("invalid type: ", "wrong kind of value: "),
        ("invalid value: ", "wrong value: "),
        ("floating point ", "number "),
        ("expected f64", "expected a number"),
        ("expected f32", "expected a number"),
        ("expected usize", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected a sequence", "expected a list"),
    ] {
        text = text.replace(serde, plain);
    }
    text
}
