//! A run that starts from the history of a finished one: clients leave and are forgotten.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Result, ensure};
use foltr_federation::History;
use foltr_simulation::datasets::Fold;

use super::evaluator::RunEvaluator;
use super::recorder::Recorder;
use super::setup::RunSetup;
use super::unlearning;
use crate::history_files;
use crate::job::training_of;
use crate::rows::{MetricName, RoundProgress, Row, RunOutcome};
use crate::spec::{Experiment, UnlearningRequest};
use crate::store::{FinishedRun, RunRecord};

/// A finished run, and who leaves it.
pub struct Parent {
    pub folder: PathBuf,
    pub request: UnlearningRequest,
    pub run: FinishedRun,
    pub histories: Vec<History>,
}

impl Parent {
    /// Reads a finished run.
    ///
    /// # Errors
    /// If it has no history, or a file of it is damaged.
    pub fn read(folder: &Path, request: &UnlearningRequest) -> Result<Self> {
        RunRecord::verify(folder)?;
        let (run, histories) = (FinishedRun::read(folder)?, history_files::read(folder)?);
        Ok(Self { folder: folder.into(), request: request.clone(), run, histories })
    }

    /// Meets the request. Rows are those of the training and those of this request.
    pub(super) fn run(
        &self,
        experiment: &Experiment,
        fold: &Fold,
        seed: u64,
        progress: &(dyn Fn(RoundProgress) + Sync),
        sink: &mut dyn FnMut(Row),
        stop: &AtomicBool,
    ) -> Result<RunOutcome> {
        let training = training_of(experiment);
        let setup = RunSetup::new(&training, fold, seed)?;
        let is_own = |history: &History| history.header().settings == setup.fingerprint;
        ensure!(
            self.histories.iter().all(is_own),
            "the history in {} is of a run with other settings or other data",
            self.folder.display()
        );
        let is_training =
            |row: &&Row| !matches!(row.metric, MetricName::Unlearning(..) | MetricName::UnlearningOnline(_));
        self.run.rows.iter().filter(is_training).for_each(|&row| sink(row));
        let evaluator = RunEvaluator::new(&training, fold, Some(&setup.data), Some(&setup.any_user))?;
        let mut recorder = Recorder::new(setup.shape, evaluator, sink);
        let settings = setup.settings(&training, seed)?;
        let shards = training.federation.as_ref().and_then(|federation| federation.shards);
        let ended = match shards {
            Some(shards) => unlearning::forget_in_shards(self, &setup, settings, shards, &mut recorder)?,
            None => unlearning::forget(self, &setup, &settings, &training.metrics, &mut recorder, (progress, stop))?,
        };
        Ok(RunOutcome {
            ranker: Some((setup.shape, ended.ranker)),
            clients: self.run.clients.clone(),
            histories: ended.histories,
            interrupted: ended.forgotten.is_none(),
            forgotten: ended.forgotten,
            n_interactions: self.run.record.n_interactions,
            training_seconds: self.run.record.training_seconds,
        })
    }
}
