//! All data of a grid, each set loaded once.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use foltr_simulation::datasets::Fold;

use crate::data;
use crate::grid::{AnyExperiment, Grid};
use crate::mimic::{MimicExperiment, Store};
use crate::spec::Data;

/// All data of a grid, each set loaded once.
#[derive(Default)]
pub struct DataCache {
    training: Vec<(Data, Vec<LoadedFold>)>,
    /// With an experiment whose data it is.
    mimic: Vec<(MimicExperiment, Store)>,
}

struct LoadedFold {
    number: usize,
    fold: Fold,
    hash: String,
}

impl DataCache {
    /// Loads what the settings of a grid name.
    ///
    /// # Errors
    /// If data cannot be found or read.
    pub fn load(grid: &Grid) -> Result<Self> {
        let mut loaded = Self::default();
        for setting in &grid.settings {
            match &setting.experiment {
                AnyExperiment::Training(experiment) => loaded.add_training(&experiment.data)?,
                AnyExperiment::Mimic(experiment) => loaded.add_mimic(experiment)?,
            }
        }
        Ok(loaded)
    }

    fn add_training(&mut self, data: &Data) -> Result<()> {
        if self.training.iter().any(|(known, _)| known == data) {
            return Ok(());
        }
        let folds = data::load(data)?.into_iter().map(|(number, fold)| {
            let hash = format!("{:016x}", fold.content_hash());
            LoadedFold { number, fold, hash }
        });
        self.training.push((data.clone(), folds.collect()));
        Ok(())
    }

    fn add_mimic(&mut self, experiment: &MimicExperiment) -> Result<()> {
        if self.store(experiment).is_err() {
            self.mimic.push((experiment.clone(), Store::load(experiment)?));
        }
        Ok(())
    }

    /// The data of an experiment of mimic learning.
    ///
    /// # Errors
    /// If it was not loaded.
    pub fn store(&self, experiment: &MimicExperiment) -> Result<&Store> {
        let same = |known: &MimicExperiment| {
            (&known.data, &known.supervision, &known.public, &known.evaluation)
                == (&experiment.data, &experiment.supervision, &experiment.public, &experiment.evaluation)
        };
        let found = self.mimic.iter().find(|(known, _)| same(known));
        found.map(|(_, store)| store).context("the data of this experiment is not loaded")
    }

    /// All data of mimic learning, in the order in which it was loaded.
    pub fn stores(&self) -> impl Iterator<Item = &Store> {
        self.mimic.iter().map(|(_, store)| store)
    }

    fn folds(&self, data: &Data) -> &[LoadedFold] {
        self.training.iter().find(|(known, _)| known == data).map_or(&[], |(_, folds)| folds)
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

    /// The folds that an experiment is run on, with their hashes.
    ///
    /// # Errors
    /// If its data was not loaded.
    pub fn hashed_folds(&self, experiment: &AnyExperiment) -> Result<Vec<(usize, String)>> {
        match experiment {
            AnyExperiment::Training(experiment) => {
                Ok(self.folds(&experiment.data).iter().map(|fold| (fold.number, fold.hash.clone())).collect())
            }
            AnyExperiment::Mimic(experiment) => {
                let store = self.store(experiment)?;
                let hashed = |fold: usize| (fold, format!("{:016x}", store.hash(fold)));
                Ok(store.folds(experiment).into_iter().map(hashed).collect())
            }
        }
    }

    /// The hash of every fold, by name of the data set and number.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let training = self.training.iter().flat_map(|(data, folds)| folds.iter().map(move |fold| (data.name(), fold)));
        let training = training.map(|(name, fold)| (format!("{name} fold {}", fold.number), fold.hash.clone()));
        let mimic = self.mimic.iter().flat_map(|(experiment, store)| {
            let hashed =
                |fold: usize| (format!("{} fold {fold}", experiment.data.name()), format!("{:016x}", store.hash(fold)));
            store.folds(experiment).into_iter().map(hashed)
        });
        training.chain(mimic).collect()
    }

    /// Bytes of all features and labels of training.
    pub fn n_bytes(&self) -> usize {
        let folds = self.training.iter().flat_map(|(_, folds)| folds);
        let parts =
            folds.flat_map(|fold| [Some(&fold.fold.train), fold.fold.validation.as_ref(), Some(&fold.fold.test)]);
        parts.flatten().map(|part| size_of_val(part.rows()) + part.all_labels().len()).sum()
    }
}
