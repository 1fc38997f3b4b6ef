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

use anyhow::{Context, Result, bail, ensure};
use foltr_mimic::agreement::{agreement, scored};
use foltr_mimic::model_file::Model;
use foltr_mimic::partitions::partitions;
use foltr_mimic::training::{self, Ending, Training};
use foltr_mimic::{Candidates, Network, NetworkSettings, Supervision};
use foltr_rank::rng::{Purpose, Streams};
use rand::Rng;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::evaluator::mean_ndcg;
use super::labels::{self, Labels};
use super::spec::{LabelSource, MimicExperiment};
use super::start;
use super::training_data::{Store, TrainingData};
use crate::execute::Interrupted;
use crate::rows::RoundProgress;
use crate::store::{put, put_json};

/// Queries of validation at most, and one over their share.
const MOST_HELD_OUT: usize = 200;
const HELD_OUT: usize = 10;

/// Streams of networks: teachers are numbered from 0, students have this bit.
const STUDENTS: u32 = 1 << 31;

#[derive(Clone, Copy)]
pub struct Progress<'a> {
    pub report: &'a (dyn Fn(RoundProgress) + Sync),
    pub stop: &'a AtomicBool,
}

impl Progress<'_> {
    fn advance(&self, n_new: u32) {
        (self.report)(RoundProgress { n_new: n_new as usize, message: None });
    }
}

pub struct FoldPipeline<'a> {
    pub experiment: &'a MimicExperiment,
    pub store: &'a Store,
    pub data: &'a TrainingData,
    pub seed: u64,
    pub folder: &'a Path,
    pub progress: Progress<'a>,
}

/// What a network learns from, and the validation that ends training.
struct Task<'a> {
    name: String,
    settings: &'a NetworkSettings,
    number: u32,
    supervision: Supervision,
    validation: &'a (dyn Fn(&Network) -> f64 + Sync),
}

impl FoldPipeline<'_> {
    /// Trains all teachers that are not there yet, side by side; none where they are from outside.
    pub fn train_teachers(&self) -> Result<()> {
        if self.data.outside.is_some() {
            return Ok(());
        }
        let n_teachers = self.experiment.supervision.n_teachers();
        let mut stream = Streams::new(self.seed).open(Purpose::Cohort, 0, self.data.fold as u32);
        let private = &self.data.private;
        let parts = partitions(private.len(), n_teachers, &mut stream)?;
        let queries = |part: &Vec<u32>| part.iter().map(|&query| private[query as usize].clone()).collect();
        parts.par_iter().enumerate().try_for_each(|(number, part)| self.train_teacher(number, queries(part)))
    }

    fn train_teacher(&self, number: usize, queries: Vec<Candidates>) -> Result<()> {
        let judged = self.data.splits.first().map_or(&[][..], |split| &split.validation);
        // With several teachers no query may be seen by two of them: each has held-out queries of its own.
        let by_judgements =
            self.data.validated_by_judgements && self.experiment.supervision.n_teachers() == 1 && !judged.is_empty();
        let supervision = Supervision::Scores(queries);
        let (supervision, held_out) =
            if by_judgements { (supervision, Supervision::Pairs(Vec::new())) } else { hold_out(supervision) };
        let validation = |network: &Network| match by_judgements {
            true => mean_ndcg(network, self.data, judged),
            false => agreement(network, &self.data.inputs, &held_out),
        };
        self.trained(&Task {
            name: teacher_name(number),
            settings: &self.experiment.teacher,
            number: number as u32,
            supervision,
            validation: &validation,
        })
    }

    pub fn teachers(&self) -> Result<Vec<Network>> {
        let read = |number: usize| self.read_network(&teacher_name(number), "foltr mimic train-teacher");
        (0..self.experiment.supervision.n_teachers()).map(read).collect()
    }

    fn read_network(&self, name: &str, command: &str) -> Result<Network> {
        let path = self.folder.join(name).with_extension("safetensors");
        ensure!(path.with_extension("json").exists(), "{} is missing; `{command}` makes it", path.display());
        let model = Model::read(&path)?;
        if matches!(self.store, Store::Features(_)) {
            let is_ours = model.reading == start::reading(self.store, self.data);
            ensure!(is_ours, "{} looks at other columns than this run does; delete it", path.display());
        }
        Ok(model.network)
    }

    /// What each teacher says of the public lists.
    pub fn answers(&self) -> Result<Vec<Vec<Candidates>>> {
        if let Some(outside) = &self.data.outside {
            return Ok(outside.public.clone());
        }
        let answers = |teacher: &Network| scored(teacher, &self.data.inputs, &self.data.public);
        Ok(self.teachers()?.iter().map(answers).collect())
    }

    pub fn has_labels(&self, source: &LabelSource) -> bool {
        labels::exist(&self.folder.join(&source.name))
    }

    pub fn label(&self, source: &LabelSource, scores: &[Vec<Candidates>]) -> Result<()> {
        let folder = self.folder.join(&source.name);
        std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let questions = &mut self.streams_of(source, 0).open(Purpose::Data, 0, 0);
        let noises = self.noise(source, 0)?;
        labels::make(source.method, scores, &self.data.public, questions, &noises)?.write(&folder, self.data)
    }

    /// Streams of noise, for each aggregation and for whatever decides about the teachers' answers: settings and data.
    /// Equal noise on different answers could be taken out again, by whoever sees both.
    pub fn noise(&self, source: &LabelSource, purpose: u32) -> Result<Streams> {
        let answers = self.experiment.hash_of_answers(self.store.hash(self.data.fold))?;
        let streams = self.streams_of(source, purpose).branch(Purpose::Noise, answers as u32, 0);
        Ok(streams.branch(Purpose::Noise, (answers >> 32) as u32, 1))
    }

    /// Streams of an aggregation, whatever its name in another folder.
    fn streams_of(&self, source: &LabelSource, purpose: u32) -> Streams {
        let streams = Streams::new(self.seed).branch(Purpose::Noise, purpose, self.data.fold as u32);
        // These very words choose the numbers: no name of a type may, nor a key that is not given.
        let method = format!("{:?}", source.method).replace("epsilon: None, ", "");
        let name = format!("Aggregating {{ name: {:?}, method: {method} }}", source.name);
        streams.branch(Purpose::Noise, number_of(&name), 0)
    }

    /// Trains the student of some labels, unless it is there.
    pub fn train_student(&self, source: &LabelSource) -> Result<()> {
        let folder = self.folder.join(&source.name);
        ensure!(self.has_labels(source), "{} has no labels; `foltr mimic label` makes them", folder.display());
        let (supervision, held_out) = hold_out(Labels::read(&folder)?);
        let validation = |network: &Network| agreement(network, &self.data.inputs, &held_out);
        self.trained(&Task {
            name: format!("{}/student", source.name),
            settings: &self.experiment.student,
            number: STUDENTS | number_of(&source.name),
            supervision,
            validation: &validation,
        })
    }

    pub fn student(&self, source: &LabelSource) -> Result<Network> {
        self.read_network(&format!("{}/student", source.name), "foltr mimic train-student")
    }

    /// Trains a network, resumes an interrupted training, or reads what is there.
    fn trained(&self, task: &Task<'_>) -> Result<()> {
        let path = |ending: &str| self.folder.join(&task.name).with_extension(ending);
        if path("json").exists() {
            self.progress.advance(task.settings.steps);
            return self.read_network(&task.name, "foltr mimic run").map(drop);
        }
        let streams = Streams::new(self.seed).branch(Purpose::Training, task.number, self.data.fold as u32);
        let unfinished = path("training");
        let training = match std::fs::read(&unfinished) {
            Ok(bytes) => Training::from_bytes(&bytes)
                .with_context(|| format!("{} is no training to resume; delete it", unfinished.display()))?,
            Err(_) => {
                let network = start::network(task.settings, self.store, self.data, self.seed, &streams)?;
                let seed = streams.open(Purpose::Training, 0, 0).next_u64();
                Training::new(network, task.settings.clone(), seed)?
            }
        };
        if let Some(parent) = unfinished.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
        }
        self.carry_out(task, training, &unfinished)
    }

    fn carry_out(&self, task: &Task<'_>, mut training: Training, unfinished: &Path) -> Result<()> {
        let began_at = training.step();
        self.progress.advance(began_at);
        let started = Instant::now();
        let (mut course, mut losses) = (Vec::new(), Vec::new());
        let report = |progress: &training::Progress| {
            let mut message = None;
            losses.push(progress.loss);
            if let Some(value) = progress.validation {
                let loss = losses.iter().sum::<f64>() / losses.len() as f64;
                losses.clear();
                course.push((progress.step, loss, value));
                message = Some(format!("{} loss {loss:.3} value {value:.4}", task.name));
            }
            (self.progress.report)(RoundProgress { n_new: 1, message });
            if self.progress.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let pairs = task.supervision.pairs().with_context(|| format!("{} cannot learn", task.name))?;
        if !pairs.is_empty() {
            if training.run(&self.data.inputs, &pairs, task.validation, report) == Ending::Stopped {
                put(unfinished, &training.to_bytes())?;
                return Err(Interrupted.into());
            }
        } else if task.number & STUDENTS != 0 {
            // A small part may have no pair. Its teacher knows nothing, and answers at random; to stop there would
            // reveal something about the part. A student without a pair is a mistake.
            bail!(
                "{} cannot learn: no query has two documents with different scores; expected at least one pair to \
                 learn from",
                task.name
            );
        }
        let steps = training.step();
        self.progress.advance(task.settings.steps.saturating_sub(steps));
        let n_pairs = u64::from(steps - began_at) * task.settings.batch as u64;
        let about = serde_json::json!({
            "steps": steps,
            "validation": training.best().map_or(0.0, |(_, validation)| validation),
            "pairs_per_second": n_pairs as f64 / started.elapsed().as_secs_f64(),
            // Step, mean loss since the last validation, value on held-out queries.
            "course": course,
        });
        let model = Model { network: training.into_best(), reading: start::reading(self.store, self.data) };
        let path = |ending: &str| self.folder.join(&task.name).with_extension(ending);
        // The seed is not for those who get the file: it gives the noise away.
        let bytes = model.to_bytes(&task.name);
        Model::from_bytes(&bytes, &path("safetensors")).context("training diverged: non-finite parameters")?;
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

fn teacher_name(number: usize) -> String {
    format!("teacher-{}", number + 1)
}

/// What is learnt from, and a tenth of it that says when to stop; all of it where there is little.
fn hold_out(supervision: Supervision) -> (Supervision, Supervision) {
    fn split<T: Clone>(mut all: Vec<T>, most: usize) -> (Vec<T>, Vec<T>) {
        let n_held_out = (all.len() / HELD_OUT).min(most);
        let held_out = all.split_off(all.len() - n_held_out);
        let held_out = if held_out.is_empty() { all.clone() } else { held_out };
        (all, held_out)
    }
    match supervision {
        Supervision::Scores(queries) => {
            let (queries, held_out) = split(queries, MOST_HELD_OUT);
            (Supervision::Scores(queries), Supervision::Scores(held_out))
        }
        Supervision::Pairs(pairs) => {
            let (pairs, held_out) = split(pairs, usize::MAX);
            (Supervision::Pairs(pairs), Supervision::Pairs(held_out))
        }
    }
}
