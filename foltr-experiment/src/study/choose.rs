//! `[choose]`: values that are swept, chosen on validation queries, and run again with other seeds.

use serde::Deserialize;
use toml::Value;

use crate::grid::{AnyExperiment, Grid, Setting};
use crate::read::messages::no_such;
use crate::rows::MetricName;
use crate::spec::{Problem, Split};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choose {
    pub axes: Vec<String>,
    pub metric: String,
    /// How a course becomes a number, as in expectations.
    #[serde(default = "last")]
    pub at: Value,
    /// Of the choice; the file's own seeds run what was chosen.
    pub seeds: Vec<u64>,
}

fn last() -> Value {
    Value::String("final".into())
}

/// What was chosen for one combination of the other axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    pub labels: Vec<(String, String)>,
    pub values: Vec<(String, String)>,
    pub score: f64,
}

impl Choose {
    pub(super) fn check(&self, grid: &Grid) -> Vec<Problem> {
        let mut problems = Vec::new();
        let axes = grid.axes();
        let names: Vec<&str> = axes.iter().map(String::as_str).collect();
        for (i, axis) in self.axes.iter().enumerate().filter(|(_, axis)| !axes.contains(axis)) {
            problems.push(Problem::new(format!("choose.axes[{i}]"), no_such("axis", axis, &names)));
        }
        match self.metric.parse::<MetricName>() {
            Err(error) => problems.push(Problem::new("choose.metric", error.to_string())),
            Ok(metric) if metric.split() != Some(Split::Validation) => {
                problems.push(Problem::new("choose.metric", "values are chosen on validation queries: validation-..."));
            }
            Ok(_) => {}
        }
        if self.seeds.is_empty() {
            problems.push(Problem::new("choose.seeds", "at least one seed is needed"));
        }
        let shared = grid.settings.iter().flat_map(|setting| setting.experiment.seeds());
        if shared.into_iter().any(|seed| self.seeds.contains(seed)) {
            let message = "what is chosen must run with other seeds than the choice: see `seeds`";
            problems.push(Problem::new("choose.seeds", message));
        }
        problems
    }

    /// All settings, with the seeds of the choice.
    #[must_use]
    pub fn candidates(&self, grid: &Grid) -> Grid {
        let with_seeds = |setting: &Setting| {
            let mut experiment = setting.experiment.clone();
            match &mut experiment {
                AnyExperiment::Training(experiment) => experiment.seeds.clone_from(&self.seeds),
                AnyExperiment::Mimic(experiment) => experiment.seeds.clone_from(&self.seeds),
            }
            Setting { labels: setting.labels.clone(), experiment }
        };
        Grid::of_settings(grid.settings.iter().map(with_seeds).collect())
    }

    /// The settings that were chosen, without the labels of what was swept. `score` is the mean of a setting over folds
    /// and seeds; none or not a number is never chosen.
    pub fn chosen(&self, grid: &Grid, score: impl Fn(usize) -> Option<f64>) -> (Grid, Vec<Chosen>) {
        let mut best: Vec<(Chosen, usize)> = Vec::new();
        for (idx, setting) in grid.settings.iter().enumerate() {
            let Some(score) = score(idx).filter(|score| !score.is_nan()) else { continue };
            let is_swept = |(axis, _): &&(String, String)| self.axes.contains(axis);
            let (values, labels) = setting.labels.iter().partition::<Vec<_>, _>(is_swept);
            let owned = |pairs: Vec<&(String, String)>| pairs.into_iter().cloned().collect::<Vec<_>>();
            let one = Chosen { labels: owned(labels), values: owned(values), score };
            match best.iter_mut().find(|(known, _)| known.labels == one.labels) {
                Some(known) if known.0.score >= score => {}
                Some(known) => *known = (one, idx),
                None => best.push((one, idx)),
            }
        }
        let setting = |(chosen, idx): &(Chosen, usize)| Setting {
            labels: chosen.labels.clone(),
            experiment: grid.settings[*idx].experiment.clone(),
        };
        let settings = best.iter().map(setting).collect();
        (Grid::of_settings(settings), best.into_iter().map(|(chosen, _)| chosen).collect())
    }
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
        csv.write_record(axes.iter().map(label).chain([one.score.to_string()]))?;
    }
    csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}
