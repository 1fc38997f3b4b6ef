//! One run: one experiment on one fold with one seed. Read this first.
//!
//! Each round: clients learn, the server steps, and a snapshot of the model waits to be evaluated with others in one
//! pass over the held-out queries. Rows leave through `sink` as soon as they are known.

mod judge;
mod measured;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use foltr_federation::LocalPrivacy;
use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::learn::pdgd::PdgdSettings;
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Initialisation, Params, Shape};
use foltr_simulation::adversary::Attack;
use foltr_simulation::asynchronous_run::AsynchronousRun;
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::click::{Cascade, PositionBased, Users};
use foltr_simulation::client_round::{Tally, TrainingSet};
use foltr_simulation::cohort::Cohort;
use foltr_simulation::datasets::Fold;
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_simulation::partition::Partition;
use foltr_simulation::partition::shared::warm_up_seed;

use crate::baseline::{least_squares, ranking_svm};
use crate::partition::held;
use crate::promoted::promoted_place;
use crate::rows::{MetricName, RoundProgress, Row, RunOutcome};
use crate::spec::{self, EvolutionStream, Experiment, Learner};
use judge::Judge;
use measured::Rows;

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
    let users = experiment.users.as_ref().map(|users| users_of(users, fold)).transpose()?;
    let anyone = users.as_deref().map(anyone);
    let held = match (users, experiment.schedule()) {
        (Some(users), Some(_)) => Some(held(experiment, fold, users, seed)?),
        _ => None,
    };
    let ranker = experiment.ranker;
    let shape = ranker
        .map_or(Shape::Linear { n_features: fold.train.n_features() }, |ranker| ranker.shape(fold.train.n_features()));
    let judge = Judge::new(experiment, fold, held.as_ref(), anyone.as_ref())?;
    let mut rows = Rows::new(shape, judge, sink);
    let Some(schedule) = experiment.schedule() else {
        return run_baseline(experiment, fold, rows);
    };
    let held = held.as_ref().context("a learner from clicks needs [users]")?;
    let initialisation = ranker.map_or(Initialisation::Zero, |ranker| ranker.initialisation());
    let initial = initialisation.params(shape, &mut Streams::new(seed).open(Purpose::Initialisation, 0, 0));
    let n_rounds = experiment.affordable_rounds(schedule.n_rounds, shape.n_params())?;
    ensure!(n_rounds > 0, "budget: not even one round of this experiment stays within it");
    let initial = match (&held.shared, &anyone) {
        (Some(shared), Some(users)) => warmed_up(experiment, shared, users.clone(), shape, initial, seed)?,
        _ => initial,
    };
    let mut trainer = Trainer::new(experiment, shape, initial, seed, &held.partition, n_rounds)?;
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
            return Ok(RunOutcome {
                shape,
                params: trainer.has_global_ranker().then(|| trainer.ranker()),
                clients: rows.clients(),
                n_interactions: tally.n_interactions,
                training_seconds: training_time.as_secs_f64(),
                interrupted,
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
    Asynchronous(Box<AsynchronousRun<'a>>),
    Centralised(Box<CentralisedRun<'a>>),
}

impl<'a> Trainer<'a> {
    fn new(
        experiment: &Experiment,
        shape: Shape,
        initial: Params,
        seed: u64,
        partition: &'a Partition,
        n_rounds: usize,
    ) -> Result<Self> {
        let schedule = experiment.schedule().context("a learner from clicks needs a schedule")?;
        let n_shown = experiment.metrics.list_length;
        if let Learner::CentralisedPdgd { learning_rate, batch, decay, interactions_per_round, .. } = experiment.learner
        {
            let settings = CentralisedSettings {
                seed,
                shape,
                initial,
                learning_rate,
                decay: decay.unwrap_or(1.0),
                batch,
                n_interactions: interactions_per_round,
                n_shown,
                users: partition.users()[0].clone(),
            };
            return Ok(Self::Centralised(Box::new(CentralisedRun::new(settings, &partition.sets()[0]))));
        }
        let federation = experiment.federation.as_ref().context("a federated learner needs [federation]")?;
        let clients = experiment.clients.as_ref().context("a federated learner needs [clients]")?;
        let privacy = experiment.mechanism(shape.n_params())?;
        let settings = FederationSettings {
            seed,
            shape,
            initial,
            learning: learning(experiment, n_shown, schedule.interactions, privacy.clip_radius())?,
            n_clients: u32::try_from(schedule.n_clients)?,
            personalisation: experiment.personalisation,
            cohort: cohort(clients)?,
            dropout: clients.dropout.unwrap_or(0.0),
            average_from: federation.average_last.map(|share| first_averaged(share, n_rounds)),
            absent: Vec::new(),
            privacy,
            defence: experiment.defence(),
            attackers: experiment.attack,
            optimiser: federation.optimiser,
        };
        let pace = experiment.pace();
        if let Some(asynchrony) = experiment.asynchrony {
            let run = AsynchronousRun::new(settings, asynchrony, pace.unwrap_or_default(), partition)?;
            return Ok(Self::Asynchronous(Box::new(run)));
        }
        let run = FederationRun::new(settings, partition)?;
        Ok(Self::Federated(Box::new(match pace {
            Some(pace) => run.with_pace(pace),
            None => run,
        })))
    }

    fn ranker(&self) -> Params {
        match self {
            Self::Federated(run) => run.ranker(),
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
            Self::Centralised(_) => None,
        }
    }
}

/// The ranker after so many interactions on the queries that all clients share (spec section 11): where round 1 begins.
fn warmed_up(
    experiment: &Experiment,
    shared: &TrainingSet,
    users: Users,
    shape: Shape,
    initial: Params,
    seed: u64,
) -> Result<Params> {
    let n_interactions = experiment.partition.and_then(|it| it.shared()).map_or(0, |shared| shared.warm_up);
    let (Learner::Pdgd { learning_rate, .. }, 1..) = (experiment.learner, n_interactions) else { return Ok(initial) };
    let settings = CentralisedSettings {
        seed: warm_up_seed(seed),
        shape,
        initial,
        learning_rate,
        decay: 1.0,
        batch: 1,
        n_interactions,
        n_shown: experiment.metrics.list_length,
        users,
    };
    let mut run = CentralisedRun::new(settings, shared);
    run.round().context("partition.shared.warm_up")?;
    Ok(run.params().to_vec())
}

/// Who takes part, from the experiment file's words.
fn cohort(clients: &spec::Clients) -> Result<Cohort> {
    Ok(match (clients.cohort, clients.participation) {
        (Some(size), _) if size < clients.n_clients => Cohort::Sample(u32::try_from(size)?),
        (None, Some(probability)) => Cohort::Coins(probability),
        _ => Cohort::Everyone,
    })
}

/// The first of the last models (counted from 1) that are averaged: at least the very last one.
fn first_averaged(share: f64, n_rounds: usize) -> u32 {
    let n_averaged = (share * n_rounds as f64).ceil().max(1.0) as usize;
    u32::try_from(n_rounds - n_averaged.min(n_rounds) + 1).unwrap_or(u32::MAX)
}

/// What clients do, from the experiment file's words.
fn learning(
    experiment: &Experiment,
    n_shown: usize,
    n_interactions: usize,
    clip_radius: Option<f32>,
) -> Result<Learning> {
    match experiment.learner {
        Learner::Pdgd { learning_rate, updates, proximal } => Ok(Learning::Pdgd(PdgdSettings {
            learning_rate: learning_rate as f32,
            updates,
            n_shown,
            clip_radius,
            proximal: proximal.unwrap_or(0.0) as f32,
        })),
        Learner::Evolution { sigma, antithetic, reward, stream } => Ok(Learning::Evolution {
            settings: EvolutionSettings { sigma: sigma as f32, antithetic, reward, n_interactions, n_shown },
            published_stream: stream == EvolutionStream::Published,
        }),
        other => anyhow::bail!("{} is not a federated learner", other.name()),
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

/// The experiment's users, for the grades that it names or, if it names none, for those of this fold. More than one if
/// clients differ in how they click.
fn users_of(users: &spec::Users, fold: &Fold) -> Result<Vec<Users>> {
    let mut users = users.clone();
    users.resolve_grades(fold.max_label());
    let models: Vec<Users> = users.models().iter().map(|model| one_user(model, fold)).collect::<Result<_>>()?;
    Ok(match users {
        spec::Users::Several { each: spec::Each::Interaction, .. } => vec![Users::Mixed(models)],
        _ => models,
    })
}

fn one_user(users: &spec::Users, fold: &Fold) -> Result<Users> {
    let (max_label, grades) = (fold.max_label(), users.grades().unwrap_or(0));
    ensure!(
        max_label < grades,
        "users.grades = {grades}, but the data has label {max_label}: at least {} are needed",
        max_label + 1
    );
    Ok(match users {
        spec::Users::Cascade { preset, .. } => Users::Cascade(Cascade::preset(*preset, grades - 1)?),
        spec::Users::PositionBased { eta, preset, .. } => {
            let clicks = Cascade::preset(*preset, grades - 1)?;
            Users::PositionBased(PositionBased::new(*eta, clicks.click_probabilities()))
        }
        spec::Users::Several { .. } => anyhow::bail!("users.models: \"several\" cannot be among them"),
    })
}

/// Somebody of whom only is known that these are equally many.
fn anyone(users: &[Users]) -> Users {
    if let [only] = users { only.clone() } else { Users::Mixed(users.to_vec()) }
}

fn run_baseline(experiment: &Experiment, fold: &Fold, mut rows: Rows<'_, '_>) -> Result<RunOutcome> {
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
        n_interactions: 0,
        training_seconds,
        interrupted: false,
        clients: Vec::new(),
    })
}
