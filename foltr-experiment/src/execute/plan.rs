//! Which runs a grid needs, on which data, and which of them one machine does.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};

use super::data_cache::DataCache;
use crate::grid::{AnyExperiment, Grid};
use crate::job::{Job, Start, run_key, settings_of_run, training_of};
use crate::privacy_warnings::cautions;
use crate::run::resolve_grades;
use crate::spec::{Experiment, Split};

/// One share of the runs of a grid, for one machine of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1.
    pub number: usize,
    /// Of how many.
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

/// The runs of a grid.
#[derive(Clone, Debug)]
pub struct Plan {
    /// With everything known that follows from the data.
    pub grid: Grid,
    /// In the order of settings, folds and seeds; of one shard only if there are several.
    pub jobs: Vec<Job>,
    /// Runs of the whole grid.
    pub n_runs: usize,
    pub shard: Option<Shard>,
}

impl Plan {
    /// The runs of a grid on loaded data.
    ///
    /// # Errors
    /// If a setting does not fit its data.
    pub fn new(mut grid: Grid, data: &DataCache, shard: Option<Shard>) -> Result<Self> {
        let mut jobs = Vec::new();
        for (i, setting) in grid.settings.iter_mut().enumerate() {
            if let AnyExperiment::Training(experiment) = &mut setting.experiment {
                resolve(experiment, data)?;
            }
            for (fold, hash) in data.hashed_folds(&setting.experiment)? {
                for &seed in setting.experiment.seeds_of_runs() {
                    jobs.push(job(i, &setting.experiment, fold, seed, &hash)?);
                }
            }
        }
        let n_runs = jobs.len();
        if let Some(Shard { number, of }) = shard {
            // Every n-th run: all shards get their part of the long settings.
            jobs = jobs.into_iter().skip(number - 1).step_by(of).collect();
        }
        Ok(Self { grid, jobs, n_runs, shard })
    }

    /// What a job runs.
    pub fn experiment(&self, job: &Job) -> AnyExperiment {
        match (&self.grid.settings[job.setting].experiment, &job.start) {
            (AnyExperiment::Training(experiment), Start::Training) => training_of(experiment).into(),
            (experiment, _) => experiment.clone(),
        }
    }

    /// What must be known to read the numbers of these settings, each warning once.
    pub fn cautions(&self, data: &DataCache) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for experiment in self.grid.settings.iter().filter_map(|setting| setting.experiment.training()) {
            let Some((_, fold)) = data.numbered(&experiment.data).next() else { continue };
            for caution in cautions(experiment, fold) {
                if !all.contains(&caution) {
                    all.push(caution);
                }
            }
        }
        all
    }
}

/// Fills in what follows from the data.
fn resolve(experiment: &mut Experiment, data: &DataCache) -> Result<()> {
    let section = experiment.data.clone();
    resolve_grades(experiment, data.numbered(&section).map(|(_, fold)| fold));
    let no_validation = data.numbered(&section).any(|(_, fold)| fold.validation.is_none());
    let asked = experiment.metrics.evaluate_on.contains(&Split::Validation);
    ensure!(
        !(no_validation && asked),
        "metrics.evaluate_on asks for validation queries, but {} has none",
        section.name()
    );
    Ok(())
}

fn job(setting: usize, experiment: &AnyExperiment, fold: usize, seed: u64, data_hash: &str) -> Result<Job> {
    let key = |experiment: &AnyExperiment| -> Result<String> {
        Ok(run_key(&settings_of_run(experiment, fold, seed)?, fold, seed, data_hash))
    };
    let start = match experiment.training().and_then(|it| Some((it, it.unlearning.clone()?))) {
        Some((training, request)) => {
            Start::History { parent: key(&training_of(training).into())?, request, lineage: Vec::new() }
        }
        None => Start::Setting,
    };
    let schedule = experiment.schedule();
    Ok(Job {
        setting,
        fold,
        seed,
        key: key(experiment)?,
        start,
        interactions_per_round: schedule.map_or(0, |s| s.interactions_per_round() as u64),
        n_interactions: match experiment {
            AnyExperiment::Training(_) => schedule.map_or(0, |s| s.n_interactions() as u64),
            AnyExperiment::Mimic(mimic) => mimic.n_steps(),
        },
    })
}
