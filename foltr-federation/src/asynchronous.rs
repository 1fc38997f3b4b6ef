//! The server of a federation whose clients come when they are ready: takes messages one by one, publishes versions.
//!
//! `Message.round` is the version of the model that the client started from. How far the model has moved on since then,
//! counted in versions, is the message's staleness. What happens to a message is one of [`Asynchrony`]: collected in a
//! buffer ([`Buffered`]), or mixed into the model at once ([`Naive`]).
//!
//! Messages are taken in order of arrival, which is part of the result: unlike in a round, nobody knows who else will
//! come. No clock is involved, only versions.
//!
//! Single messages are weighted by the server, which must therefore see them: there is no sealed mode.

mod buffered;
mod naive;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use buffered::Buffered;
pub use naive::Naive;

use crate::aggregate::PayloadSemantics;
use crate::coordinator::SetupError;
use crate::message::{Expected, Kind, Message, PayloadError, RoundTask};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use buffered::Buffer;
use foltr_rank::parameter::ParameterError;
use naive::History;

/// What a server does with messages that do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Asynchrony {
    /// FedBuff: the weighted mean of a buffer of steps.
    Buffered(Buffered),
    /// Each client's model is mixed into the global one as it comes.
    Naive(Naive),
}

impl Asynchrony {
    /// Every kind: its name in an experiment file, and what it does.
    pub const LIST: &[(&str, &str)] = &[
        ("buffered", "FedBuff: steps in a buffer, weighted by staleness, at most so many of one client"),
        ("naive", "Every client's model is mixed into the global one as it comes, as AOL4FOLTR does"),
    ];

    /// Checks the parameters before any work.
    pub fn check(&self, n_clients: u32) -> Result<(), ParameterError> {
        match self {
            Self::Buffered(buffered) => buffered.check(n_clients),
            Self::Naive(naive) => naive.check(),
        }
    }

    /// Messages that started from an older version than this many ago are refused.
    const fn max_staleness(&self) -> u32 {
        match self {
            Self::Buffered(buffered) => buffered.max_staleness,
            Self::Naive(naive) => naive.max_staleness,
        }
    }
}

/// What an asynchronous coordinator is made of.
#[derive(Clone, Debug)]
pub struct AsynchronousSetup {
    /// The model of version 0.
    pub initial: foltr_rank::Params,
    /// All clients.
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
    /// What clients send.
    pub rule: PayloadSemantics,
    /// How it is combined.
    pub asynchrony: Asynchrony,
    /// What is done with the result.
    pub optimiser: ServerOptimiser,
}

/// Why an asynchronous coordinator cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum AsynchronousSetupError {
    /// As for any coordinator.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A parameter of the buffer.
    #[error(transparent)]
    Asynchrony(#[from] ParameterError),
    /// Payloads that cannot be used one by one, or are no models.
    #[error("payloads of kind {kind:?} cannot be used here: {needed}")]
    Kind {
        /// What clients would send.
        kind: Kind,
        /// What is needed.
        needed: &'static str,
    },
}

/// What became of a message that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It waits in the buffer.
    Held,
    /// It made a new version of the model.
    NewVersion,
}

/// Why a message is not taken. But for [`Refused::Overflow`], everything is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// From the future.
    #[error("the message starts from version {got}, the newest is {newest}")]
    UnknownVersion {
        /// The newest version.
        newest: u32,
        /// The message's version.
        got: u32,
    },
    /// Too old.
    #[error("the message starts from a model {staleness} versions ago; at most {most} are allowed")]
    TooStale {
        /// Versions since the client started.
        staleness: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// No such client.
    #[error("client {client} is not one of the {n_clients} of this federation, counted from 0")]
    UnknownClient {
        /// The message's client.
        client: u32,
        /// All clients.
        n_clients: u32,
    },
    /// The client has filled its part of the buffer.
    #[error("client {client} already has {limit} messages in this buffer, which is all that one client may have")]
    RateLimit {
        /// The message's client.
        client: u32,
        /// Messages of one client in one buffer.
        limit: u32,
    },
    /// The content is refused.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The new model would leave the range of f32. Model and version stay; what was held is dropped.
    #[error("version {version} would make parameter {index} infinite; what led to it was dropped")]
    Overflow {
        /// The version that was not made.
        version: u32,
        /// The first parameter concerned.
        index: usize,
    },
}

/// What is kept between two messages.
#[derive(Clone, Debug)]
enum Memory {
    Buffer(Buffer),
    History(History),
}

/// One asynchronous federation, between two messages.
#[derive(Clone, Debug)]
pub struct AsynchronousCoordinator {
    task: RoundTask,
    /// The model in f64, as in [`Coordinator`](crate::Coordinator).
    master: Vec<f64>,
    optimiser: ServerOptimiser,
    state: OptimiserState,
    expected: Expected,
    max_staleness: u32,
    memory: Memory,
}

impl AsynchronousCoordinator {
    /// A coordinator with version 0 of the model.
    pub fn new(setup: AsynchronousSetup) -> Result<Self, AsynchronousSetupError> {
        let AsynchronousSetup { initial, n_clients, n_interactions, rule, asynchrony, optimiser } = setup;
        optimiser.check().map_err(SetupError::Parameter)?;
        asynchrony.check(n_clients)?;
        if let Some(index) = initial.iter().position(|value| !value.is_finite()) {
            return Err(SetupError::Initial { index, value: initial[index] }.into());
        }
        if let PayloadSemantics::Evolution { sigma, .. } = rule
            && !(sigma.is_finite() && sigma > 0.0)
        {
            return Err(SetupError::Sigma { sigma }.into());
        }
        let kind = rule.kind();
        let memory = match (asynchrony, rule) {
            (Asynchrony::Buffered(settings), PayloadSemantics::Averaging | PayloadSemantics::Evolution { .. }) => {
                Memory::Buffer(Buffer::new(settings, rule, initial.len()))
            }
            (Asynchrony::Naive(naive), PayloadSemantics::Averaging) => Memory::History(History::new(naive, &initial)),
            (Asynchrony::Naive(_), _) => {
                return Err(AsynchronousSetupError::Kind {
                    kind,
                    needed: "naive averaging needs steps, which make a model",
                });
            }
            (Asynchrony::Buffered(_), _) => {
                let needed = "a mechanism that hides single messages in the sum of a round needs rounds";
                return Err(AsynchronousSetupError::Kind { kind, needed });
            }
        };
        Ok(Self {
            master: initial.iter().map(|&value| f64::from(value)).collect(),
            state: optimiser.start(initial.len()),
            expected: Expected { n_params: initial.len(), kind, max_interactions: n_interactions },
            task: RoundTask { round: 0, global: initial, n_clients, n_interactions, clip_norm: None },
            optimiser,
            max_staleness: asynchrony.max_staleness(),
            memory,
        })
    }

    /// What a client receives that starts now; its `round` is the newest version.
    pub const fn task(&self) -> &RoundTask {
        &self.task
    }

    /// What a payload must be; for [`decode`](crate::decode).
    pub const fn expected(&self) -> &Expected {
        &self.expected
    }

    /// The global model before it is rounded to f32.
    pub fn master(&self) -> &[f64] {
        &self.master
    }

    /// Takes a client's message.
    pub fn receive(&mut self, message: &Message) -> Result<Taken, Refused> {
        let Message { round, client, payload } = message;
        let (client, newest) = (*client, self.task.round);
        let staleness = newest.checked_sub(*round).ok_or(Refused::UnknownVersion { newest, got: *round })?;
        if staleness > self.max_staleness {
            return Err(Refused::TooStale { staleness, most: self.max_staleness });
        }
        if client >= self.task.n_clients {
            return Err(Refused::UnknownClient { client, n_clients: self.task.n_clients });
        }
        self.expected.check(payload)?;
        let step = match &mut self.memory {
            Memory::Buffer(buffer) => match buffer.add(client, staleness, payload)? {
                Some(step) => step,
                None => return Ok(Taken::Held),
            },
            Memory::History(history) => history.step(staleness, payload, &self.master),
        };
        self.apply(&step)?;
        Ok(Taken::NewVersion)
    }

    /// Moves model, optimiser and version together, or none of them.
    fn apply(&mut self, step: &[f64]) -> Result<(), Refused> {
        let (mut master, mut state) = (self.master.clone(), self.state.clone());
        self.optimiser.climb(&mut state, &mut master, step);
        if let Some(index) = master.iter().position(|&value| !(value as f32).is_finite()) {
            return Err(Refused::Overflow { version: self.task.round + 1, index });
        }
        self.task.global.iter_mut().zip(&master).for_each(|(published, &value)| *published = value as f32);
        (self.master, self.state) = (master, state);
        self.task.round += 1;
        if let Memory::History(history) = &mut self.memory {
            history.publish(&self.task.global);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
