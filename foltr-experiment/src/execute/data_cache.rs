//! All data of a grid, each set loaded once.

use anyhow::{Context, Result};
use foltr_simulation::datasets::Fold;

use crate::data;
use crate::grid::{AnyExperiment, Grid};
use crate::mimic::{MimicExperiment, Store};
use crate::spec::Data;

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
    pub fn load(grid: &Grid) -> Result<Self> {
        let mut loaded = Self::default();
        for setting in &grid.settings {
            match &setting.experiment {
                AnyExperiment::Training(experiment) => loaded.add_training(&experiment.data)?,
                AnyExperiment::Mimic(experiment) if loaded.store(experiment).is_err() => {
                    loaded.mimic.push((*experiment.clone(), Store::load(experiment)?));
                }
                AnyExperiment::Mimic(_) => {}
            }
        }
        Ok(loaded)
    }

    fn add_training(&mut self, data: &Data) -> Result<()> {
        if self.training.iter().all(|(known, _)| known != data) {
            let folds = data::load(data)?.into_iter().map(|(number, fold)| {
                let hash = format!("{:016x}", fold.content_hash());
                LoadedFold { number, fold, hash }
            });
            self.training.push((data.clone(), folds.collect()));
        }
        Ok(())
    }

    pub(crate) fn store(&self, experiment: &MimicExperiment) -> Result<&Store> {
        let same = |known: &MimicExperiment| {
            (&known.data, &known.supervision, &known.public, &known.evaluation)
                == (&experiment.data, &experiment.supervision, &experiment.public, &experiment.evaluation)
        };
        let store = self.mimic.iter().find(|(known, _)| same(known));
        store.map(|(_, store)| store).context("the data of this experiment is not loaded")
    }

    /// All data of mimic learning, in the order in which it was loaded.
    pub fn stores(&self) -> impl Iterator<Item = &Store> {
        self.mimic.iter().map(|(_, store)| store)
    }

    fn folds(&self, data: &Data) -> &[LoadedFold] {
        self.training.iter().find(|(known, _)| known == data).map_or(&[], |(_, folds)| folds)
    }

    pub(crate) fn all_folds(&self, data: &Data) -> impl Iterator<Item = &Fold> {
        self.folds(data).iter().map(|loaded| &loaded.fold)
    }

    pub(crate) fn numbered_folds(&self, data: &Data) -> impl Iterator<Item = (usize, &Fold)> {
        self.folds(data).iter().map(|loaded| (loaded.number, &loaded.fold))
    }

    pub fn fold(&self, data: &Data, number: usize) -> Result<&Fold> {
        let loaded = self.folds(data).iter().find(|loaded| loaded.number == number);
        loaded.map(|loaded| &loaded.fold).with_context(|| format!("fold {number} is not loaded"))
    }

    pub(super) fn hashed_folds(&self, experiment: &AnyExperiment) -> Result<Vec<(usize, String)>> {
        match experiment {
            AnyExperiment::Training(experiment) => {
                let folds = self.folds(&experiment.data).iter();
                Ok(folds.map(|loaded| (loaded.number, loaded.hash.clone())).collect())
            }
            AnyExperiment::Mimic(experiment) => {
                let store = self.store(experiment)?;
                let hashed = |fold: usize| (fold, format!("{:016x}", store.hash(fold)));
                Ok(store.folds(experiment).into_iter().map(hashed).collect())
            }
        }
    }

    /// Of all features and labels of training.
    pub fn n_bytes(&self) -> usize {
        let folds = self.training.iter().flat_map(|(_, folds)| folds).map(|loaded| &loaded.fold);
        let parts = folds.flat_map(|fold| [Some(&fold.train), fold.validation.as_ref(), Some(&fold.test)]);
        parts.flatten().map(|part| size_of_val(part.rows()) + part.all_labels().len()).sum()
    }
}
