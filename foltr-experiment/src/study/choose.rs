//! Values that are swept, chosen on validation queries, and run again with other seeds: `[choose]` and `foltr tune`.
//!
//! The rule: for every combination of the other axes, the values with the highest mean over folds and seeds; of equal
//! ones the first of the file. Candidates are evaluated on validation queries only, so that no test query is seen
//! before the choice is made.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use toml::Value;

use crate::grid::{AnyExperiment, Grid, Setting};
use crate::read::messages::no_such;
use crate::rows::MetricName;
use crate::spec::{Problem, Split};

/// Beginnings of the keys that `foltr tune` chooses by itself: what belongs to a method, not what it is compared under.
const TUNED: [&str; 4] = ["learner.", "ranker.", "personalisation.", "federation.optimiser."];

/// The first seed of the choice, where nothing else is asked for: far from those that people give to their runs.
const FIRST_SEED: u64 = 1001;

type Labels = Vec<(String, String)>;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    pub axes: Vec<String>,
    pub metric: String,
    /// How a course becomes a number, as in expectations.
    #[serde(default = "last")]
    pub at: Value,
    /// Seeds of the candidates; the file's own seeds run what was chosen.
    pub seeds: Vec<u64>,
}

fn last() -> Value {
    Value::String("final".into())
}

/// What was chosen for one combination of the other axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chosen {
    pub labels: Labels,
    pub values: Labels,
    /// None where there was nothing to choose from.
    pub score: Option<f64>,
}

impl Choose {
    /// The choice that `foltr tune` makes for a file without `[choose]`: all swept numbers of learner, ranker,
    /// personalisation and server optimiser, by the first offline metric of the final ranker, with as many seeds as the
    /// file has. No axes if nothing of the kind is swept.
    pub fn of_grid(grid: &Grid) -> Self {
        let is_number = |axis: &str| {
            let mut labels = grid.settings.iter().filter_map(|setting| setting.label(axis));
            labels.all(|label| label.parse::<f64>().is_ok())
        };
        let is_tuned = |axis: &String| TUNED.iter().any(|start| axis.starts_with(start)) && is_number(axis);
        let offline = grid.settings.iter().find_map(|setting| setting.experiment.training()?.metrics.offline.first());
        let metric = offline.map(|&metric| MetricName::Offline(Split::Validation, metric).to_string());
        let n_seeds = grid.settings.iter().map(|setting| setting.experiment.seeds().len()).max().unwrap_or(1);
        let known = seeds_of(grid);
        let seeds = (FIRST_SEED..).filter(|seed| !known.contains(seed)).take(n_seeds).collect();
        let axes = grid.axes().into_iter().filter(is_tuned).collect();
        Self { axes, metric: metric.unwrap_or_default(), at: last(), seeds }
    }

    pub fn check(&self, grid: &Grid) -> Vec<Problem> {
        let mut problems = Vec::new();
        let axes = grid.axes();
        let names: Vec<&str> = axes.iter().map(String::as_str).collect();
        for (i, axis) in self.axes.iter().enumerate().filter(|(_, axis)| !axes.contains(axis)) {
            problems.push(Problem::new(format!("choose.axes[{i}]"), no_such("axis", axis, &names)));
        }
        problems.extend(self.check_metric(grid));
        if self.seeds.is_empty() {
            problems.push(Problem::new("choose.seeds", "at least one seed is needed"));
        }
        let known = seeds_of(grid);
        if self.seeds.iter().any(|seed| known.contains(seed)) {
            let message = "what is chosen must run with other seeds than the choice: see `seeds`";
            problems.push(Problem::new("choose.seeds", message));
        }
        problems
    }

    fn check_metric(&self, grid: &Grid) -> Option<Problem> {
        let problem = |message: String| Some(Problem::new("choose.metric", message));
        let metric = match self.metric.parse::<MetricName>() {
            Err(error) => return problem(error.to_string()),
            Ok(metric) if metric.split() != Some(Split::Validation) => {
                return problem("values are chosen on validation queries: validation-...".into());
            }
            Ok(metric) => metric.of_ranker()?,
        };
        let mut measured = grid.settings.iter().filter_map(|setting| Some(&setting.experiment.training()?.metrics));
        let without = measured.find(|measures| !measures.offline.contains(&metric))?;
        let offline: Vec<String> = without.offline.iter().map(ToString::to_string).collect();
        problem(format!("`metrics.offline` has no {metric}, only {}", offline.join(", ")))
    }

    fn split_labels(&self, setting: &Setting) -> (Labels, Labels) {
        setting.labels.iter().cloned().partition(|(axis, _)| self.axes.contains(axis))
    }

    /// The settings that have rivals, with the seeds of the choice and evaluated on validation queries only.
    #[must_use]
    pub fn candidates(&self, grid: &Grid) -> Grid {
        let mut n_rivals: HashMap<Labels, usize> = HashMap::new();
        for setting in &grid.settings {
            *n_rivals.entry(self.split_labels(setting).1).or_default() += 1;
        }
        let has_rivals = |setting: &&Setting| n_rivals[&self.split_labels(setting).1] > 1;
        let candidate = |setting: &Setting| {
            let mut experiment = setting.experiment.clone();
            match &mut experiment {
                AnyExperiment::Training(experiment) => {
                    experiment.seeds.clone_from(&self.seeds);
                    experiment.metrics.evaluate_on = vec![Split::Validation];
                }
                AnyExperiment::Mimic(experiment) => experiment.seeds.clone_from(&self.seeds),
            }
            Setting { labels: setting.labels.clone(), experiment }
        };
        Grid::of_settings(grid.settings.iter().filter(has_rivals).map(candidate).collect())
    }

    /// The settings that were chosen, without the labels of what was swept. `score` is the mean of a candidate over folds
    /// and seeds; none or not a number is never chosen. What has no rivals is chosen without a score.
    pub fn chosen(&self, grid: &Grid, score: impl Fn(&Setting) -> Option<f64>) -> (Grid, Vec<Chosen>) {
        let mut places: HashMap<Labels, usize> = HashMap::new();
        let mut rivals: Vec<(Labels, Vec<&Setting>)> = Vec::new();
        for setting in &grid.settings {
            let (_, labels) = self.split_labels(setting);
            let place = *places.entry(labels.clone()).or_insert(rivals.len());
            if place == rivals.len() {
                rivals.push((labels, Vec::new()));
            }
            rivals[place].1.push(setting);
        }
        let (mut settings, mut all) = (Vec::new(), Vec::new());
        for (labels, rivals) in rivals {
            let mut best: Option<(&Setting, Option<f64>)> = None;
            for &setting in &rivals {
                let score = score(setting).filter(|score| !score.is_nan());
                if rivals.len() == 1 || score.is_some() && best.is_none_or(|(_, known)| score > known) {
                    best = Some((setting, score));
                }
            }
            let Some((setting, score)) = best else { continue };
            settings.push(Setting { labels: labels.clone(), experiment: setting.experiment.clone() });
            all.push(Chosen { labels, values: self.split_labels(setting).0, score });
        }
        (Grid::of_settings(settings), all)
    }
}

fn seeds_of(grid: &Grid) -> HashSet<u64> {
    grid.settings.iter().flat_map(|setting| setting.experiment.seeds().iter().copied()).collect()
}

/// `chosen.csv`: one line a combination of the other axes.
pub fn chosen_csv(chosen: &[Chosen]) -> Result<Vec<u8>, csv::Error> {
    let mut axes: Vec<&str> = Vec::new();
    for (axis, _) in chosen.iter().flat_map(|one| one.labels.iter().chain(&one.values)) {
        if !axes.contains(&axis.as_str()) {
            axes.push(axis);
        }
    }
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(axes.iter().copied().chain(["score"]))?;
    for one in chosen {
        let label = |axis: &&str| {
            let pair = one.labels.iter().chain(&one.values).find(|(name, _)| name == axis);
            pair.map_or("", |(_, label)| label.as_str()).to_owned()
        };
        csv.write_record(axes.iter().map(label).chain([one.score.map(|score| score.to_string()).unwrap_or_default()]))?;
    }
    csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}
