//! Mimic learning: teachers on private queries, labels for public ones, students that can be shared.
//!
//! One run is one fold and seed. Its folder has the networks and labels (`mimic/pipeline.rs`), which are stored as soon as
//! they are made, and `queries.csv` with the measures of every ranker on every test query.

mod asked;
mod check;
mod evaluation;
mod evaluator;
mod labels;
mod pipeline;
mod spec;
mod start;
mod training_data;

use anyhow::Result;

use crate::execute::Interrupted;
use crate::rows::{Row, RunOutcome};

pub use asked::{Asked, write_asked};
pub use evaluation::{Evaluation, MEASURES};
pub use evaluator::{AS_FILED, CUTOFF, RankerResult};
pub use labels::PrivacyStatement;
pub use pipeline::{FoldPipeline, Progress};
pub use spec::{LabelSource, MimicData, MimicExperiment};
pub use training_data::{Store, TrainingData};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    TrainTeachers,
    Label,
    TrainStudents,
    /// All are evaluated; the run is finished.
    Evaluate,
}

impl Step {
    pub const ALL: [Self; 4] = [Self::TrainTeachers, Self::Label, Self::TrainStudents, Self::Evaluate];
}

/// Carries out steps of one fold and seed. What was done before is not done again.
pub(crate) fn run_job(pipeline: &FoldPipeline<'_>, steps: &[Step], sink: &mut dyn FnMut(Row)) -> Result<RunOutcome> {
    let interrupted = RunOutcome { interrupted: true, ..RunOutcome::default() };
    match carry_out(pipeline, steps) {
        Err(error) if error.is::<Interrupted>() => return Ok(interrupted),
        done => done?,
    }
    if !steps.contains(&Step::Evaluate) {
        return Ok(interrupted);
    }
    let evaluation = Evaluation::of(pipeline)?;
    evaluation.write(pipeline.folder)?;
    evaluation.rows().for_each(sink);
    Ok(RunOutcome::default())
}

fn carry_out(pipeline: &FoldPipeline<'_>, steps: &[Step]) -> Result<()> {
    if steps.contains(&Step::TrainTeachers) {
        pipeline.train_teachers()?;
    }
    if steps.contains(&Step::Label) {
        let sources = &pipeline.experiment.aggregation;
        let missing: Vec<&LabelSource> = sources.iter().filter(|source| !pipeline.has_labels(source)).collect();
        if !missing.is_empty() {
            let scores = pipeline.answers()?;
            missing.into_iter().try_for_each(|source| pipeline.label(source, &scores))?;
        }
    }
    if steps.contains(&Step::TrainStudents) {
        for source in &pipeline.experiment.aggregation {
            pipeline.train_student(source)?;
        }
    }
    Ok(())
}
