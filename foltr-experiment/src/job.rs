//! One run to do, and its name.

use anyhow::Result;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use crate::grid::AnyExperiment;
use crate::mimic::MimicData;
use crate::results::JobLine;
use crate::spec::{Data, Experiment, UnlearningRequest};
use crate::store::{CODE_HASH, Lineage};

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub setting: usize,
    /// From 1.
    pub fold: usize,
    pub seed: u64,
    /// The name that this run has, wherever and whenever it is done.
    pub key: String,
    pub(crate) data_hash: String,
    pub(crate) origin: Origin,
}

/// What a run starts from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    Setting,
    /// Its setting without `[unlearning]`: the training that others start from.
    Training,
    /// The history of a finished run.
    History {
        parent: String,
        request: UnlearningRequest,
        /// Of requests that `foltr unlearn` met; empty if the experiment itself asks for it.
        lineage: Vec<Lineage>,
    },
}

impl Job {
    pub fn parent(&self) -> Option<&str> {
        if let Origin::History { parent, .. } = &self.origin { Some(parent) } else { None }
    }

    pub(crate) fn training(&self) -> Option<Self> {
        let parent = self.parent()?;
        Some(Self { key: parent.into(), origin: Origin::Training, ..self.clone() })
    }

    pub fn line(&self) -> JobLine {
        JobLine { key: self.key.clone(), setting: self.setting, fold: self.fold, seed: self.seed }
    }
}

impl From<Experiment> for AnyExperiment {
    fn from(experiment: Experiment) -> Self {
        Self::Training(Box::new(experiment))
    }
}

/// The same experiment without `[unlearning]`, with the history that its method needs.
pub(crate) fn training_of(experiment: &Experiment) -> Experiment {
    Experiment { unlearning: None, history: experiment.history_policy(), ..experiment.clone() }
}

/// What one run of an experiment depends on, other runs of the same experiment left out.
pub(crate) fn settings_of_run(experiment: &AnyExperiment, fold: usize, seed: u64) -> Result<Value> {
    let only = |data: &mut Data| {
        if let Data::Folder { folds, .. } = data {
            *folds = Some(vec![fold]);
        }
    };
    let mut experiment = experiment.clone();
    match &mut experiment {
        AnyExperiment::Training(training) => {
            training.seeds = vec![seed];
            only(&mut training.data);
        }
        AnyExperiment::Mimic(mimic) => {
            mimic.seeds = vec![seed];
            if let MimicData::Features(data) = &mut mimic.data {
                only(data);
            }
        }
    }
    Ok(serde_json::to_value(&experiment)?)
}

/// A run's name: the same settings, data and code have the same one.
pub(crate) fn run_key(settings: &Value, fold: usize, seed: u64, data_hash: &str) -> String {
    hash(&format!("{settings}\n{fold}\n{seed}\n{data_hash}\n{CODE_HASH}"))
}

/// The name of a run after a request to forget clients.
pub(crate) fn key_after(lineage: &Lineage) -> Result<String> {
    Ok(hash(&serde_json::to_string(lineage)?))
}

fn hash(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}
