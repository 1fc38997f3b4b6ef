//! Which runs a grid needs, on which data, and which of them one machine does.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use foltr_simulation::datasets::Fold;

use super::data_cache::DataCache;
use crate::grid::{AnyExperiment, Grid};
use crate::job::{Job, Origin, run_key, settings_of_run, training_of};
use crate::spec::{Experiment, Split};
use crate::warnings::{about_data, warnings};

/// One share of the runs of a grid, for one machine of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: usize,
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match read {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected I/N with I from 1 to N, such as 1/3".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// With everything known that follows from the data.
    pub grid: Grid,
    /// In the order of settings, folds and seeds; of one shard only if there are several.
    pub jobs: Vec<Job>,
    pub n_runs: usize,
    pub shard: Option<Shard>,
    /// Of every fold, by name of the data set and number.
    pub(crate) data_hashes: BTreeMap<String, String>,
}

impl Plan {
    pub fn new(mut grid: Grid, data: &DataCache, shard: Option<Shard>) -> Result<Self> {
        let (mut jobs, mut data_hashes) = (Vec::new(), BTreeMap::new());
        for (i, setting) in grid.settings.iter_mut().enumerate() {
            if let AnyExperiment::Training(experiment) = &mut setting.experiment {
                resolve(experiment, data)?;
            }
            // A run is one seed: all of them are not copied for each.
            let of_any_seed = setting.experiment.without_seeds();
            for (fold, hash) in data.hashed_folds(&setting.experiment)? {
                for &seed in setting.experiment.seeds_of_runs() {
                    jobs.push(job(i, &of_any_seed, fold, seed, &hash)?);
                }
                data_hashes.insert(format!("{} fold {fold}", setting.experiment.data_name()), hash);
            }
        }
        let n_runs = jobs.len();
        if let Some(Shard { number, of }) = shard {
            // Every n-th run: all shards get their part of the long settings.
            jobs = jobs.into_iter().skip(number - 1).step_by(of).collect();
        }
        Ok(Self { grid, jobs, n_runs, shard, data_hashes })
    }

    pub(super) fn experiment(&self, job: &Job) -> AnyExperiment {
        match (&self.grid.settings[job.setting].experiment, &job.origin) {
            (AnyExperiment::Training(experiment), Origin::Training) => training_of(experiment).into(),
            (experiment, _) => experiment.clone(),
        }
    }

    /// Interactions of a run; steps of training in mimic learning.
    pub fn n_interactions(&self, job: &Job) -> u64 {
        let experiment = &self.grid.settings[job.setting].experiment;
        let of_schedule = || experiment.schedule().map_or(0, |schedule| schedule.n_interactions() as u64);
        experiment.mimic().map_or_else(of_schedule, |mimic| mimic.n_steps())
    }

    /// What must be known to read the numbers of these settings, each warning once.
    pub fn warnings(&self, data: &DataCache) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for experiment in self.grid.settings.iter().filter_map(|setting| setting.experiment.training()) {
            let Some(fold) = data.all_folds(&experiment.data).next() else { continue };
            let about_data = about_data(&experiment.data, data.numbered_folds(&experiment.data));
            for warning in about_data.into_iter().chain(warnings(experiment, fold)) {
                if !all.contains(&warning) {
                    all.push(warning);
                }
            }
        }
        all
    }
}

fn resolve(experiment: &mut Experiment, data: &DataCache) -> Result<()> {
    let folds = || data.all_folds(&experiment.data);
    let no_validation = folds().any(|fold| fold.validation.is_none());
    ensure!(
        !(no_validation && experiment.metrics.evaluate_on.contains(&Split::Validation)),
        "metrics.evaluate_on asks for validation queries, but {} has none",
        experiment.data.name()
    );
    // One fold may lack the highest grade; all runs of an experiment must have the same users nevertheless.
    let max_label = folds().map(Fold::max_label).max().unwrap_or(0);
    if let Some(users) = &mut experiment.users {
        users.resolve_grades(max_label);
        users.build(max_label).with_context(|| format!("[users] and {}", experiment.data.name()))?;
    }
    Ok(())
}

fn job(setting: usize, experiment: &AnyExperiment, fold: usize, seed: u64, data_hash: &str) -> Result<Job> {
    let key = |experiment: &AnyExperiment| -> Result<String> {
        Ok(run_key(&settings_of_run(experiment, fold, seed)?, fold, seed, data_hash))
    };
    let origin = match experiment.training().and_then(|it| Some((it, it.unlearning.clone()?))) {
        Some((training, request)) => {
            Origin::History { parent: key(&training_of(training).into())?, request, lineage: Vec::new() }
        }
        None => Origin::Setting,
    };
    Ok(Job { setting, fold, seed, key: key(experiment)?, data_hash: data_hash.into(), origin })
}
