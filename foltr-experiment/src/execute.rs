//! Jobs into a store: as many side by side as there are threads; finished ones are not done again.

mod data_cache;
mod pending;
mod plan;
mod save;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use rayon::ThreadPoolBuilder;

use crate::job::{Job, Start};
use crate::manifest::{Invocation, Machine};
use crate::mimic::Step;
use crate::run::run_job;
use crate::store::RunStore;
use crate::unlearn::Signer;
use pending::Pending;
use save::Task;

pub use data_cache::DataCache;
pub use plan::{Plan, Shard};

/// How jobs are run.
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

/// How far jobs are.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Interactions or steps of everything that is to be done.
    Started {
        work: u64,
    },
    /// So many more were done.
    Advanced {
        work: u64,
        message: Option<String>,
    },
    /// So many runs of so many are finished.
    Runs {
        n_done: usize,
        n_wanted: usize,
    },
    Ended,
}

/// What came of it.
#[derive(Debug)]
pub struct Executed {
    /// The first run that failed.
    pub ran: Result<()>,
    /// Runs that were asked for.
    pub n_wanted: usize,
    /// Runs that had been finished before.
    pub n_found: usize,
    /// Damaged runs that were done again, and others that were left alone.
    pub notes: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    pub invocation: Invocation,
}

/// Does all jobs of a plan that are not finished in the store.
///
/// # Errors
/// If a job needs a training in which clients were forgotten, or a damaged run cannot be removed. Failures of runs are in
/// [`Executed::ran`].
pub fn run_jobs(plan: &Plan, data: &DataCache, store: &RunStore, how: &Execution<'_>) -> Result<Executed> {
    let started = Instant::now();
    let Pending { first, then, n_wanted, n_found, notes } = Pending::of(plan, store, how)?;
    let progress = Progress::new(first.iter().chain(&then), n_found, n_wanted, how);
    let one = |job: &Job| -> Result<()> {
        let (task, mut writer) = Task::begin(job, plan, data, store)?;
        let input = task.input(how);
        let outcome = run_job(&input, &|round| progress.advance(job, round), &mut |row| writer.row(&row));
        let is_finished = task.end(writer, outcome.with_context(|| told(plan, job))?, how.signer)?;
        progress.run_done(job, is_finished);
        Ok(())
    };
    let ran = side_by_side(&first, how.stop, &one).and_then(|()| side_by_side(&then, how.stop, &one));
    (how.progress)(Event::Ended);
    Ok(Executed {
        ran,
        n_wanted,
        n_found,
        notes,
        interrupted: how.stop.load(Ordering::Relaxed),
        invocation: Invocation {
            shard: None,
            n_finished: progress.n_done.into_inner() - n_found,
            seconds: started.elapsed().as_secs_f64(),
            threads: rayon::current_num_threads(),
            machine: Machine::this(),
        },
    })
}

fn told(plan: &Plan, job: &Job) -> String {
    let name = plan.grid.settings[job.setting].name();
    let what = if name.is_empty() { "the run".to_owned() } else { format!("the run of {name}") };
    format!("{what} on fold {} with seed {} failed", job.fold, job.seed)
}

/// Does all jobs. Runs go side by side; clients of one run share its threads, of which there are more than one only when
/// there are fewer runs than threads. So no thread ever waits inside one run for another.
fn side_by_side(jobs: &[Job], stop: &AtomicBool, one: &(dyn Fn(&Job) -> Result<()> + Sync)) -> Result<()> {
    let n_threads = rayon::current_num_threads();
    let n_workers = n_threads.min(jobs.len()).max(1);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    let work = |n_own_threads: usize| -> Result<()> {
        let pool = ThreadPoolBuilder::new().num_threads(n_own_threads).build().context("threads cannot be started")?;
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            pool.install(|| one(job))?;
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

/// How far all runs are.
struct Progress<'a> {
    tell: &'a (dyn Fn(Event) + Sync),
    n_done: AtomicUsize,
    n_wanted: usize,
}

impl<'a> Progress<'a> {
    fn new<'j>(jobs: impl Iterator<Item = &'j Job>, n_found: usize, n_wanted: usize, how: &Execution<'a>) -> Self {
        (how.progress)(Event::Started { work: jobs.map(work_of).sum() });
        (how.progress)(Event::Runs { n_done: n_found, n_wanted });
        Self { tell: how.progress, n_done: AtomicUsize::new(n_found), n_wanted }
    }

    fn advance(&self, job: &Job, done: crate::rows::RoundProgress) {
        let per_round = if job.interactions_per_round == 0 { 1 } else { job.interactions_per_round };
        let work = if job.parent().is_some() { 0 } else { done.n_new as u64 * per_round };
        (self.tell)(Event::Advanced { work, message: done.message });
    }

    fn run_done(&self, job: &Job, is_finished: bool) {
        // Trainings that others start from were not asked for.
        if is_finished && job.start != Start::Training {
            let n_done = self.n_done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.tell)(Event::Runs { n_done, n_wanted: self.n_wanted });
        }
    }
}

fn work_of(job: &Job) -> u64 {
    if job.parent().is_some() { 0 } else { job.n_interactions }
}

/// Ctrl-C: finished runs stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted: finished runs stay; rerun the same command to resume")]
pub struct Interrupted;
