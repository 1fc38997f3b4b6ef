//! One run: one experiment on one fold with one seed. Read this first.
//!
//! In each round clients learn, the server steps, and a snapshot of the model waits to be evaluated with others in one
//! pass over the held-out queries. Rows leave through `sink` as soon as they are known.

mod again;
mod evaluator;
mod offline;
mod own_block;
mod recorder;
mod round_rows;
mod setup;
mod trainer;
mod unlearning;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use foltr_rank::Shape;
use foltr_simulation::adversary::{Attack, Promotion};
use foltr_simulation::client_round::RoundStats;
use foltr_simulation::datasets::Fold;

use crate::evaluate::score_all;
use crate::mimic::{self, FoldPipeline, MimicExperiment, Store};
use crate::rows::{MetricName, RoundProgress, Row, RunOutcome};
use crate::spec::Experiment;
pub use again::{SplitValues, evaluate_again};
use evaluator::RunEvaluator;
use recorder::Recorder;
use round_rows::RoundRows;
pub use setup::RunSetup;
use trainer::Trainer;
pub use unlearning::Parent;

#[derive(Clone, Copy)]
pub struct RunInput<'a> {
    pub work: Work<'a>,
    /// From 1.
    pub fold_number: usize,
    pub seed: u64,
    /// The finished run whose history this one starts from.
    pub parent: Option<&'a Parent>,
    /// Ends the run after its round when it becomes true.
    pub stop: &'a AtomicBool,
}

#[derive(Clone, Copy)]
pub enum Work<'a> {
    Training {
        experiment: &'a Experiment,
        fold: &'a Fold,
    },
    Mimic {
        experiment: &'a MimicExperiment,
        store: &'a Store,
        /// Where networks are stored as soon as they are trained.
        folder: &'a Path,
        steps: &'a [mimic::Step],
    },
}

impl<'a> RunInput<'a> {
    pub fn new(experiment: &'a Experiment, fold: &'a Fold, seed: u64, stop: &'a AtomicBool) -> Self {
        Self { work: Work::Training { experiment, fold }, fold_number: 1, seed, parent: None, stop }
    }
}

pub fn run_job(
    input: &RunInput<'_>,
    progress: &(dyn Fn(RoundProgress) + Sync),
    sink: &mut dyn FnMut(Row),
) -> Result<RunOutcome> {
    let RunInput { work, fold_number, seed, parent, stop } = *input;
    let (experiment, fold) = match work {
        Work::Training { experiment, fold } => (experiment, fold),
        Work::Mimic { experiment, store, folder, steps } => {
            let data = &store.training_data(experiment, fold_number, seed)?;
            let progress = mimic::Progress { report: progress, stop };
            return mimic::run_job(&FoldPipeline { experiment, store, data, seed, folder, progress }, steps, sink);
        }
    };
    if let Some(parent) = parent {
        return parent.run((experiment, fold), input, progress, sink);
    }
    if experiment.schedule().is_none() {
        return offline::run_baseline(experiment, fold, sink);
    }
    let setup = RunSetup::new(experiment, fold, seed)?;
    let (shape, n_rounds) = (setup.shape, setup.n_rounds);
    let evaluator = RunEvaluator::new(experiment, fold, Some(&setup.data), Some(&setup.any_user))?;
    let rounds = RoundRows::new(experiment.metrics.online.rounds_a_row(), n_rounds);
    let mut recorder = Recorder::new(shape, evaluator, sink).with_rounds(rounds);
    let mut trainer = Trainer::new(experiment, &setup, seed)?;
    let mut training_time = Duration::ZERO;
    let mut stats = RoundStats::default();
    let mut interrupted = false;
    for round in 0..=n_rounds {
        if experiment.metrics.evaluate.at(round, n_rounds) {
            trainer.show(round, &mut recorder);
            if let Some(promotion) = promoted(experiment)
                && let Some(rank) = promotion_rank(&promotion, fold, shape, &trainer.ranker())
            {
                recorder.send(round, MetricName::PromotionRank, rank);
            }
        }
        interrupted = round < n_rounds && stop.load(Ordering::Relaxed);
        if round == n_rounds || interrupted {
            break;
        }
        let started = Instant::now();
        let this = trainer.round().with_context(|| format!("fold {fold_number}, seed {seed}, round {}", round + 1))?;
        training_time += started.elapsed();
        stats.merge(&this);
        recorder.round(round + 1, &this, experiment.metrics.cutoff, &trainer);
        progress(RoundProgress::new(1, experiment.learner.name(), recorder.newest));
    }
    recorder.flush();
    let ranker = trainer.has_global_ranker().then(|| trainer.ranker());
    let asked = ranker.as_ref().filter(|_| experiment.metrics.by_query && !interrupted);
    let queries = asked.map(|params| recorder.queries(params)).unwrap_or_default();
    Ok(RunOutcome {
        ranker: ranker.map(|params| (shape, params)),
        queries,
        clients: recorder.clients,
        histories: trainer.into_histories(),
        forgotten: None,
        n_interactions: stats.n_interactions,
        training_seconds: training_time.as_secs_f64(),
        interrupted,
    })
}

/// What is promoted, by `[metrics]` or else by attackers.
fn promoted(experiment: &Experiment) -> Option<Promotion> {
    experiment.metrics.promotion.or(match experiment.attack.map(|attack| attack.method) {
        Some(Attack::Promotion(promotion)) => Some(promotion),
        _ => None,
    })
}

/// The mean place of promoted documents among the test documents of their query as a share of the list: 0 is the top, a
/// half is chance. None if no test query has such a document.
fn promotion_rank(promotion: &Promotion, fold: &Fold, shape: Shape, params: &[f32]) -> Option<f64> {
    let targets = promotion.targets(&fold.train);
    targets.relative_rank(&fold.test, &score_all(&fold.test, shape, params))
}
