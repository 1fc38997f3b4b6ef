//! Jobs into a store: as many side by side as there are threads; finished ones are not done again.

mod data_cache;
mod pending;
mod plan;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use rayon::ThreadPoolBuilder;

use crate::grid::AnyExperiment;
use crate::history_files;
use crate::job::{Job, Origin, settings_of_run};
use crate::manifest::{Invocation, Machine};
use crate::mimic::{Step, Store};
use crate::model::{self, Model, Provenance};
use crate::rows::{RoundProgress, RunOutcome};
use crate::run::{Parent, RunInput, Work, run_job};
use crate::store::{RunRecord, RunStore, RunWriter};
use crate::unlearn::{self, Signer};
use pending::Pending;

pub use data_cache::DataCache;
pub use plan::{Plan, Shard};

#[derive(Clone, Copy)]
pub struct Execution<'a> {
    pub progress: &'a (dyn Fn(Event) + Sync),
    /// Ends every run after its round when it becomes true.
    pub stop: &'a AtomicBool,
    /// Train again what was trained with clients that were forgotten since.
    pub retrain_forgotten: bool,
    /// Of mimic learning; a run is finished after the last one.
    pub steps: &'a [Step],
    /// Signs what `foltr unlearn` does.
    pub signer: Option<&'a Signer>,
}

impl<'a> Execution<'a> {
    pub fn new(progress: &'a (dyn Fn(Event) + Sync), stop: &'a AtomicBool) -> Self {
        Self { progress, stop, retrain_forgotten: false, steps: &Step::ALL, signer: None }
    }
}

/// How far jobs are. Work is interactions, or steps of mimic learning.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Started { work: u64 },
    Advanced { work: u64, message: Option<String> },
    Runs { n_done: usize, n_requested: usize },
    Ended,
}

#[derive(Debug)]
pub struct Executed {
    /// The first run that failed.
    pub ran: Result<()>,
    pub n_requested: usize,
    pub n_finished_before: usize,
    /// Damaged runs that were done again, others that were left alone, and what is worth knowing of texts.
    pub notes: Vec<String>,
    pub interrupted: bool,
    pub invocation: Invocation,
}

/// Does all jobs of a plan that are not finished in the store. Failures of runs are in [`Executed::ran`].
pub fn run_jobs(plan: &Plan, data: &DataCache, store: &RunStore, how: &Execution<'_>) -> Result<Executed> {
    let started = Instant::now();
    let Pending { first, then, n_requested, n_finished_before, mut notes } = Pending::of(plan, store, how)?;
    let progress = Progress { plan, report: how.progress, n_done: AtomicUsize::new(n_finished_before), n_requested };
    // What starts from a history has no rounds of training.
    (how.progress)(Event::Started { work: first.iter().map(|job| plan.n_interactions(job)).sum() });
    (how.progress)(Event::Runs { n_done: n_finished_before, n_requested });
    let run = |job: &Job| -> Result<()> {
        let experiment = plan.experiment(job);
        let (parent, record) = parent_and_record(job, &experiment, store)?;
        // Mimic learning goes on from its files.
        let is_training = experiment.training().is_some();
        let mut writer = if is_training { store.start(&job.key)? } else { store.resume(&job.key)? };
        let folder = writer.path().to_owned();
        let work = match &experiment {
            AnyExperiment::Training(experiment) => {
                Work::Training { experiment, fold: data.fold(&experiment.data, job.fold)? }
            }
            AnyExperiment::Mimic(experiment) => {
                Work::Mimic { experiment, store: data.store(experiment)?, folder: &folder, steps: how.steps }
            }
        };
        let parent = parent.as_ref();
        let input = RunInput { work, fold_number: job.fold, seed: job.seed, parent, stop: how.stop };
        let outcome = run_job(&input, &|round| progress.advance(job, round), &mut |row| writer.row(&row))?;
        if !outcome.interrupted {
            if let (Some(parent), Some(signer)) = (parent, how.signer) {
                unlearn::write_receipts(&writer, parent, &outcome, signer)?;
            }
            save(writer, job, work, record, outcome)?;
            progress.run_done(job);
        } else if is_training {
            writer.discard();
        }
        Ok(())
    };
    let run = |job: &Job| run(job).with_context(|| failure_of(plan, job));
    let ran = side_by_side(&first, how.stop, &run).and_then(|()| side_by_side(&then, how.stop, &run));
    (how.progress)(Event::Ended);
    notes.extend(data.stores().flat_map(Store::notes));
    Ok(Executed {
        ran,
        n_requested,
        n_finished_before,
        notes,
        interrupted: how.stop.load(Ordering::Relaxed),
        invocation: Invocation {
            shard: None,
            n_finished: progress.n_done.into_inner() - n_finished_before,
            seconds: started.elapsed().as_secs_f64(),
            threads: rayon::current_num_threads(),
            machine: Machine::this(),
        },
    })
}

/// The run that a job starts from, and what its own record says before it is run.
fn parent_and_record(job: &Job, experiment: &AnyExperiment, store: &RunStore) -> Result<(Option<Parent>, RunRecord)> {
    let settings = settings_of_run(experiment, job.fold, job.seed)?;
    let mut record = RunRecord::new(settings, job.fold, job.seed, &job.data_hash);
    let Origin::History { parent, request, lineage } = &job.origin else { return Ok((None, record)) };
    let from = Parent::read(&store.run_folder(parent), request)?;
    record.parent = Some(parent.clone());
    if !lineage.is_empty() {
        record.lineage.clone_from(lineage);
        record.settings.clone_from(&from.record.settings);
    }
    Ok((Some(from), record))
}

/// Writes all files of a run but its rows, and finishes it.
fn save(writer: RunWriter, job: &Job, work: Work<'_>, mut record: RunRecord, outcome: RunOutcome) -> Result<()> {
    record.n_interactions = outcome.n_interactions;
    record.training_seconds = outcome.training_seconds;
    history_files::write(writer.path(), &outcome.histories, outcome.forgotten.as_ref())?;
    if let Work::Training { experiment, fold } = work {
        let params = outcome.ranker.as_ref().map(|(_, params)| params.as_slice());
        writer.deployment(&experiment.deployment(fold.train.n_features(), params))?;
        if let Some((shape, params)) = outcome.ranker {
            let model = Model { shape, normalise: experiment.data.normalise(), params };
            model.write(&writer.path().join(model::FILE_NAME), Some(&Provenance::new(experiment, job)))?;
        }
    }
    writer.clients(&outcome.clients)?;
    writer.queries(&outcome.queries)?;
    writer.finish(record)
}

fn failure_of(plan: &Plan, job: &Job) -> String {
    let name = plan.grid.settings[job.setting].name();
    let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
    format!("the run{of} on fold {} with seed {} failed", job.fold, job.seed)
}

/// Does all jobs. Runs go side by side; clients of one run share its threads, of which there are more than one only when
/// there are fewer runs than threads. So no thread ever waits inside one run for another.
fn side_by_side(jobs: &[Job], stop: &AtomicBool, run: &(dyn Fn(&Job) -> Result<()> + Sync)) -> Result<()> {
    let n_threads = rayon::current_num_threads();
    let n_workers = n_threads.min(jobs.len()).max(1);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    let work = |n_own_threads: usize| -> Result<()> {
        let pool = ThreadPoolBuilder::new().num_threads(n_own_threads).build().context("threads cannot be started")?;
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            pool.install(|| run(job))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for worker in 0..n_workers {
            let (work, failed, failure) = (&work, &failed, &failure);
            // What cannot be divided evenly goes to the first workers.
            let n_own_threads = n_threads / n_workers + usize::from(worker < n_threads % n_workers);
            scope.spawn(move || {
                if let Err(error) = work(n_own_threads) {
                    failed.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

struct Progress<'a> {
    plan: &'a Plan,
    report: &'a (dyn Fn(Event) + Sync),
    n_done: AtomicUsize,
    n_requested: usize,
}

impl Progress<'_> {
    fn advance(&self, job: &Job, RoundProgress { n_new, message }: RoundProgress) {
        let schedule = self.plan.grid.settings[job.setting].experiment.schedule();
        let per_round = schedule.map_or(1, |schedule| schedule.interactions_per_round() as u64);
        let work = if job.parent().is_some() { 0 } else { n_new as u64 * per_round };
        (self.report)(Event::Advanced { work, message });
    }

    fn run_done(&self, job: &Job) {
        // Trainings that others start from were not asked for.
        if job.origin != Origin::Training {
            let n_done = self.n_done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.report)(Event::Runs { n_done, n_requested: self.n_requested });
        }
    }
}

/// Ctrl-C: finished runs stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted: finished runs stay; rerun the same command to resume")]
pub struct Interrupted;
