//! The time of mimic learning: two runs with a small share of the steps, and a line through them.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result};
use foltr_mimic::NetworkSettings;

use crate::mimic::{MimicExperiment, Step, Store};
use crate::run::{RunInput, Work, run_job};

/// Steps that the longer network is trained for in the first of the two runs; the second has twice as many.
const STEPS: u32 = 10;

/// Of one run on one thread. Training that validation ends early takes less.
pub(super) fn seconds(experiment: &MimicExperiment, store: &Store, fold: usize) -> Result<f64> {
    let most = experiment.teacher.steps.max(experiment.student.steps).max(1);
    let share = (f64::from(STEPS) / f64::from(most)).min(0.5);
    let short = timed(&shortened(experiment, share), store, fold)?;
    let long = timed(&shortened(experiment, 2.0 * share), store, fold)?;
    // What does not depend on steps: queries, labels, evaluation.
    let of_steps = ((long - short) / share).max(0.0);
    Ok((short - share * of_steps).max(0.0) + of_steps)
}

fn shortened(experiment: &MimicExperiment, share: f64) -> MimicExperiment {
    let shorter = |settings: &NetworkSettings| {
        let scaled = |steps: u32| ((f64::from(steps) * share).round() as u32).max(1);
        NetworkSettings {
            steps: scaled(settings.steps),
            validate_every: scaled(settings.validate_every),
            ..settings.clone()
        }
    };
    let (teacher, student) = (shorter(&experiment.teacher), shorter(&experiment.student));
    MimicExperiment { teacher, student, ..experiment.clone() }
}

fn timed(experiment: &MimicExperiment, store: &Store, fold: usize) -> Result<f64> {
    let folder = TemporaryFolder::new()?;
    let never = AtomicBool::new(false);
    let work = Work::Mimic { experiment, store, folder: &folder.0, steps: &Step::ALL };
    let seed = experiment.seeds.first().copied().unwrap_or(1);
    let input = RunInput { work, fold_number: fold, seed, parent: None, stop: &never };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().context("a thread cannot be started")?;
    let started = Instant::now();
    one_thread.install(|| run_job(&input, &|_| {}, &mut |_| {}))?;
    Ok(started.elapsed().as_secs_f64())
}

/// For the networks of a probe; removed at the end.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self> {
        let number = getrandom::u64().context("no random numbers")?;
        let path = std::env::temp_dir().join(format!("foltr-probe-{number:016x}"));
        std::fs::create_dir(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which owns the folder above.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
