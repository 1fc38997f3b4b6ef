//! Runs several (experiment, fold, seed) side by side, and collects and writes their rows.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use foltr_simulation::datasets::Fold;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;

use crate::rows::{RoundProgress, RowWriter, Settings};
use crate::run::run_one;
use crate::spec::Experiment;
use crate::summary::RunRecord;

/// One run to do.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// What to run.
    pub experiment: &'a Experiment,
    /// On which data.
    pub fold: &'a Fold,
    /// The fold's number, from 1.
    pub fold_number: usize,
    /// Seed of the run.
    pub seed: u64,
}

/// Does all jobs, as many at a time as there are threads. Returns their records in the order of the jobs.
///
/// Rows go to `rows` in the order of the jobs, whatever the number of threads. When `stop` becomes true, every run ends
/// after its round and is marked as interrupted.
///
/// # Errors
/// If a run fails or a row cannot be written. Rows written so far stay.
pub fn execute(
    jobs: &[Job<'_>],
    rows: impl Write + Send,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<Vec<RunRecord>> {
    let settings: Vec<Settings> = jobs.iter().map(|job| Settings::of(job.experiment)).collect();
    let writer = Mutex::new(RowWriter::new(rows, &settings).context("rows cannot be written")?);
    let n_rounds = jobs.iter().map(|job| n_rounds(job.experiment)).sum::<usize>();
    bar.set_length(n_rounds as u64);
    let records: Result<Vec<RunRecord>> =
        jobs.par_iter().enumerate().map(|(run_idx, job)| do_one(run_idx, job, &writer, bar, stop)).collect();
    let writer = writer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    writer.finish().context("rows cannot be written")?;
    records
}

fn do_one<W: Write>(
    run_idx: usize,
    job: &Job<'_>,
    writer: &Mutex<RowWriter<W>>,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<RunRecord> {
    let lock = || writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (mut rows, mut unwritten) = (Vec::new(), None);
    let done = AtomicUsize::new(0);
    let progress = |progress: RoundProgress| {
        let before = done.swap(progress.round, Ordering::Relaxed);
        bar.inc(progress.round.saturating_sub(before) as u64);
    };
    let mut sink = |row| {
        rows.push(row);
        if let Err(error) = lock().write(run_idx, row) {
            unwritten.get_or_insert(error);
        }
    };
    let told = || format!("the run with seed {} on fold {} failed", job.seed, job.fold_number);
    let outcome =
        run_one(job.experiment, job.fold, job.fold_number, job.seed, &progress, &mut sink, stop).with_context(told)?;
    if let Some(error) = unwritten {
        return Err(error).context("rows cannot be written");
    }
    lock().finish_run(run_idx).context("rows cannot be written")?;
    Ok(RunRecord { rows, outcome })
}

fn n_rounds(experiment: &Experiment) -> usize {
    experiment.schedule().map_or(0, |schedule| schedule.n_rounds)
}

/// A bar on standard error; hidden when that is not a terminal.
pub fn progress_bar(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/238} {percent:>3} %  {elapsed} + {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style).with_message(what.to_owned())
}
