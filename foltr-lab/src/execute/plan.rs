//! Which runs a grid needs, on which data, and which of them one machine does.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};
use foltr_simulation::datasets::Fold;

use crate::caution::cautions;
use crate::data;
use crate::folder::run_key;
use crate::grid::Grid;
use crate::run::resolve_grades;
use crate::spec::{Data, Split};

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

/// All data of a grid, each set loaded once.
#[derive(Debug)]
pub struct Collections(Vec<(Data, Vec<LoadedFold>)>);

/// One fold in memory.
#[derive(Debug)]
struct LoadedFold {
    number: usize,
    fold: Fold,
    hash: String,
}

impl Collections {
    /// Loads what the settings of a grid name.
    ///
    /// # Errors
    /// If data cannot be found or read.
    pub fn load(grid: &Grid) -> Result<Self> {
        let mut loaded: Vec<(Data, Vec<LoadedFold>)> = Vec::new();
        for setting in &grid.settings {
            let data = &setting.experiment.data;
            if loaded.iter().any(|(known, _)| known == data) {
                continue;
            }
            let folds = data::load(data)?.into_iter().map(|(number, fold)| {
                let hash = format!("{:016x}", fold.content_hash());
                LoadedFold { number, fold, hash }
            });
            loaded.push((data.clone(), folds.collect()));
        }
        Ok(Self(loaded))
    }

    fn folds(&self, data: &Data) -> &[LoadedFold] {
        self.0.iter().find(|(known, _)| known == data).map_or(&[], |(_, folds)| folds)
    }

    /// The numbers and folds of a data section.
    pub fn numbered(&self, data: &Data) -> impl Iterator<Item = (usize, &Fold)> {
        self.folds(data).iter().map(|fold| (fold.number, &fold.fold))
    }

    /// A fold and its hash.
    ///
    /// # Errors
    /// If the data has no such fold.
    pub fn fold(&self, data: &Data, number: usize) -> Result<(&Fold, &str)> {
        let found = self.folds(data).iter().find(|fold| fold.number == number);
        found.map(|fold| (&fold.fold, fold.hash.as_str())).with_context(|| format!("fold {number} is not loaded"))
    }

    /// The hash of every fold, by name of the data set and number.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let pairs = self.0.iter().flat_map(|(data, folds)| folds.iter().map(move |fold| (data, fold)));
        pairs.map(|(data, fold)| (format!("{} fold {}", data.name(), fold.number), fold.hash.clone())).collect()
    }

    /// Bytes of all features and labels.
    pub fn n_bytes(&self) -> usize {
        let folds = self.0.iter().flat_map(|(_, folds)| folds);
        let parts =
            folds.flat_map(|fold| [Some(&fold.fold.train), fold.fold.validation.as_ref(), Some(&fold.fold.test)]);
        parts.flatten().map(|part| size_of_val(part.rows()) + part.all_labels().len()).sum()
    }
}

/// One run to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index of the setting.
    pub setting: usize,
    /// The fold's number, from 1.
    pub fold: usize,
    /// Seed of the run.
    pub seed: u64,
    /// The name that this run has, wherever and whenever it is done.
    pub key: String,
    /// Of all clients.
    pub interactions_per_round: u64,
    /// Of the whole run.
    pub n_interactions: u64,
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
}

impl Plan {
    /// The runs of a grid on loaded data.
    ///
    /// # Errors
    /// If a setting does not fit its data.
    pub fn new(mut grid: Grid, collections: &Collections, shard: Option<Shard>) -> Result<Self> {
        let mut jobs = Vec::new();
        for i in 0..grid.settings.len() {
            let setting = &mut grid.settings[i];
            let data = setting.experiment.data.clone();
            resolve_grades(&mut setting.experiment, collections.numbered(&data).map(|(_, fold)| fold));
            let no_validation = collections.numbered(&data).any(|(_, fold)| fold.validation.is_none());
            let asked = setting.experiment.metrics.evaluate_on.contains(&Split::Validation);
            anyhow::ensure!(
                !(no_validation && asked),
                "metrics.evaluate_on asks for validation queries, but {} has none",
                data.name()
            );
            let schedule = setting.experiment.schedule();
            for (fold, _) in collections.numbered(&data) {
                let (_, hash) = collections.fold(&data, fold)?;
                for &seed in setting.experiment.seeds_of_runs() {
                    jobs.push(Job {
                        setting: i,
                        fold,
                        seed,
                        key: run_key(setting, fold, seed, hash)?,
                        interactions_per_round: schedule.map_or(0, |s| s.interactions_per_round() as u64),
                        n_interactions: schedule.map_or(0, |s| s.n_interactions() as u64),
                    });
                }
            }
        }
        let n_runs = jobs.len();
        if let Some(Shard { number, of }) = shard {
            // Every n-th run: all shards get their part of the long settings.
            jobs = jobs.into_iter().skip(number - 1).step_by(of).collect();
        }
        Ok(Self { grid, jobs, n_runs })
    }

    /// What must be known to read the numbers of these settings, each caution once.
    pub fn cautions(&self, collections: &Collections) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for setting in &self.grid.settings {
            let Some((_, fold)) = collections.numbered(&setting.experiment.data).next() else { continue };
            for caution in cautions(&setting.experiment, fold) {
                if !told.contains(&caution) {
                    told.push(caution);
                }
            }
        }
        told
    }
}
