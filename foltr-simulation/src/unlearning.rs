//! Simulated clients carry out a request to forget: every method of [`Unlearning`] on a run that has ended.
//!
//! A request is met from settings, data and the [`History`] of the run; what it leaves is a history again, so that the
//! next request goes on from there. Methods that take rounds can be watched: [`UnlearningRun::round`]. Shards are
//! another kind of federation ([`crate::sharded_run`]).

mod erasing;
mod replay;

use foltr_federation::history::{Erasure, Touched};
use foltr_federation::protocol::HEADER_LEN;
use foltr_federation::unlearn::{Certificate, LedgerSubtraction, MessageCost, Need};
use foltr_federation::{Assurance, Checkpoint, History, Kind, Mechanism, UnlearnError, Unlearning};
use foltr_rank::Params;
use foltr_rank::rng::{Purpose, Streams};

use crate::client_data::ClientData;
use crate::client_round::RoundStats;
use crate::federation_run::{FederationError, FederationSettings, RoundError};
use crate::salts::salts;
use erasing::EraserRun;

pub(crate) use replay::Replay;

/// What clients did in some rounds, to compare forgetting with training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub rounds: u32,
    pub local_steps: u64,
    pub messages: u64,
    /// Bytes of models to clients and of messages to the server.
    pub bytes: u64,
}

impl Cost {
    /// Adds a round in which `n_tasks` clients received a model of `n_params` and `n_messages` answered.
    pub(crate) fn add_round(
        &mut self,
        local_steps: u64,
        n_tasks: usize,
        n_messages: usize,
        kind: Kind,
        n_params: usize,
    ) {
        let message = HEADER_LEN + kind.content_len(n_params);
        let bytes = (n_tasks * 4 * n_params + n_messages * message) as u64;
        self.add(&Self { rounds: 1, local_steps, messages: n_messages as u64, bytes });
    }

    pub fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.local_steps += other.local_steps;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

#[derive(Clone, Debug)]
pub struct UnlearningResult {
    pub params: Params,
    pub cost: Cost,
    pub guarantee: Assurance,
    pub history: History,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnlearningError {
    #[error(transparent)]
    Request(#[from] UnlearnError),
    /// The federation that is left cannot be made, or not go on from a stored state.
    #[error(transparent)]
    Federation(#[from] FederationError),
    #[error(transparent)]
    Round(#[from] RoundError),
    #[error("the history is of {history} clients with {n_params} parameters, the settings are of another federation")]
    OtherFederation { history: u32, n_params: usize },
}

#[derive(Clone, Copy, Debug)]
pub struct Request<'p, 'r> {
    pub method: &'r Unlearning,
    /// Those of training. Clients that were forgotten before need not be in `absent`.
    pub settings: &'r FederationSettings,
    pub partition: &'p ClientData,
    pub history: &'r History,
    pub leavers: &'r [u32],
    /// What a message costs those who send it again, and what they may spend.
    pub cost: MessageCost,
}

pub struct UnlearningRun<'a> {
    course: Course<'a>,
}

enum Course<'a> {
    Replay(Box<Replay<'a>>),
    Erasing(Box<EraserRun<'a>>),
    AtOnce(Box<(Checkpoint, History)>),
}

/// Meets a request. The request's history is as it was in any case.
pub fn unlearn(request: &Request<'_, '_>) -> Result<UnlearningResult, UnlearningError> {
    let mut run = UnlearningRun::new(request)?;
    while run.round()?.is_some() {}
    Ok(run.finish())
}

/// Settings of the federation without those who were forgotten in a history, and with its lineage.
pub(crate) fn remaining(settings: &FederationSettings, history: &History) -> FederationSettings {
    let gone = history.erasures().flat_map(|erasure| &erasure.clients);
    let mut absent: Vec<u32> = settings.absent.iter().chain(gone).copied().collect();
    absent.sort_unstable();
    absent.dedup();
    FederationSettings { absent, lineage: history.lineage(), ..settings.clone() }
}

/// Random numbers of the last request of a history, and of no other: what people do meanwhile, and the noise.
fn request_streams(seed: u64, erased: &History) -> Streams {
    let nth = erased.erasures().count().saturating_sub(1) as u32;
    Streams::new(seed).branch(Purpose::Unlearning, 0, nth).of_lineage(&erased.lineage())
}

impl Request<'_, '_> {
    /// The history without the leavers, who were forgotten with so many rounds of fresh work.
    fn erased_history(&self, fresh_rounds: u32, touched: Touched) -> Result<History, UnlearnError> {
        let mut history = self.history.clone();
        let (round, clients) = (history.n_rounds(), self.leavers.to_vec());
        history.erase(Erasure { round, clients, method: *self.method, fresh_rounds }, touched)?;
        Ok(history)
    }

    /// Refuses more rounds than those who stay can afford.
    fn afford(&self, n_rounds: u32) -> Result<(), UnlearnError> {
        self.cost.check(self.history, self.leavers, n_rounds)
    }

    fn check(&self) -> Result<(), UnlearningError> {
        let header = self.history.header();
        let fits = header.initial.iter().zip(&self.settings.initial).all(|(stored, &own)| *stored == f64::from(own))
            && (header.n_clients, header.initial.len()) == (self.settings.n_clients, self.settings.initial.len())
            && header.optimiser == self.settings.optimiser;
        if !fits {
            let (history, n_params) = (header.n_clients, header.initial.len());
            return Err(UnlearningError::OtherFederation { history, n_params });
        }
        Ok(self.method.check_request(self.history, self.leavers)?)
    }

    /// What the method rests on is not given.
    fn premise(&self, on: &'static str) -> UnlearnError {
        UnlearnError::Premise { method: self.method.name(), on }
    }

    fn latest(&self) -> Result<&Checkpoint, UnlearnError> {
        let need = Need::Checkpoints { every: None };
        self.history.latest().ok_or(UnlearnError::Need { method: self.method.name(), need })
    }

    /// The same model, whose privacy is guarantee enough.
    fn certify(&self, certificate: &Certificate) -> Result<(Checkpoint, History), UnlearnError> {
        // Only here is a client that is absent the neighbour that the guarantee is about: the sum lacks its summand,
        // and is divided by the same number.
        if !matches!(self.settings.privacy, Mechanism::Gaussian(_) | Mechanism::CentralDiscreteGaussian(_)) {
            return Err(self.premise("Gaussian noise on a sum with a fixed divisor"));
        }
        let n_messages = self.cost.most_messages(self.history, self.leavers);
        certificate.confirm(self.cost.cost, n_messages, self.leavers.len())?;
        Ok((self.latest()?.clone(), self.erased_history(0, Touched::Stay)?))
    }

    /// The newest model without the leavers' steps.
    fn subtract(&self, subtraction: &LedgerSubtraction) -> Result<(Checkpoint, History), UnlearnError> {
        if !self.settings.defence.only_sums() {
            return Err(self.premise("the mean of all updates"));
        }
        let mut state = Checkpoint { tail: None, ..self.latest()?.clone() };
        subtraction.subtract(self.history, self.leavers, &mut state.master)?;
        let mut history = self.erased_history(0, Touched::Drop)?;
        state.erase(self.leavers);
        history.add_checkpoint(state.clone(), &mut salts());
        Ok((state, history))
    }
}

impl<'a> UnlearningRun<'a> {
    pub fn new(request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        request.check()?;
        let course = match request.method {
            Unlearning::Retrain(_) => Course::Replay(Box::new(Replay::from_scratch(request)?)),
            Unlearning::FedEraser(eraser) => Course::Erasing(Box::new(EraserRun::new(eraser, request)?)),
            Unlearning::LedgerSubtraction(subtraction) => Course::AtOnce(Box::new(request.subtract(subtraction)?)),
            Unlearning::ShardIsolation(_) => {
                return Err(request.premise("shards: a sharded run forgets by itself").into());
            }
            Unlearning::NoisyRollback(rollback) => Course::Replay(Box::new(Replay::with_noise(rollback, request)?)),
            Unlearning::Certificate(certificate) => Course::AtOnce(Box::new(request.certify(certificate)?)),
        };
        Ok(Self { course })
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
    pub fn round(&mut self) -> Result<Option<RoundStats>, UnlearningError> {
        match &mut self.course {
            Course::Replay(replay) => Ok(replay.round()?),
            Course::Erasing(run) => Ok(run.round()),
            Course::AtOnce(_) => Ok(None),
        }
    }

    pub fn ranker(&self) -> Params {
        match &self.course {
            Course::Replay(replay) => replay.run.ranker(),
            Course::Erasing(run) => run.ranker(),
            Course::AtOnce(done) => done.0.ranker(),
        }
    }

    pub fn finish(self) -> UnlearningResult {
        let params = self.ranker();
        let (cost, history) = match self.course {
            Course::Replay(replay) => {
                (replay.run.cost(), replay.run.into_history().expect("a replay continues a history"))
            }
            Course::Erasing(run) => run.finish(),
            Course::AtOnce(done) => (Cost::default(), done.1),
        };
        // What is claimed is what the chain proves.
        let guarantee = history.guarantees().pop().expect("the request is in the chain");
        UnlearningResult { params, cost, guarantee, history }
    }
}
