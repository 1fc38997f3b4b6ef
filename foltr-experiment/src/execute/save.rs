//! One job between its plan and the disk.

use std::path::PathBuf;

use anyhow::Result;
use foltr_simulation::datasets::Fold;

use super::Execution;
use super::data_cache::DataCache;
use super::plan::Plan;
use crate::grid::AnyExperiment;
use crate::history_files;
use crate::job::{Job, Start, settings_of_run};
use crate::mimic::Store;
use crate::model::{self, Model};
use crate::rows::RunOutcome;
use crate::run::{Parent, RunInput, Work};
use crate::store::{RunRecord, RunStore, RunWriter};
use crate::unlearn::{self, Signer};

/// A job that has begun.
pub(super) struct Task<'a> {
    job: &'a Job,
    experiment: AnyExperiment,
    on: Data<'a>,
    parent: Option<Parent>,
    record: RunRecord,
    folder: PathBuf,
}

enum Data<'a> {
    Training(&'a Fold),
    Mimic(&'a Store),
}

impl<'a> Task<'a> {
    pub(super) fn begin(job: &'a Job, plan: &Plan, data: &'a DataCache, store: &RunStore) -> Result<(Self, RunWriter)> {
        let experiment = plan.experiment(job);
        let settings = settings_of_run(&experiment, job.fold, job.seed)?;
        let (on, hash, writer) = match &experiment {
            AnyExperiment::Training(training) => {
                let (fold, hash) = data.fold(&training.data, job.fold)?;
                (Data::Training(fold), hash.to_owned(), store.start(&job.key)?)
            }
            AnyExperiment::Mimic(mimic) => {
                let on = data.store(mimic)?;
                (Data::Mimic(on), format!("{:016x}", on.hash(job.fold)), store.resume(&job.key)?)
            }
        };
        let mut record = RunRecord::new(settings, job.fold, job.seed, &hash);
        let parent = match &job.start {
            Start::History { parent, request, lineage } => {
                let from = Parent::read(&store.run_folder(parent), request)?;
                record.parent = Some(parent.clone());
                if !lineage.is_empty() {
                    record.lineage.clone_from(lineage);
                    record.settings = from.run.record.settings.clone();
                }
                Some(from)
            }
            Start::Setting | Start::Training => None,
        };
        let folder = writer.path().to_owned();
        Ok((Self { job, experiment, on, parent, record, folder }, writer))
    }

    pub(super) fn input<'s>(&'s self, how: &Execution<'s>) -> RunInput<'s> {
        let work = match (&self.experiment, &self.on) {
            (AnyExperiment::Training(experiment), Data::Training(fold)) => Work::Training { experiment, fold },
            (AnyExperiment::Mimic(experiment), Data::Mimic(store)) => {
                Work::Mimic { experiment, store, folder: &self.folder, steps: how.steps }
            }
            _ => unreachable!("data is loaded by experiment"),
        };
        RunInput { work, fold_number: self.job.fold, seed: self.job.seed, parent: self.parent.as_ref(), stop: how.stop }
    }

    /// Finishes the run and says whether it was finished: an interrupted one is not.
    pub(super) fn end(self, writer: RunWriter, outcome: RunOutcome, signer: Option<&Signer>) -> Result<bool> {
        let Self { job, experiment, parent, mut record, .. } = self;
        if outcome.interrupted {
            if experiment.training().is_some() {
                writer.discard();
            }
            return Ok(false);
        }
        if let Some(training) = experiment.training() {
            history_files::write(writer.path(), &outcome.histories, outcome.forgotten.as_ref())?;
            if let Some((shape, params)) = outcome.ranker {
                let model = Model { shape, normalise: training.data.normalise(), params };
                let about = format!("{}; fold {}, seed {}", training.learner.name(), job.fold, job.seed);
                model.write(&writer.path().join(model::FILE_NAME), &about)?;
            }
            writer.clients(&outcome.clients)?;
        }
        if let (Some(parent), Some(signer), Some(forgotten)) = (&parent, signer, &outcome.forgotten) {
            unlearn::write_receipts(&writer, parent, &outcome.histories, forgotten, signer)?;
        }
        record.n_interactions = outcome.n_interactions;
        record.training_seconds = outcome.training_seconds;
        writer.finish(record)?;
        Ok(true)
    }
}
