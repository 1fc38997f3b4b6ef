//! Simulated clients carry out a request to forget: every method of [`Unlearning`] on a run that has ended.
//!
//! A request is met from settings, data and the [`History`] of the run; what it leaves is a history again, so that the
//! next request goes on from there. Methods that take rounds can be watched: [`UnlearningRun::round`]. Shards are
//! another kind of federation ([`crate::sharded_run`]).

mod cost;
mod erasing;
mod replay;

use foltr_federation::history::{Erasure, Touched};
use foltr_federation::unlearn::{Certificate, Need};
use foltr_federation::{Assurance, Checkpoint, History, LocalPrivacy, Mechanism, UnlearnError, Unlearning};
use foltr_rank::Params;

use crate::client_data::ClientData;
use crate::client_round::RoundStats;
use crate::federation_run::{FederationError, FederationSettings, ResumeError, RoundError};
use erasing::EraserRun;

pub use cost::Cost;
pub(crate) use replay::Replay;

/// What is left after a request.
#[derive(Clone, Debug)]
pub struct Unlearned {
    /// The ranker to use.
    pub params: Params,
    /// What it took.
    pub cost: Cost,
    /// What is known about it.
    pub guarantee: Assurance,
    /// The history afterwards, for the next request.
    pub history: History,
}

/// Why a request cannot be met, or was not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnlearningError {
    /// It cannot be met.
    #[error(transparent)]
    Cannot(#[from] UnlearnError),
    /// The federation that is left cannot be made.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// It cannot go on from a stored state.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// One of its rounds failed.
    #[error(transparent)]
    Round(#[from] RoundError),
    /// Settings of another federation.
    #[error("the history is of {history} clients with {n_params} parameters, the settings are of another federation")]
    OtherFederation {
        /// Its clients.
        history: u32,
        /// Of its model.
        n_params: usize,
    },
}

/// Everything that a request is about.
#[derive(Clone, Copy, Debug)]
pub struct Request<'p, 'r> {
    /// Those of training. Clients that were forgotten before need not be in `absent`.
    pub settings: &'r FederationSettings,
    /// The data of training.
    pub partition: &'p ClientData,
    /// What was kept.
    pub history: &'r History,
    /// Who wants to be forgotten.
    pub leavers: &'r [u32],
}

/// A request while it is being met.
pub struct UnlearningRun<'a> {
    course: Course<'a>,
    guarantee: Assurance,
}

/// How a method goes on.
enum Course<'a> {
    /// Training again, from some state on.
    Replay(Box<Replay<'a>>),
    /// FedEraser.
    Erasing(Box<EraserRun<'a>>),
    /// There is nothing to do for clients.
    AtOnce(Box<(Checkpoint, History)>),
}

/// Meets a request.
///
/// # Errors
/// If it cannot be met; the request's history is as it was in any case.
pub fn unlearn(method: &Unlearning, request: &Request<'_, '_>) -> Result<Unlearned, UnlearningError> {
    let mut run = UnlearningRun::new(method, request)?;
    while run.round()?.is_some() {}
    Ok(run.finish())
}

impl Request<'_, '_> {
    /// Settings of the federation that is left.
    pub(crate) fn remaining(&self) -> FederationSettings {
        let gone = self.history.erasures().flat_map(|erasure| &erasure.clients);
        let mut absent: Vec<u32> = self.settings.absent.iter().chain(gone).chain(self.leavers).copied().collect();
        absent.sort_unstable();
        absent.dedup();
        FederationSettings { absent, ..self.settings.clone() }
    }

    /// The entry of the history.
    pub(crate) fn erasure(&self, method: &Unlearning, is_proven: bool, fresh_rounds: u32) -> Erasure {
        let (round, clients) = (self.history.n_rounds(), self.leavers.to_vec());
        Erasure { round, clients, method: method.name().to_owned(), is_proven, fresh_rounds }
    }

    fn check(&self, method: &Unlearning) -> Result<(), UnlearningError> {
        let header = self.history.header();
        let fits = header.initial.iter().zip(&self.settings.initial).all(|(kept, &own)| *kept == f64::from(own))
            && (header.n_clients, header.initial.len()) == (self.settings.n_clients, self.settings.initial.len())
            && header.optimiser == self.settings.optimiser;
        if !fits {
            let (history, n_params) = (header.n_clients, header.initial.len());
            return Err(UnlearningError::OtherFederation { history, n_params });
        }
        Ok(method.check_request(self.history, self.leavers)?)
    }

    /// The newest state.
    fn latest(&self, method: &Unlearning) -> Result<&Checkpoint, UnlearnError> {
        let need = Need::Checkpoints { every: None };
        self.history.latest().ok_or(UnlearnError::Need { method: method.name(), need })
    }

    /// The same model, of which its privacy tells enough.
    fn certify(
        &self,
        method: &Unlearning,
        certificate: &Certificate,
    ) -> Result<(Checkpoint, History), UnlearningError> {
        // Only here is a client that is absent the neighbour that the guarantee is about: the sum lacks its summand,
        // and is divided by the same number.
        let Mechanism::Gaussian(mechanism) = &self.settings.privacy else {
            let on = "Gaussian noise on a sum with a fixed divisor";
            return Err(UnlearnError::Premise { method: method.name(), on }.into());
        };
        let cost = mechanism.cost(self.settings.initial.len(), self.partition.most_interactions());
        let n_messages = self.leavers.iter().map(|&client| self.history.n_messages(client)).max().unwrap_or(0);
        certificate.confirm(cost, n_messages, self.leavers.len())?;
        let state = self.latest(method)?.clone();
        let mut history = self.history.clone();
        let erased = history.erase(self.erasure(method, true, 0), Touched::Stay);
        erased.map_err(UnlearnError::from)?;
        Ok((state, history))
    }

    /// The newest model without the leavers' steps.
    fn subtract(&self, method: &Unlearning) -> Result<(Checkpoint, History), UnlearningError> {
        let Unlearning::LedgerSubtraction(subtraction) = method else { unreachable!("the caller looked") };
        if !self.settings.defence.only_sums() {
            let on = "the mean of all updates";
            return Err(UnlearnError::Premise { method: method.name(), on }.into());
        }
        let mut state = Checkpoint { tail: None, ..self.latest(method)?.clone() };
        subtraction.subtract(self.history, self.leavers, &mut state.master)?;
        let mut history = self.history.clone();
        let erased = history.erase(self.erasure(method, false, 0), Touched::Drop);
        erased.map_err(UnlearnError::from)?;
        state.devices.erase(self.leavers);
        history.add_checkpoint(state.clone());
        Ok((state, history))
    }
}

impl<'a> UnlearningRun<'a> {
    /// A request that is about to be met.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn new(method: &Unlearning, request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        request.check(method)?;
        let mut guarantee = method.guarantee();
        let course = match method {
            Unlearning::Retrain(_) => Course::Replay(Box::new(Replay::from_scratch(method, request)?)),
            Unlearning::FedEraser(eraser) => Course::Erasing(Box::new(EraserRun::new(eraser, method, request)?)),
            Unlearning::LedgerSubtraction(_) => Course::AtOnce(Box::new(request.subtract(method)?)),
            Unlearning::ShardIsolation(_) => {
                let on = "shards: a sharded run forgets by itself";
                return Err(UnlearnError::Premise { method: method.name(), on }.into());
            }
            Unlearning::NoisyRollback(rollback) => {
                let (replay, plan) = Replay::with_noise(method, rollback, request)?;
                if plan.sensitivity == 0.0 {
                    guarantee = Assurance::Exact;
                }
                Course::Replay(Box::new(replay))
            }
            Unlearning::Certificate(certificate) => Course::AtOnce(Box::new(request.certify(method, certificate)?)),
        };
        Ok(Self { course, guarantee })
    }

    /// All rounds that it takes, those that are done included.
    pub fn n_rounds(&self) -> u32 {
        match &self.course {
            Course::Replay(replay) => replay.n_rounds(),
            Course::Erasing(run) => run.n_rounds(),
            Course::AtOnce(_) => 0,
        }
    }

    /// Goes through one round and says what happened in it; nothing when all are done.
    ///
    /// # Errors
    /// If the round failed.
    pub fn round(&mut self) -> Result<Option<RoundStats>, UnlearningError> {
        match &mut self.course {
            Course::Replay(replay) => Ok(replay.round()?),
            Course::Erasing(run) => Ok(run.round()),
            Course::AtOnce(_) => Ok(None),
        }
    }

    /// The ranker to use after the rounds so far.
    pub fn ranker(&self) -> Params {
        match &self.course {
            Course::Replay(replay) => replay.ranker(),
            Course::Erasing(run) => run.ranker(),
            Course::AtOnce(done) => done.0.ranker(),
        }
    }

    /// What is left, after all rounds.
    ///
    /// # Panics
    /// If some are not done.
    pub fn finish(self) -> Unlearned {
        let (params, guarantee) = (self.ranker(), self.guarantee);
        let (cost, history) = match self.course {
            Course::Replay(replay) => replay.finish(),
            Course::Erasing(run) => run.finish(),
            Course::AtOnce(done) => (Cost::default(), done.1),
        };
        Unlearned { params, cost, guarantee, history }
    }
}
