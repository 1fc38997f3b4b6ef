//! The server of a federation whose clients come when they are ready: takes messages one by one, publishes versions.
//!
//! `Message.start` is the version of the model that the client started from. How far the model has moved on since then,
//! counted in versions, is the message's staleness. What happens to a message is one of [`Asynchrony`]: collected in a
//! buffer ([`Buffered`]), or mixed into the model at once ([`Naive`]).
//!
//! Messages are taken in order of arrival, which is part of the result: unlike in a round, nobody knows who else will
//! come. No clock is involved, only versions.
//!
//! Single messages are weighted by the server, which must therefore see them: there is no sealed mode.

mod buffered;
mod naive;

use foltr_rank::bytes::{BytesError, Reader, Writer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use buffered::Buffered;
pub use naive::Naive;

use crate::aggregate::PayloadSemantics;
use crate::coordinator::{Setup, SetupError};
use crate::defence::Defence;
use crate::global_model::GlobalModel;
use crate::message::{Expected, Message, PayloadError, RoundTask};
use crate::privacy::{Mode, NoiseShares};
use crate::staleness::Staleness;
use buffered::Buffer;
use foltr_rank::parameter::ParameterError;
use naive::Versions;

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
    pub const LIST: &[(&str, &str)] = &[
        ("buffered", "FedBuff: steps in a buffer, weighted by staleness, at most so many of one client"),
        ("naive", "Every client's model is mixed into the global one as it comes, as AOL4FOLTR does"),
    ];

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

/// What became of a message that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Buffered,
    NewVersion,
}

/// Why a message is not taken. But for [`Refused::Overflow`], everything is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    #[error("the message starts from version {got}, the newest is {newest}")]
    UnknownVersion { newest: u32, got: u32 },
    #[error("the message starts from a model {staleness} versions ago; at most {most} are allowed")]
    TooStale { staleness: u32, most: u32 },
    #[error("client {client} is not one of the {n_clients} of this federation, counted from 0")]
    UnknownClient { client: u32, n_clients: u32 },
    #[error("client {client} already has {limit} messages in this buffer, which is all that one client may have")]
    RateLimit { client: u32, limit: u32 },
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The new model would leave the range of f32. Model and version stay; what was buffered is dropped.
    #[error("version {version} would make parameter {index} infinite; what led to it was dropped")]
    Overflow { version: u32, index: usize },
}

const NAME: &str = "foltr asynchronous coordinator 1";

#[derive(Clone, Debug)]
enum Memory {
    Buffer(Buffer),
    Versions(Versions),
}

/// One asynchronous federation, between two messages.
#[derive(Clone, Debug)]
pub struct AsynchronousCoordinator {
    model: GlobalModel,
    max_staleness: u32,
    memory: Memory,
}

impl AsynchronousCoordinator {
    /// A coordinator with version 0 of the model. There is no defence, and the server sees every message.
    pub fn new(setup: Setup, asynchrony: Asynchrony) -> Result<Self, SetupError> {
        let rule = setup.semantics()?;
        let Setup { defence, n_clients, noise_shares, staleness, average_from, .. } = setup;
        if staleness != Staleness::NONE || average_from.is_some() || !setup.clusters.is_empty() {
            return Err(SetupError::NeedsRounds);
        }
        let is_sealed = setup.privacy.mode() == Mode::Sealed || noise_shares != NoiseShares::InMessages;
        if is_sealed || defence != Defence::NONE {
            let needed = "without rounds there is no sealed sum and no defence";
            return Err(SetupError::Kind { kind: rule.kind(), needed });
        }
        let model = GlobalModel::new(setup, rule)?;
        asynchrony.check(n_clients)?;
        let memory = match (asynchrony, rule) {
            (Asynchrony::Buffered(settings), PayloadSemantics::Averaging | PayloadSemantics::Evolution { .. }) => {
                Memory::Buffer(Buffer::new(settings, rule, model.master.len()))
            }
            (Asynchrony::Naive(naive), PayloadSemantics::Averaging) => {
                Memory::Versions(Versions::new(naive, &model.task.global))
            }
            (asynchrony, rule) => {
                let needed = match asynchrony {
                    Asynchrony::Naive(_) => "naive averaging needs steps, which make a model",
                    _ => "a mechanism that hides single messages in the sum of a round needs rounds",
                };
                return Err(SetupError::Kind { kind: rule.kind(), needed });
            }
        };
        Ok(Self { model, max_staleness: asynchrony.max_staleness(), memory })
    }

    /// With these bytes a coordinator of the same setup and the same clients goes on as if it had never stopped.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        self.model.save(&mut out);
        match &self.memory {
            Memory::Buffer(buffer) => buffer.save(out.u8(0)),
            Memory::Versions(versions) => versions.save(out.u8(1)),
        }
        out.0
    }

    /// Goes on from saved bytes. Clients that came later than the setup must be enrolled before. On an error nothing has
    /// changed.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        let (input, n_params) = (&mut Reader::new(bytes), self.model.master.len());
        let name = input.text()?;
        input.require(name == NAME, "this is no state of an asynchronous coordinator")?;
        let (model, mut memory) = (self.model.loaded(input)?, self.memory.clone());
        match (input.u8()?, &mut memory) {
            (0, Memory::Buffer(buffer)) => buffer.load(input, model.task.n_clients)?,
            (1, Memory::Versions(versions)) => versions.load(input, n_params, model.task.round)?,
            _ => return Err(input.wrong("another kind of asynchrony")),
        }
        input.clone().finish()?;
        (self.model, self.memory) = (model, memory);
        Ok(())
    }

    /// See [`Coordinator::enrol`](crate::Coordinator::enrol).
    pub fn enrol(&mut self, n_clients: u32) {
        let known = &mut self.model.task.n_clients;
        *known = n_clients.max(*known);
    }

    /// Goes on from an earlier model with a new version, since no version comes twice. What was buffered is dropped, and the
    /// optimiser begins anew. What started from a version before must not be taken: leave those releases out of what
    /// [`into_message`](crate::protocol::Contribution::into_message) knows. Nothing changes on an error.
    pub fn roll_back(&mut self, params: &[f32]) -> Result<(), PayloadError> {
        let (expected, got) = (self.model.master.len(), params.len());
        if expected != got {
            return Err(PayloadError::Params { expected, got });
        }
        if let Some(index) = params.iter().position(|value| !value.is_finite()) {
            return Err(PayloadError::NotFinite { index });
        }
        let model = &mut self.model;
        model.master = params.iter().map(|&value| f64::from(value)).collect();
        model.task.global = params.to_vec();
        model.state = model.optimiser.start(expected);
        model.task.round += 1;
        match &mut self.memory {
            Memory::Buffer(buffer) => buffer.clear(),
            Memory::Versions(versions) => versions.publish(params),
        }
        Ok(())
    }

    /// What a client receives that starts now; its `round` is the newest version.
    pub const fn task(&self) -> &RoundTask {
        &self.model.task
    }

    /// What a payload must be; for [`Contribution::decode`](crate::protocol::Contribution::decode).
    pub const fn expected(&self) -> &Expected {
        &self.model.expected
    }

    /// The global model before it is rounded to f32.
    pub fn master(&self) -> &[f64] {
        &self.model.master
    }

    /// Refuses all that [`Self::receive`] refuses, but for what depends on other messages of the buffer, and takes nothing.
    pub fn check(&self, message: &Message) -> Result<(), Refused> {
        self.staleness_of(message).map(drop)
    }

    /// The staleness of a message that may be taken.
    fn staleness_of(&self, message: &Message) -> Result<u32, Refused> {
        let Message { start, client, ref payload, .. } = *message;
        let RoundTask { round: newest, n_clients, .. } = self.model.task;
        let staleness = newest.checked_sub(start).ok_or(Refused::UnknownVersion { newest, got: start })?;
        if staleness > self.max_staleness {
            return Err(Refused::TooStale { staleness, most: self.max_staleness });
        }
        if client >= n_clients {
            return Err(Refused::UnknownClient { client, n_clients });
        }
        self.model.expected.check(payload)?;
        Ok(staleness)
    }

    pub fn receive(&mut self, message: &Message) -> Result<Received, Refused> {
        let staleness = self.staleness_of(message)?;
        let Message { client, payload, .. } = message;
        let newest = self.model.task.round;
        let step = match &mut self.memory {
            Memory::Buffer(buffer) => match buffer.add(*client, staleness, payload)? {
                Some(step) => step,
                None => return Ok(Received::Buffered),
            },
            Memory::Versions(versions) => versions.step(staleness, payload, &self.model.master),
        };
        self.model.apply(&step).map_err(|index| Refused::Overflow { version: newest + 1, index })?;
        self.model.task.round += 1;
        if let Memory::Versions(versions) = &mut self.memory {
            versions.publish(&self.model.task.global);
        }
        Ok(Received::NewVersion)
    }
}

#[cfg(test)]
mod tests;
