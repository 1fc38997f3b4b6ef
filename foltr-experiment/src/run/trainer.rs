//! A learner from clicks, whoever holds the interactions.

use anyhow::Result;
use foltr_federation::History;
use foltr_federation::unlearn::ShardIsolation;
use foltr_rank::Params;
use foltr_simulation::asynchronous_run::AsynchronousRun;
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::client_round::RoundStats;
use foltr_simulation::federation_run::FederationRun;
use foltr_simulation::sharded_run::ShardedRun;

use super::recorder::Recorder;
use super::setup::RunSetup;
use crate::spec::{Experiment, Learner};

pub(super) enum Trainer<'a> {
    Federated(Box<FederationRun<'a>>),
    Sharded(Box<ShardedRun<'a>>),
    Asynchronous(Box<AsynchronousRun<'a>>),
    Centralised(Box<CentralisedRun<'a>>),
}

impl<'a> Trainer<'a> {
    pub(super) fn new(experiment: &Experiment, setup: &'a RunSetup, seed: u64) -> Result<Self> {
        let partition = &setup.data.clients;
        if let Learner::CentralisedPdgd(learner) = experiment.learner {
            let settings = CentralisedSettings {
                seed,
                shape: setup.shape,
                initial: setup.initial.clone(),
                learning_rate: learner.learning_rate,
                decay: learner.decay.unwrap_or(1.0),
                batch: learner.batch,
                max_displacement: learner.max_displacement,
                n_interactions: learner.interactions_per_round,
                n_shown: experiment.metrics.list_length,
                users: partition.users()[0].clone(),
            };
            return Ok(Self::Centralised(Box::new(CentralisedRun::new(settings, &partition.sets()[0]))));
        }
        let settings = setup.settings(experiment, seed)?;
        let pace = experiment.stragglers();
        if let Some(shards) = experiment.federation.as_ref().and_then(|federation| federation.shards) {
            let policy = experiment.history_policy().unwrap_or_default();
            let run = ShardedRun::new(settings, ShardIsolation { shards }, partition, policy, setup.fingerprint)?;
            return Ok(Self::Sharded(Box::new(run)));
        }
        if let Some(asynchrony) = experiment.asynchrony {
            let run = AsynchronousRun::new(settings, asynchrony, pace.unwrap_or_default(), partition)?;
            return Ok(Self::Asynchronous(Box::new(run)));
        }
        let mut run = FederationRun::new(settings, partition)?;
        if let Some(rule) = experiment.adoption {
            run = run.with_adoption(rule)?;
        }
        if let Some(policy) = experiment.history_policy() {
            run = run.with_history(policy, setup.fingerprint)?;
        }
        Ok(Self::Federated(Box::new(match pace {
            Some(pace) => run.with_pace(pace),
            None => run,
        })))
    }

    pub(super) fn ranker(&self) -> Params {
        match self {
            Self::Federated(run) => run.ranker(),
            Self::Sharded(run) => run.ranker(),
            Self::Asynchronous(run) => run.ranker(),
            Self::Centralised(run) => run.params().to_vec(),
        }
    }

    /// Hands over what there is to evaluate after a round: the ranker of all clients, and those of their own.
    pub(super) fn show(&self, round: usize, rows: &mut Recorder<'_, '_>) {
        let has_global = self.has_global_ranker();
        if has_global {
            rows.snapshot(round, &self.ranker());
        }
        let own = |client: u32| if let Self::Federated(run) = self { run.own_ranker(client) } else { None };
        rows.own_rankers(round, self.ranker(), has_global, own);
    }

    pub(super) fn has_global_ranker(&self) -> bool {
        if let Self::Federated(run) = self { run.has_global_ranker() } else { true }
    }

    pub(super) fn round(&mut self) -> Result<RoundStats> {
        match self {
            Self::Federated(run) => Ok(run.round()?),
            Self::Sharded(run) => Ok(run.round()?),
            Self::Asynchronous(run) => Ok(run.round()?),
            Self::Centralised(run) => Ok(run.round()?),
        }
    }

    /// The attackers' share of the last step, where the rule has one.
    pub(super) fn attacker_share(&self) -> Option<f64> {
        if let Self::Federated(run) = self { run.attacker_share() } else { None }
    }

    /// The share of the honest clients of the last round that refused its release, where clients test releases.
    pub(super) fn refused_share(&self) -> Option<f64> {
        if let Self::Federated(run) = self { run.refused_share() } else { None }
    }

    /// Messages so far that the server has refused for what was in them; nothing of an asynchronous federation, which
    /// refuses them for their age.
    pub(super) fn n_refused(&self) -> u64 {
        match self {
            Self::Federated(run) => run.n_refused(),
            Self::Sharded(run) => run.shards().iter().map(FederationRun::n_refused).sum(),
            Self::Asynchronous(_) | Self::Centralised(_) => 0,
        }
    }

    /// Steps so far that would have made a parameter infinite, and were dropped.
    pub(super) fn n_dropped_steps(&self) -> u64 {
        match self {
            Self::Federated(run) => run.n_dropped_steps(),
            Self::Sharded(run) => run.shards().iter().map(FederationRun::n_dropped_steps).sum(),
            Self::Asynchronous(run) => run.n_dropped_steps(),
            Self::Centralised(_) => 0,
        }
    }

    /// Simulated time so far, where clients have speeds.
    pub(super) fn time(&self) -> Option<f64> {
        match self {
            Self::Federated(run) => run.time(),
            Self::Asynchronous(run) => Some(run.time()),
            Self::Sharded(_) | Self::Centralised(_) => None,
        }
    }

    pub(super) fn into_histories(self) -> Vec<History> {
        match self {
            Self::Federated(run) => run.into_history().into_iter().collect(),
            Self::Sharded(run) => run.into_histories(),
            Self::Asynchronous(_) | Self::Centralised(_) => Vec::new(),
        }
    }
}
