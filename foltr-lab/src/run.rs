//! One run: one experiment on one fold with one seed. Read this first.
//!
//! Each round: clients learn, the server steps, and a snapshot of the model waits to be evaluated with others in one
//! pass over the held-out queries. Rows leave through `sink` as soon as they are known.

mod forgetting;
mod judge;
mod measured;
mod stage;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use foltr_federation::unlearn::ShardIsolation;
use foltr_rank::{Params, Shape};
use foltr_simulation::adversary::Attack;
use foltr_simulation::asynchronous_run::AsynchronousRun;
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::client_round::Tally;
use foltr_simulation::datasets::Fold;
use foltr_simulation::federation_run::FederationRun;
use foltr_simulation::sharded_run::ShardedRun;

use crate::baseline::{least_squares, ranking_svm};
use crate::promoted::promoted_place;
use crate::rows::{MetricName, RoundProgress, Row, RunOutcome};
use crate::spec::{Experiment, Learner};
use judge::Judge;
use measured::Rows;
pub use stage::Stage;

/// Runs one experiment on one fold with one seed.
///
/// # Errors
/// If the experiment does not fit the data, or a round fails.
pub fn run_one(
    experiment: &Experiment,
    fold: &Fold,
    fold_number: usize,
    seed: u64,
    progress: &dyn Fn(RoundProgress),
    sink: &mut dyn FnMut(Row),
    stop: &AtomicBool,
) -> Result<RunOutcome> {
    if experiment.schedule().is_none() {
        return run_baseline(experiment, fold, sink);
    }
    let stage = Stage::new(experiment, fold, seed)?;
    let (shape, n_rounds) = (stage.shape, stage.n_rounds);
    let judge = Judge::new(experiment, fold, Some(&stage.held), Some(&stage.anyone))?;
    let mut rows = Rows::new(shape, judge, sink);
    let mut trainer = Trainer::new(experiment, &stage, seed)?;
    let evaluate = experiment.metrics.evaluate;
    let mut training_time = Duration::ZERO;
    let mut tally = Tally::default();
    for round in 0..=n_rounds {
        if evaluate.at(round, n_rounds) {
            trainer.show(round, &mut rows);
            if let Some(Attack::Promotion(promotion)) = experiment.attack.map(|attack| attack.method)
                && let Some(place) = promoted_place(&promotion, fold, shape, &trainer.ranker())
            {
                rows.send(round, MetricName::PromotedPlace, place);
            }
        }
        progress(RoundProgress { round, n_rounds, value: rows.newest });
        let interrupted = round < n_rounds && stop.load(Ordering::Relaxed);
        if round == n_rounds || interrupted {
            rows.flush();
            let clients = rows.clients();
            let has_global_ranker = trainer.has_global_ranker();
            let context = || format!("fold {fold_number}, seed {seed}, unlearning");
            let ended = forgetting::end(trainer, experiment, &mut rows, interrupted, stop).with_context(context)?;
            return Ok(RunOutcome {
                shape,
                params: has_global_ranker.then_some(ended.ranker),
                clients,
                histories: ended.histories,
                forgotten: ended.forgotten,
                n_interactions: tally.n_interactions,
                training_seconds: training_time.as_secs_f64(),
                interrupted: interrupted || ended.interrupted,
            });
        }
        let started = Instant::now();
        let this = trainer.round().with_context(|| format!("fold {fold_number}, seed {seed}, round {}", round + 1))?;
        training_time += started.elapsed();
        tally.merge(&this);
        // A round that nobody came to has no mean.
        if this.n_clients > 0 {
            let n_clients = this.n_clients as f64;
            rows.send(round + 1, MetricName::OnlineNdcg(experiment.metrics.cutoff), this.ndcg / n_clients);
            rows.send(round + 1, MetricName::OnlineMaxRr, this.max_rr / n_clients);
        }
        if let Some(time) = trainer.time() {
            rows.send(round + 1, MetricName::SimulatedTime, time);
        }
        if let Some(share) = trainer.attacker_share() {
            rows.send(round + 1, MetricName::AttackerShare, share);
        }
    }
    unreachable!("the last round returns")
}

/// A learner from clicks, whoever holds the interactions.
enum Trainer<'a> {
    Federated(Box<FederationRun<'a>>),
    Sharded(Box<ShardedRun<'a>>),
    Asynchronous(Box<AsynchronousRun<'a>>),
    Centralised(Box<CentralisedRun<'a>>),
}

impl<'a> Trainer<'a> {
    fn new(experiment: &Experiment, stage: &'a Stage, seed: u64) -> Result<Self> {
        let partition = &stage.held.partition;
        if let Learner::CentralisedPdgd { learning_rate, batch, decay, interactions_per_round, .. } = experiment.learner
        {
            let settings = CentralisedSettings {
                seed,
                shape: stage.shape,
                initial: stage.initial.clone(),
                learning_rate,
                decay: decay.unwrap_or(1.0),
                batch,
                n_interactions: interactions_per_round,
                n_shown: experiment.metrics.list_length,
                users: partition.users()[0].clone(),
            };
            return Ok(Self::Centralised(Box::new(CentralisedRun::new(settings, &partition.sets()[0]))));
        }
        let settings = stage.settings(experiment, seed)?;
        let pace = experiment.pace();
        if let Some(shards) = experiment.federation.as_ref().and_then(|federation| federation.shards) {
            let keeping = experiment.keeping().unwrap_or_default();
            let run = ShardedRun::new(settings, ShardIsolation { shards }, partition, keeping, stage.fingerprint)?;
            return Ok(Self::Sharded(Box::new(run)));
        }
        if let Some(asynchrony) = experiment.asynchrony {
            let run = AsynchronousRun::new(settings, asynchrony, pace.unwrap_or_default(), partition)?;
            return Ok(Self::Asynchronous(Box::new(run)));
        }
        let mut run = FederationRun::new(settings, partition)?;
        if let Some(keeping) = experiment.keeping() {
            run = run.with_history(keeping, stage.fingerprint)?;
        }
        Ok(Self::Federated(Box::new(match pace {
            Some(pace) => run.with_pace(pace),
            None => run,
        })))
    }

    fn ranker(&self) -> Params {
        match self {
            Self::Federated(run) => run.ranker(),
            Self::Sharded(run) => run.ranker(),
            Self::Asynchronous(run) => run.ranker(),
            Self::Centralised(run) => run.params().to_vec(),
        }
    }

    /// Hands over what there is to judge after a round: the ranker of all clients, and those of their own.
    fn show(&self, round: usize, rows: &mut Rows<'_, '_>) {
        let has_global = self.has_global_ranker();
        if has_global {
            rows.snapshot(round, &self.ranker());
        }
        let own = |client: u32| if let Self::Federated(run) = self { run.own_ranker(client) } else { None };
        rows.own_rankers(round, self.ranker(), has_global, own);
    }

    /// Whether there is a ranker of all clients.
    fn has_global_ranker(&self) -> bool {
        if let Self::Federated(run) = self { run.has_global_ranker() } else { true }
    }

    fn round(&mut self) -> Result<Tally> {
        match self {
            Self::Federated(run) => Ok(run.round()?),
            Self::Sharded(run) => Ok(run.round()?),
            Self::Asynchronous(run) => Ok(run.round()?),
            Self::Centralised(run) => Ok(run.round()?),
        }
    }

    /// The attackers' share of the last step, where the rule tells it.
    fn attacker_share(&self) -> Option<f64> {
        if let Self::Federated(run) = self { run.attacker_share() } else { None }
    }

    /// Simulated time so far, where clients have speeds.
    fn time(&self) -> Option<f64> {
        match self {
            Self::Federated(run) => run.time(),
            Self::Asynchronous(run) => Some(run.time()),
            Self::Sharded(_) | Self::Centralised(_) => None,
        }
    }
}

/// Writes the number of grades that all folds together have into the experiment, unless it says so itself.
///
/// One fold may lack the highest grade; all runs of an experiment must have the same users nevertheless.
pub fn resolve_grades<'a>(experiment: &mut Experiment, folds: impl Iterator<Item = &'a Fold>) {
    if let Some(users) = &mut experiment.users {
        users.resolve_grades(folds.map(Fold::max_label).max().unwrap_or(0));
    }
}

fn run_baseline(experiment: &Experiment, fold: &Fold, sink: &mut dyn FnMut(Row)) -> Result<RunOutcome> {
    let anyone = experiment.users.as_ref().map(|users| stage::anyone_of(users, fold)).transpose()?;
    let judge = Judge::new(experiment, fold, None, anyone.as_ref())?;
    let mut rows = Rows::new(Shape::Linear { n_features: fold.train.n_features() }, judge, sink);
    let started = Instant::now();
    let params = match experiment.learner {
        Learner::LeastSquares => least_squares(&fold.train),
        Learner::RankingSvm { c } => ranking_svm(&fold.train, c),
        other => anyhow::bail!("{} has no schedule: its rounds or budget are missing", other.name()),
    };
    let training_seconds = started.elapsed().as_secs_f64();
    rows.snapshot(0, &params);
    rows.flush();
    Ok(RunOutcome {
        shape: rows.shape(),
        params: Some(params),
        histories: Vec::new(),
        forgotten: None,
        n_interactions: 0,
        training_seconds,
        interrupted: false,
        clients: Vec::new(),
    })
}
