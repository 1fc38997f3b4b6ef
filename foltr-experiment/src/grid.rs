//! A grid: an experiment file in which values may be lists, as the plain experiments that it stands for.
//!
//! Any value that is not a list by nature may be one; lists are crossed. The section `[grid]` names axes, lets lists
//! advance together (`zip`), replaces whole sections at once (`axis`) and leaves points out (`exclude`). Seeds and folds
//! are repetitions of a setting, not settings.

mod exclude;
mod expand;
mod resolved;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use toml::{Table, Value};

use crate::mimic::MimicExperiment;
use crate::read::{Document, SourceMap};
use crate::spec::{Experiment, Problem, Schedule, SpecError};
use crate::study::{Asked, StudyFile};
use expand::Point;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyExperiment {
    Training(Box<Experiment>),
    /// Teachers, labels and students: a file with one of the sections of mimic learning and no `[learner]`.
    Mimic(Box<MimicExperiment>),
}

/// Mimic learning where only rankers learned online or baselines make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not supported with mimic learning: requires a section [learner]")]
pub struct MimicError;

/// Key of a resolved file that lists its settings one by one.
const SETTINGS: &str = "setting";

const MIMIC_SECTIONS: [&str; 6] = ["supervision", "public", "teacher", "student", "aggregation", "evaluation"];

impl AnyExperiment {
    fn from_table(table: Table) -> Result<Self, Vec<Problem>> {
        if is_mimic(&table) {
            MimicExperiment::from_table(table).map(|mimic| Self::Mimic(Box::new(mimic)))
        } else {
            Experiment::from_table(table).map(|experiment| Self::Training(Box::new(experiment)))
        }
    }

    pub fn training(&self) -> Option<&Experiment> {
        if let Self::Training(experiment) = self { Some(experiment) } else { None }
    }

    pub fn mimic(&self) -> Option<&MimicExperiment> {
        if let Self::Mimic(experiment) = self { Some(experiment) } else { None }
    }

    pub fn seeds(&self) -> &[u64] {
        match self {
            Self::Training(experiment) => &experiment.seeds,
            Self::Mimic(experiment) => &experiment.seeds,
        }
    }

    pub(crate) fn without_seeds(&self) -> Self {
        let mut without = self.clone();
        match &mut without {
            Self::Training(experiment) => experiment.seeds = Vec::new(),
            Self::Mimic(experiment) => experiment.seeds = Vec::new(),
        }
        without
    }

    /// Those that runs have: a baseline has one run.
    pub fn seeds_of_runs(&self) -> &[u64] {
        self.training().map_or_else(|| self.seeds(), Experiment::seeds_of_runs)
    }

    pub fn data_name(&self) -> String {
        match self {
            Self::Training(experiment) => experiment.data.name(),
            Self::Mimic(experiment) => experiment.data.name(),
        }
    }

    pub fn learner_name(&self) -> &'static str {
        self.training().map_or("mimic", |experiment| experiment.learner.name())
    }

    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    pub fn schedule(&self) -> Option<Schedule> {
        self.training()?.schedule()
    }
}

/// The same text, or the same number in other words: `0.50` is `0.5`.
pub fn is_same_label(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    a == b || matches!((number(a), number(b)), (Some(a), Some(b)) if a == b)
}

fn is_mimic(table: &Table) -> bool {
    !table.contains_key("learner") && MIMIC_SECTIONS.iter().any(|section| table.contains_key(*section))
}

/// One point of a grid: what is repeated over seeds and folds.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub labels: Vec<(String, String)>,
    pub experiment: AnyExperiment,
}

impl Setting {
    pub fn label(&self, axis: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == axis).map(|(_, label)| label.as_str())
    }

    pub fn training(&self) -> Result<&Experiment, MimicError> {
        self.experiment.training().ok_or(MimicError)
    }

    /// All labels in one line: `users.preset = perfect, budget = 1.2 / 3`.
    pub fn name(&self) -> String {
        name_of(&self.labels)
    }
}

fn name_of(labels: &[(String, String)]) -> String {
    labels.iter().map(|(axis, label)| format!("{axis} = {label}")).collect::<Vec<_>>().join(", ")
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The first axis of the file changes slowest.
    pub settings: Vec<Setting>,
    /// The file with everything that was said on the command line.
    document: Table,
}

impl Grid {
    /// Reads and checks an experiment file, after replacing values by `overrides`: `key=value`, as on the command line.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, SpecError> {
        SpecError::reading(path, |text| Self::from_toml(text, overrides))
    }

    pub fn from_toml(text: &str, overrides: &[String]) -> Result<Self, Vec<Problem>> {
        let asked = Asked { overrides, ..Asked::default() };
        StudyFile::from_toml(text)?.study(&asked).map(|study| study.grid)
    }

    pub(crate) fn from_document(Document { table, places }: &Document) -> Result<Self, Vec<Problem>> {
        if let Some(settings) = table.get(SETTINGS) {
            return listed(settings).map(Self::of_settings);
        }
        // In the order of the resolved file, whose axes must be those of this one.
        let document = resolved::sorted(table.clone());
        let (points, problems) = expand::expand(document.clone());
        let mut problems = places.locate_all(problems);
        problems.iter_mut().for_each(|problem| problem.key = expand::own_key(&problem.key).into());
        let settings = read_points(&points, places, &mut problems);
        if problems.is_empty() {
            return Ok(Self { settings, document });
        }
        problems.sort_by_key(|problem| problem.line);
        Err(problems)
    }

    /// A grid of these settings, which need not be combinations of anything.
    pub fn of_settings(settings: Vec<Setting>) -> Self {
        let value = |setting: &Setting| {
            let experiment = Table::try_from(&setting.experiment).unwrap_or_default();
            let pair = |(axis, label): &(String, String)| Value::Array(vec![axis.clone().into(), label.clone().into()]);
            let labels = Value::Array(setting.labels.iter().map(pair).collect());
            let table = [("labels".to_owned(), labels), ("experiment".to_owned(), Value::Table(experiment))];
            Value::Table(table.into_iter().collect())
        };
        let list = Value::Array(settings.iter().map(value).collect());
        Self { document: [(SETTINGS.to_owned(), list)].into_iter().collect(), settings }
    }

    /// All axes that any setting has, slowest first.
    pub fn axes(&self) -> Vec<String> {
        let mut axes: Vec<String> = Vec::new();
        for (axis, _) in self.settings.iter().flat_map(|setting| &setting.labels) {
            if !axes.contains(axis) {
                axes.push(axis.clone());
            }
        }
        axes
    }
}

fn listed(settings: &Value) -> Result<Vec<Setting>, Vec<Problem>> {
    let one = |(i, value): (usize, &Value)| {
        let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
            Some([axis, label]) => Some((axis.as_str()?.to_owned(), label.as_str()?.to_owned())),
            _ => None,
        };
        let labels = value.get("labels").and_then(Value::as_array).map(|pairs| pairs.iter().map(pair).collect());
        let experiment = value.get("experiment").and_then(Value::as_table);
        let (Some(Some(labels)), Some(experiment)) = (labels, experiment) else {
            let message = "expected `labels`, a list of pairs, and `experiment`";
            return Err(vec![Problem::new(format!("{SETTINGS}[{i}]"), message)]);
        };
        Ok(Setting { labels, experiment: AnyExperiment::from_table(experiment.clone())? })
    };
    settings.as_array().into_iter().flatten().enumerate().map(one).collect()
}

/// Reads and checks every point. A problem that several points share is reported once.
fn read_points(points: &[Point], places: &SourceMap, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut wrong: Vec<(Problem, usize, &Point)> = Vec::new();
    let mut known: HashMap<(String, Option<usize>, String), usize> = HashMap::new();
    for point in points {
        let read = AnyExperiment::from_table(point.table.clone());
        let unlocated = match read {
            Ok(experiment) => {
                settings.push(Setting { labels: point.labels.clone(), experiment });
                continue;
            }
            Err(problems) => problems,
        };
        for mut problem in unlocated {
            let path = point.place_of(&problem.key);
            places.locate(&mut problem, &path);
            let same = (problem.key.clone(), problem.line, problem.message.clone());
            let idx = *known.entry(same).or_insert(wrong.len());
            if idx == wrong.len() {
                wrong.push((problem, 0, point));
            }
            wrong[idx].1 += 1;
        }
    }
    for (mut problem, n_points, first) in wrong {
        if n_points < points.len() {
            let name = name_of(&first.labels);
            problem.message += &format!(" (in {n_points} of {} settings, first {name})", points.len());
        }
        problems.push(problem);
    }
    let mut seen = HashSet::new();
    if let Some(twice) = settings.iter().find(|setting| !seen.insert(&setting.labels)) {
        problems.push(Problem::new("grid", format!("the setting {} is there twice", twice.name())));
    }
    settings
}

#[cfg(test)]
mod tests;
