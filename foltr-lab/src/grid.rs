//! A grid: an experiment file in which values may be lists, as the plain experiments that it stands for.
//!
//! Any value that is not a list by nature may be one; lists are crossed. The section `[grid]` names axes, lets lists
//! advance together (`zip`), replaces whole sections at once (`axis`) and leaves points out (`exclude`). Seeds and folds
//! are repetitions of a setting, not settings.

mod exclude;
mod expand;
pub(crate) mod overrides;
mod resolved;
mod section;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use toml::Table;

use crate::spec::places::Places;
use crate::spec::source::in_order;
use crate::spec::{Experiment, Problem, SpecError};
use expand::Point;

/// One point of a grid: what is repeated over seeds and folds.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its place on every axis that it has: (axis, label).
    pub labels: Vec<(String, String)>,
    /// What is run.
    pub experiment: Experiment,
}

impl Setting {
    /// Its label on an axis; none when it has no such axis.
    pub fn label(&self, axis: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == axis).map(|(_, label)| label.as_str())
    }

    /// All labels in one line: `users.preset = perfect, budget = 1.2 / 3`.
    pub fn name(&self) -> String {
        let words = |(axis, label): &(String, String)| format!("{axis} = {label}");
        self.labels.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

/// All settings of an experiment file.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// In the order of the file: the first axis changes slowest.
    pub settings: Vec<Setting>,
    /// The file with everything that was said on the command line.
    document: Table,
}

impl Grid {
    /// Reads and checks an experiment file, after replacing values by `overrides`: `key=value`, as on the command line.
    ///
    /// # Errors
    /// If the file cannot be read, or with everything that is wrong with it.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, SpecError> {
        SpecError::reading(path, |text| Self::from_toml(text, overrides))
    }

    /// Reads and checks the text of an experiment file.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn from_toml(text: &str, overrides: &[String]) -> Result<Self, Vec<Problem>> {
        let mut places = Places::of(text)?;
        let mut document: Table = toml::from_str(text).map_err(|error| vec![Problem::new("file", error.message())])?;
        overrides::apply(overrides, &mut document, &mut places)?;
        // In the order of the resolved file, whose axes must be those of this one.
        let document = resolved::sorted(document);
        let (points, mut problems) = expand::expand(document.clone());
        for problem in &mut problems {
            let path = problem.key.clone();
            places.locate(problem, &path);
        }
        let settings = read_points(&points, &places, &mut problems);
        if !problems.is_empty() {
            return Err(in_order(problems));
        }
        Ok(Self { settings, document })
    }

    /// A grid of one setting.
    pub fn single(experiment: Experiment) -> Result<Self, toml::ser::Error> {
        let document = Table::try_from(&experiment)?;
        Ok(Self { settings: vec![Setting { labels: Vec::new(), experiment }], document })
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

/// Reads and checks every point. A problem that several points share is told once.
fn read_points(points: &[Point], places: &Places, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut found: Vec<(Problem, usize, &Point)> = Vec::new();
    let mut known: HashMap<(String, Option<usize>, String), usize> = HashMap::new();
    for point in points {
        let told = match Experiment::from_table(point.table.clone()) {
            Ok(experiment) => {
                settings.push(Setting { labels: point.labels.clone(), experiment });
                continue;
            }
            Err(told) => told,
        };
        for mut problem in told {
            let path = point.place_of(&problem.key);
            places.locate(&mut problem, &path);
            let same = (problem.key.clone(), problem.line, problem.message.clone());
            let idx = *known.entry(same).or_insert(found.len());
            if idx == found.len() {
                found.push((problem, 0, point));
            }
            found[idx].1 += 1;
        }
    }
    for (mut problem, n_points, first) in found {
        if n_points < points.len() {
            problem.message += &format!(" (in {n_points} of {} settings, first {})", points.len(), first.name());
        }
        problems.push(problem);
    }
    let mut seen = HashSet::new();
    if let Some(twice) = settings.iter().find(|setting| !seen.insert(toml::to_string(&setting.experiment).ok())) {
        let message = format!("the setting {} is there twice; equal runs would count as two", twice.name());
        problems.push(Problem::new("grid", message));
    }
    settings
}

#[cfg(test)]
mod tests;
