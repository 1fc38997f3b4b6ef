//! Runs a grid into a result folder: as many runs side by side as there are threads; finished ones are not done again.

mod assemble;
mod plan;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::ThreadPoolBuilder;

use crate::about::{About, Machine, Start};
use crate::folder::{CODE_HASH, ResultFolder, RunFacts};
use crate::grid::Grid;
use crate::kept;
use crate::model::{self, Model};
use crate::results::Results;
use crate::rows::RoundProgress;
use crate::run::run_one;

pub use assemble::{assemble, merge};
pub use plan::{Collections, Job, Plan, Shard};

/// How a grid is run.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// Only this share of the runs.
    pub shard: Option<Shard>,
    /// Shows how far it is.
    pub bar: &'a ProgressBar,
    /// Ends every run after its round when it becomes true.
    pub stop: &'a AtomicBool,
    /// Whether the rows are also written as Parquet.
    pub parquet: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Completion {
    /// Everything that is finished in the folder.
    pub results: Results,
    /// Runs that were asked for.
    pub n_wanted: usize,
    /// Runs that had been finished before.
    pub n_found: usize,
    /// What must be known to read the numbers, told once for all settings that it concerns.
    pub cautions: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}

/// Runs what is not finished yet, then writes the tables of everything that is.
///
/// # Errors
/// If data cannot be read, the grid does not fit it, a run fails or something cannot be written. Finished runs are kept.
pub fn run_grid(grid: Grid, out: &Path, how: &Execution<'_>) -> Result<Completion> {
    let started = Instant::now();
    let collections = Collections::load(&grid)?;
    let plan = Plan::new(grid, &collections, how.shard)?;
    let folder = ResultFolder::open(out)?;
    folder.write("resolved.toml", plan.grid.to_toml()?.as_bytes())?;
    let mut about = About {
        data: collections.hashes(),
        keys: plan.jobs.iter().map(|job| job.key.clone()).collect(),
        n_runs: plan.n_runs,
        starts: earlier_starts(out),
        ..About::this_program()
    };
    folder.write("run.json", &serde_json::to_vec_pretty(&about)?)?;
    let pending: Vec<&Job> = plan.jobs.iter().filter(|job| !folder.has(&job.key)).collect();
    let n_found = plan.jobs.len() - pending.len();
    let ran = run_all(&pending, &plan, &collections, &folder, n_found, how);
    about.starts.push(Start {
        shard: how.shard.map(|shard| shard.to_string()),
        n_finished: pending.iter().filter(|job| folder.has(&job.key)).count(),
        seconds: started.elapsed().as_secs_f64(),
        threads: rayon::current_num_threads(),
        machine: Machine::this(),
    });
    let results = assemble(&folder, about, how.parquet)?;
    ran?;
    let cautions = plan.cautions(&collections);
    let interrupted = how.stop.load(Ordering::Relaxed);
    Ok(Completion { results, n_wanted: plan.jobs.len(), n_found, cautions, interrupted })
}

fn earlier_starts(out: &Path) -> Vec<Start> {
    let about = std::fs::read_to_string(out.join("run.json")).ok();
    about.and_then(|text| serde_json::from_str::<About>(&text).ok()).map_or_else(Vec::new, |about| about.starts)
}

/// Does all jobs. Runs go side by side; clients of one run share its threads, of which there are more than one only when
/// there are fewer runs than threads. So no thread ever waits inside one run for another.
fn run_all(
    jobs: &[&Job],
    plan: &Plan,
    collections: &Collections,
    folder: &ResultFolder,
    n_found: usize,
    how: &Execution<'_>,
) -> Result<()> {
    let n_threads = rayon::current_num_threads();
    let n_workers = n_threads.min(jobs.len()).max(1);
    let progress = Progress::new(jobs, plan, n_found, how.bar);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    let work = |n_own_threads: usize| -> Result<()> {
        let pool = ThreadPoolBuilder::new().num_threads(n_own_threads).build().context("threads cannot be started")?;
        while !how.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            pool.install(|| do_one(job, plan, collections, folder, &progress, how.stop))?;
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
                    failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
                }
            });
        }
    });
    how.bar.finish_and_clear();
    failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}

fn do_one(
    job: &Job,
    plan: &Plan,
    collections: &Collections,
    folder: &ResultFolder,
    progress: &Progress<'_>,
    stop: &AtomicBool,
) -> Result<()> {
    let setting = &plan.grid.settings[job.setting];
    let (fold, data_hash) = collections.fold(&setting.experiment.data, job.fold)?;
    let told = || format!("the run of {} on fold {} with seed {} failed", setting.name(), job.fold, job.seed);
    let mut writer = folder.start(&job.key)?;
    let mut unwritten = None;
    let done = AtomicUsize::new(0);
    let tell = |round: RoundProgress| {
        let before = done.swap(round.round, Ordering::Relaxed);
        progress.advance(job, round.round.saturating_sub(before), round.value);
    };
    let mut sink = |row| {
        if unwritten.is_none() {
            unwritten = writer.row(&row).err();
        }
    };
    let outcome = run_one(&setting.experiment, fold, job.fold, job.seed, &tell, &mut sink, stop).with_context(told)?;
    if let Some(error) = unwritten {
        return Err(error).with_context(|| format!("{} cannot be written", writer.path().display()));
    }
    if outcome.interrupted {
        writer.discard();
        return Ok(());
    }
    kept::write(writer.path(), &outcome.histories, outcome.forgotten.as_ref())?;
    if let Some(params) = outcome.params {
        let model = Model { shape: outcome.shape, normalise: setting.experiment.data.normalise(), params };
        let about = format!("{}; fold {}, seed {}", setting.name(), job.fold, job.seed);
        model.write(&writer.path().join(model::FILE_NAME), about.trim_start_matches("; "))?;
    }
    writer.clients(&outcome.clients)?;
    writer.finish(&RunFacts {
        labels: setting.labels.clone(),
        fold: job.fold,
        seed: job.seed,
        data_hash: data_hash.into(),
        code_hash: CODE_HASH.into(),
        n_interactions: outcome.n_interactions,
        training_seconds: outcome.training_seconds,
    })?;
    progress.run_done();
    Ok(())
}

/// How far all runs are, in interactions.
struct Progress<'a> {
    bar: &'a ProgressBar,
    plan: &'a Plan,
    n_done: AtomicUsize,
    n_wanted: usize,
}

impl<'a> Progress<'a> {
    fn new(jobs: &[&Job], plan: &'a Plan, n_found: usize, bar: &'a ProgressBar) -> Self {
        bar.set_length(jobs.iter().map(|job| job.n_interactions).sum::<u64>());
        let progress = Self { bar, plan, n_done: AtomicUsize::new(n_found), n_wanted: n_found + jobs.len() };
        progress.tell_runs(n_found);
        progress
    }

    fn advance(&self, job: &Job, n_rounds: usize, value: Option<f64>) {
        self.bar.inc(n_rounds as u64 * job.interactions_per_round);
        if let Some(value) = value {
            self.bar
                .set_message(format!("{} {value:.4}", self.plan.grid.settings[job.setting].experiment.learner.name()));
        }
    }

    fn run_done(&self) {
        self.tell_runs(self.n_done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    fn tell_runs(&self, n_done: usize) {
        self.bar.set_prefix(format!("{n_done}/{} runs", self.n_wanted));
    }
}

/// A bar on standard error; hidden when that is not a terminal.
pub fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{prefix} {wide_bar:.cyan/238} {percent:>3} %  {per_sec}  {elapsed} + {eta}  {msg:23}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar())
    .with_key("per_sec", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{} interactions/s", crate::table::grouped(state.per_sec() as u64));
    });
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style)
}
