//! Networks of one fold and seed in a folder: teachers, labels, students. What is there is not made again.
//!
//! ```text
//! teacher-1.safetensors     a teacher with its vocabulary; teacher-1.json says how it was trained
//! teacher-1.training        a training that was interrupted
//! NAME/labels.jsonl         what the teachers say together, one public query or pair a line
//! NAME/guarantee.json       what that gives away of their training queries
//! NAME/accounting-private.json  what it gave away at these very votes: for the owner's eyes only
//! NAME/student.safetensors  the student of these labels; student.json says how it was trained
//! ```

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use foltr_mimic::agreement::{self, agreement, scored};
use foltr_mimic::model_file::Model;
use foltr_mimic::network::Network;
use foltr_mimic::partitions::partitions;
use foltr_mimic::supervision::SupervisionError;
use foltr_mimic::training::{self, Ending, Settings, Training};
use foltr_mimic::{Candidates, Supervision};
use foltr_rank::rng::{Purpose, Streams};
use rand::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::judge::mean_ndcg;
use super::labels::{self, Labels};
use super::spec::{LabelSource, MimicExperiment, NetworkSpec};
use super::start;
use super::training_data::{Store, TrainingData};
use crate::execute::Interrupted;
use crate::rows::RoundProgress;
use crate::store::{put, put_json};

/// Queries that at most say when a network has learnt enough, and their share.
const MOST_HELD_OUT: usize = 200;
const HELD_OUT: usize = 10;

/// Streams of networks: teachers are numbered from 0, students have this bit.
const STUDENTS: u32 = 1 << 31;

/// Who hears how far it is, and who says that it must end.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub progress: &'a (dyn Fn(RoundProgress) + Sync),
    /// Becomes true on Ctrl-C.
    pub stop: &'a AtomicBool,
}

impl Watch<'_> {
    fn advance(&self, n_new: u32) {
        (self.progress)(RoundProgress { n_new: n_new as usize, message: None });
    }
}

/// One fold and seed of an experiment.
pub struct FoldPipeline<'a> {
    pub experiment: &'a MimicExperiment,
    pub store: &'a Store,
    /// What training begins with.
    pub stage: &'a TrainingData,
    pub seed: u64,
    /// Where files are.
    pub folder: &'a Path,
    pub watch: Watch<'a>,
}

/// How a network was trained.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Trained {
    /// Steps in all.
    pub steps: u32,
    /// The best value on held-out queries.
    pub validation: f64,
    /// Pairs that it learnt from a second.
    pub pairs_per_second: f64,
    /// Step, mean loss since the last look, value on held-out queries.
    pub course: Vec<(u32, f64, f64)>,
}

/// What a network learns from, and what says when it has learnt enough.
struct Task<'a> {
    name: String,
    spec: &'a NetworkSpec,
    /// Of its streams.
    number: u32,
    supervision: Supervision,
    validation: &'a (dyn Fn(&Network) -> f64 + Sync),
}

impl FoldPipeline<'_> {
    /// Trains all teachers that are not there yet, side by side.
    ///
    /// # Errors
    /// If one cannot be trained or written, or Ctrl-C came ([`Interrupted`]).
    pub fn train_teachers(&self) -> Result<()> {
        let n_teachers = self.experiment.supervision.n_teachers();
        let mut stream = Streams::new(self.seed).open(Purpose::Cohort, 0, self.stage.fold as u32);
        let parts = partitions(self.stage.lessons.len(), n_teachers, &mut stream)?;
        let lessons = |part: &Vec<u32>| part.iter().map(|&place| self.stage.lessons[place as usize].clone()).collect();
        parts.par_iter().enumerate().try_for_each(|(number, part)| self.train_teacher(number, lessons(part)))
    }

    fn train_teacher(&self, number: usize, lessons: Vec<Candidates>) -> Result<()> {
        let judged = self.stage.splits.first().map_or(&[][..], |split| &split.validation);
        // With several teachers no query may be seen by two of them: each has held-out queries of its own.
        let by_judgements =
            self.stage.validated_by_judgements && self.experiment.supervision.n_teachers() == 1 && !judged.is_empty();
        let (lessons, held_out) = if by_judgements { (lessons, Vec::new()) } else { hold_out(lessons) };
        let validation = |network: &Network| match by_judgements {
            true => mean_ndcg(network, self.stage, judged),
            false => agreement(network, &self.stage.inputs, &held_out),
        };
        self.trained(&Task {
            name: teacher_name(number),
            spec: &self.experiment.teacher,
            number: number as u32,
            supervision: Supervision::Scores(lessons),
            validation: &validation,
        })
    }

    /// Reads all teachers.
    ///
    /// # Errors
    /// If one is missing.
    pub fn teachers(&self) -> Result<Vec<Network>> {
        let read = |number: usize| self.read_network(&teacher_name(number), "foltr mimic train-teacher");
        (0..self.experiment.supervision.n_teachers()).map(read).collect()
    }

    fn read_network(&self, name: &str, command: &str) -> Result<Network> {
        let path = self.folder.join(name).with_extension("safetensors");
        ensure!(path.with_extension("json").exists(), "{} is missing; `{command}` makes it", path.display());
        Ok(Model::read(&path)?.network)
    }

    /// What the teachers say about the public queries, each for itself.
    pub fn scores(&self, teachers: &[Network]) -> Vec<Vec<Candidates>> {
        teachers.iter().map(|teacher| scored(teacher, &self.stage.inputs, &self.stage.public)).collect()
    }

    /// Whether the public queries were labelled in this way.
    pub fn has_labels(&self, how: &LabelSource) -> bool {
        labels::is_there(&self.folder.join(&how.name))
    }

    /// Labels the public queries in one way.
    ///
    /// # Errors
    /// If labels cannot be made or written.
    pub fn label(&self, how: &LabelSource, scores: &[Vec<Candidates>]) -> Result<()> {
        let folder = self.folder.join(&how.name);
        std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let made = labels::make(how.method, scores, &self.stage.public, &self.noise(how, 0))?;
        made.write(&folder, &self.stage.public_names, &self.stage.public)
    }

    /// Streams of noise. Every aggregation has its own, whatever its name in another folder: equal noise of different
    /// sizes could be taken out again.
    pub fn noise(&self, how: &LabelSource, purpose: u32) -> Streams {
        let streams = Streams::new(self.seed).branch(Purpose::Noise, purpose, self.stage.fold as u32);
        // These very words choose the numbers: no name of a type may, nor a key that is not given.
        let method = format!("{:?}", how.method).replace("epsilon: None, ", "");
        let name = format!("Aggregating {{ name: {:?}, method: {method} }}", how.name);
        streams.branch(Purpose::Noise, number_of(&name), 0)
    }

    /// Trains the student of some labels, unless it is there.
    ///
    /// # Errors
    /// If there are no labels, or as [`Self::train_teachers`].
    pub fn train_student(&self, how: &LabelSource) -> Result<()> {
        let folder = self.folder.join(&how.name);
        ensure!(self.has_labels(how), "{} has no labels; `foltr mimic label` makes them", folder.display());
        let supervision = Labels::read(&folder)?;
        let (lessons, held_out) = match supervision {
            Supervision::Scores(lessons) => {
                let (lessons, held_out) = hold_out(lessons);
                (Supervision::Scores(lessons), Supervision::Scores(held_out))
            }
            Supervision::Pairs(mut pairs) => {
                let held_out = pairs.split_off(pairs.len() - pairs.len() / HELD_OUT);
                let held_out = if held_out.is_empty() { pairs.clone() } else { held_out };
                (Supervision::Pairs(pairs), Supervision::Pairs(held_out))
            }
        };
        let validation = |network: &Network| agreement::with(network, &self.stage.inputs, &held_out);
        self.trained(&Task {
            name: format!("{}/student", how.name),
            spec: &self.experiment.student,
            number: STUDENTS | number_of(&how.name),
            supervision: lessons,
            validation: &validation,
        })
    }

    /// Reads the student of some labels.
    ///
    /// # Errors
    /// If it is missing.
    pub fn student(&self, how: &LabelSource) -> Result<Network> {
        self.read_network(&format!("{}/student", how.name), "foltr mimic train-student")
    }

    /// Trains a network, goes on with an interrupted training, or reads what is there.
    fn trained(&self, task: &Task<'_>) -> Result<()> {
        let path = |ending: &str| self.folder.join(&task.name).with_extension(ending);
        if path("json").exists() {
            self.watch.advance(task.spec.steps);
            return self.read_network(&task.name, "foltr mimic run").map(drop);
        }
        let streams = Streams::new(self.seed).branch(Purpose::Training, task.number, self.stage.fold as u32);
        let settings = Settings {
            batch: task.spec.batch,
            learning_rate: task.spec.learning_rate,
            n_steps: task.spec.steps,
            validate_every: task.spec.validate_every,
            patience: task.spec.patience,
            seed: streams.open(Purpose::Training, 0, 0).next_u64(),
        };
        let unfinished = path("training");
        let training = match std::fs::read(&unfinished) {
            Ok(bytes) => Training::from_bytes(&bytes)
                .with_context(|| format!("{} cannot be gone on with; delete it", unfinished.display()))?,
            Err(_) => {
                let network = start::network(task.spec, self.store, self.stage, self.seed, &streams)?;
                Training::new(network, settings)?
            }
        };
        if let Some(parent) = unfinished.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
        }
        self.carry_out(task, training, &unfinished)
    }

    fn carry_out(&self, task: &Task<'_>, mut training: Training, unfinished: &Path) -> Result<()> {
        let began_at = training.step();
        self.watch.advance(began_at);
        let started = Instant::now();
        let (mut course, mut losses) = (Vec::new(), Vec::new());
        let tell = |progress: &training::Progress| {
            let mut message = None;
            losses.push(progress.loss);
            if let Some(value) = progress.validation {
                let loss = losses.iter().sum::<f64>() / losses.len() as f64;
                losses.clear();
                course.push((progress.step, loss, value));
                message = Some(format!("{} loss {loss:.3} value {value:.4}", task.name));
            }
            (self.watch.progress)(RoundProgress { n_new: 1, message });
            if self.watch.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match task.supervision.pairs() {
            Ok(pairs) => {
                if training.run(&self.stage.inputs, &pairs, task.validation, tell) == Ending::Stopped {
                    put(unfinished, &training.to_bytes())?;
                    return Err(Interrupted.into());
                }
            }
            // A small part may have no pair. Its teacher knows nothing, and says so at random; to stop here would tell
            // something about the part. A student without a pair is a mistake.
            Err(SupervisionError::Empty) if task.number & STUDENTS == 0 => {}
            Err(error) => return Err(error).with_context(|| format!("{} cannot learn", task.name)),
        }
        let steps = training.step();
        self.watch.advance(task.spec.steps.saturating_sub(steps));
        let n_pairs = u64::from(steps - began_at) * task.spec.batch as u64;
        let about = Trained {
            steps,
            validation: training.best().map_or(0.0, |(_, validation)| validation),
            pairs_per_second: n_pairs as f64 / started.elapsed().as_secs_f64(),
            course,
        };
        let model = start::model(training.into_best(), self.store, self.stage)?;
        let path = |ending: &str| self.folder.join(&task.name).with_extension(ending);
        // The seed is not for those who get the file: it gives the noise away.
        let bytes = model.to_bytes(&task.name);
        Model::from_bytes(&bytes, &path("safetensors")).context("training has come to nothing that can be used")?;
        put(&path("safetensors"), &bytes)?;
        // Last: a network is there once this file is.
        put_json(&path("json"), &about)?;
        let _ = std::fs::remove_file(unfinished);
        Ok(())
    }
}

/// A number for a name, below that of students.
fn number_of(name: &str) -> u32 {
    xxh3_64(name.as_bytes()) as u32 >> 1
}

/// File name of a teacher, from 0.
fn teacher_name(number: usize) -> String {
    format!("teacher-{}", number + 1)
}

/// Training queries, and a tenth that says when to stop; the training queries themselves where there are few.
fn hold_out(mut lessons: Vec<Candidates>) -> (Vec<Candidates>, Vec<Candidates>) {
    let n_held_out = (lessons.len() / HELD_OUT).min(MOST_HELD_OUT);
    if n_held_out == 0 {
        return (lessons.clone(), lessons);
    }
    let held_out = lessons.split_off(lessons.len() - n_held_out);
    (lessons, held_out)
}
