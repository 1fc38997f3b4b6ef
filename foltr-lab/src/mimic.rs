//! Mimic learning: teachers on private queries, labels for public ones, students that can be shared; step by step in a
//! folder, one fold and seed after the other.
//!
//! ```text
//! seed-1/fold-1/            networks and labels: `mimic/workshop.rs`
//! seed-1/fold-1/evaluation.json
//! queries.csv               one line a ranker, query and seed
//! summary.json              means, intervals and tests by ranker
//! ndcg.svg, ndcg.png        the same as a figure
//! ```

mod check;
mod judge;
mod labels;
mod results;
mod spec;
mod stage;
mod start;
mod workshop;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::kept::put_json;
use crate::reproduce::Interrupted;

pub use judge::{CUTOFF, Judge, Judged, Value};
pub use labels::Promise;
pub use results::{Line, Summary};
pub use spec::{
    Aggregating, AggregationMethod, Judging, Lessons, MimicData, MimicExperiment, NetworkSpec, Public, TextData,
    TextKind,
};
pub use stage::{FeatureStore, JudgedQuery, Split, Stage, Store, TextStore};
pub use workshop::{Trained, Watch, Workshop, about, teacher_name};

/// What can be done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Teachers are trained on private queries.
    TrainTeachers,
    /// They label public queries.
    Label,
    /// Students learn from the labels.
    TrainStudents,
    /// All are judged.
    Evaluate,
}

impl Step {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::TrainTeachers, Self::Label, Self::TrainStudents, Self::Evaluate];
}

/// The judged rankers of one fold and seed; the content of `evaluation.json`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Evaluation {
    /// Of the run.
    pub seed: u64,
    /// Of the data.
    pub fold: usize,
    /// In the order of tables.
    pub judged: Vec<Judged>,
}

/// Carries out steps of an experiment in a folder, for every seed and fold. What was done before is not done again.
///
/// # Errors
/// If a step fails, one before it was not done, or Ctrl-C came ([`Interrupted`]).
pub fn run(
    experiment: &MimicExperiment,
    store: &Store,
    out: &Path,
    steps: &[Step],
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<Vec<Evaluation>> {
    let folds = store.folds(experiment);
    let n_teacher_steps = experiment.supervision.n_teachers() as u64 * u64::from(experiment.teacher.steps);
    let n_student_steps = experiment.aggregation.len() as u64 * u64::from(experiment.student.steps);
    let of = |step: Step, n: u64| if steps.contains(&step) { n } else { 0 };
    let n_steps = of(Step::TrainTeachers, n_teacher_steps) + of(Step::TrainStudents, n_student_steps);
    bar.reset();
    bar.set_length(n_steps * (folds.len() * experiment.seeds.len()) as u64);
    let mut evaluations = Vec::new();
    for &seed in &experiment.seeds {
        for &fold in &folds {
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            bar.set_prefix(format!("seed {seed} fold {fold}"));
            let stage = store.stage(experiment, fold, seed)?;
            let folder = folder_of(out, seed, fold);
            std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
            let watch = Watch { bar, stop };
            let workshop = Workshop { experiment, store, stage: &stage, seed, folder, watch };
            evaluations.extend(carry_out(&workshop, steps)?);
        }
    }
    bar.finish_and_clear();
    Ok(evaluations)
}

fn carry_out(workshop: &Workshop<'_>, steps: &[Step]) -> Result<Option<Evaluation>> {
    if steps.contains(&Step::TrainTeachers) {
        workshop.train_teachers()?;
    }
    if steps.contains(&Step::Label) {
        let mut missing = Vec::new();
        for how in &workshop.experiment.aggregation {
            missing.extend((!workshop.has_labels(how)?).then_some(how));
        }
        if !missing.is_empty() {
            let scores = workshop.scores(&workshop.teachers()?);
            missing.into_iter().try_for_each(|how| workshop.label(how, &scores))?;
        }
    }
    if steps.contains(&Step::TrainStudents) {
        for how in &workshop.experiment.aggregation {
            workshop.train_student(how)?;
        }
    }
    let is_judged = steps.contains(&Step::Evaluate) && !workshop.stage.judged.is_empty();
    is_judged.then(|| evaluate(workshop)).transpose()
}

/// Judges all networks of a folder.
fn evaluate(workshop: &Workshop<'_>) -> Result<Evaluation> {
    let experiment = workshop.experiment;
    let judge = Judge::new(workshop.stage);
    let teachers: Vec<Vec<Vec<f32>>> = workshop.teachers()?.iter().map(|teacher| judge.scores(teacher)).collect();
    let mut judged: Vec<Judged> = judge.first().into_iter().collect();
    if let [teacher] = &teachers[..] {
        judged.push(judge.alone("teacher", teacher));
        judged.extend(judge.with_first("teacher", teacher));
    } else {
        judged.push(judge.mean("teachers (mean)", &teachers));
    }
    for how in &experiment.aggregation {
        let is_teacher = teachers.len() == 1 && matches!(how.method, AggregationMethod::Scores { scale: 0.0 });
        if !is_teacher {
            let aggregate = judge.aggregate(how.method, &teachers, &workshop.noise(how, 1))?;
            judged.push(judge.alone(&format!("aggregate, {}", how.name), &aggregate));
        }
        let student = judge.scores(&workshop.student(how)?);
        let name = format!("student, {}", how.name);
        judged.push(judge.alone(&name, &student));
        judged.extend(judge.with_first(&name, &student));
    }
    let evaluation = Evaluation { seed: workshop.seed, fold: workshop.stage.fold, judged };
    put_json(&workshop.folder.join("evaluation.json"), &evaluation)?;
    Ok(evaluation)
}

/// Where the networks of a fold and seed are.
pub fn folder_of(out: &Path, seed: u64, fold: usize) -> PathBuf {
    out.join(format!("seed-{seed}")).join(format!("fold-{fold}"))
}

/// A bar of training steps on standard error; hidden when that is not a terminal.
pub fn step_bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix} {wide_bar:.cyan/238} {percent:>3} %  {elapsed} + {eta}  {msg:48}");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
