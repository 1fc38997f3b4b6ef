//! The server of a federation as a plain struct: gives out the task, takes messages, closes the round.
//!
//! Whoever drives it decides when a round closes. Membership is by (round, client slot) alone; no clock is involved.
//!
//! A second message of a client is refused as [`Rejected::Duplicate`], whether or not its bytes are the same: a folded
//! message is gone, so the two cannot be compared here. A server that answers repeated uploads with the same receipt
//! keeps the receipts, and must look there first.

mod inbox;
mod round_buffer;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::aggregate::{CHUNK, PartialSum, PayloadSemantics};
use crate::defence::Defence;
use crate::global_model::GlobalModel;
use crate::history::{Checkpoint, Devices};
use crate::message::{Expected, Kind, Message, Payload, PayloadError, RoundTask};
use crate::privacy::{Mode, NeedsSingleUpdates};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use foltr_rank::parameter::ParameterError;
use inbox::Inbox;
use round_buffer::RoundBuffer;

#[derive(Clone, Debug)]
pub struct Setup {
    pub initial: foltr_rank::Params,
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
    pub rule: PayloadSemantics,
    /// How it is combined. Momentum, if any, is the devices' part of it.
    pub defence: Defence,
    pub optimiser: ServerOptimiser,
    pub mode: Mode,
    /// The norm to which updates of the first round are clipped, where it changes from round to round.
    pub clip_norm: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SetupError {
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    Sealed(#[from] NeedsSingleUpdates),
    #[error("this privacy mechanism is for sums of all updates: no rule may choose among them")]
    OnlySums,
    #[error("initial parameter {index} is {value}; it must be finite")]
    Initial { index: usize, value: f32 },
    #[error("payloads of kind {kind:?} cannot be used here: {needed}")]
    Kind { kind: Kind, needed: &'static str },
}

/// One federation, between two messages.
#[derive(Debug)]
pub struct Coordinator {
    model: GlobalModel,
    mode: Mode,
    inbox: Inbox,
    /// All messages of the round, for a rule that must see them; then nothing is in the inbox.
    buffer: Option<RoundBuffer>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundReport {
    pub round: u32,
    pub n_contributions: u32,
    pub weight: f64,
    /// Clients whose update was within the clip norm, if the rule counts them.
    pub n_within: u32,
    /// Euclidean norm of the aggregated step, before the optimiser.
    pub step_norm: f64,
}

/// Why a message or a partial sum is not taken. The round is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejected {
    #[error("the message is of round {got}, the open round is {expected}")]
    Round { expected: u32, got: u32 },
    #[error("client {client} is not one of the {n_clients} of this round, counted from 0")]
    UnknownClient { client: u32, n_clients: u32 },
    #[error("client {client} has already contributed to this round")]
    Duplicate { client: u32 },
    #[error("this federation is sealed: the server takes the sums of secure aggregation, never a single message")]
    Sealed,
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error("the rule of this federation compares single messages; it cannot take a sum of them")]
    NotASum,
    #[error("chunk {chunk_idx} is not one of the {n_chunks} of this round, counted from 0")]
    UnknownChunk { chunk_idx: usize, n_chunks: usize },
    #[error("chunk {chunk_idx} already has contributions")]
    DuplicateChunk { chunk_idx: usize },
    #[error("a partial sum of {got} clients cannot come from a chunk of {n_clients}")]
    ChunkSize { n_clients: u32, got: u32 },
}

/// Why a round was not closed with a new model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CloseError {
    /// Nobody contributed. The round stays open.
    #[error("round {round} has no contribution")]
    Empty { round: u32 },
    /// Too few shares to hide the single ones. The round is dropped, the model stays, the next round is open.
    #[error("round {round} has {got} survivors; with fewer than {needed} its sum would not be hidden and is dropped")]
    TooFewSurvivors { round: u32, got: u32, needed: u32 },
    /// The new model would leave the range of f32. The round is dropped, the model stays, the next round is open.
    #[error("round {round} would make parameter {index} infinite; its contributions were dropped")]
    Overflow { round: u32, index: usize },
}

impl Setup {
    /// Federated averaging without a defence: the mean at a rate of 1, of updates that the server reads.
    pub const fn averaging(initial: foltr_rank::Params, n_clients: u32, n_interactions: u32) -> Self {
        Self {
            initial,
            n_clients,
            n_interactions,
            rule: PayloadSemantics::Averaging,
            defence: Defence::NONE,
            optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
            mode: Mode::Clear,
            clip_norm: None,
        }
    }
}

impl Coordinator {
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        let Setup { n_clients, rule, defence, mode, .. } = setup;
        let model = GlobalModel::new(setup)?;
        defence.check()?;
        mode.admit(rule.needs_single_updates())?;
        mode.admit(defence.needs_single_updates())?;
        if !defence.only_sums() && matches!(rule, PayloadSemantics::Summing { .. } | PayloadSemantics::Shares { .. }) {
            return Err(SetupError::OnlySums);
        }
        let n_params = model.master.len();
        let buffer = (!defence.only_sums()).then(|| RoundBuffer::new(rule, defence.start(), n_clients, n_params));
        Ok(Self { inbox: Inbox::new(rule, n_clients, n_params), model, mode, buffer })
    }

    pub const fn task(&self) -> &RoundTask {
        &self.model.task
    }

    /// What a payload of the open round must be; for [`decode`](crate::decode).
    pub const fn expected(&self) -> &Expected {
        &self.model.expected
    }

    /// The global model before it is rounded to f32.
    pub fn master(&self) -> &[f64] {
        &self.model.master
    }

    /// Messages that wait for their chunk to be complete; all others are folded and gone.
    pub fn n_waiting(&self) -> usize {
        self.buffer.as_ref().map_or(self.inbox.waiting.len(), RoundBuffer::len)
    }

    /// How much of the last step came from each client that the rule looked at; empty for sums and for rules that take
    /// different coordinates from different clients.
    pub fn shares(&self) -> &[(u32, f64)] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.shares)
    }

    /// The state between two rounds. What the tail mean and the devices remember is for others to add, and what a rule
    /// [remembers](crate::Aggregation::remembers) is not in it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            round: self.model.task.round,
            master: self.model.master.clone(),
            optimiser: self.model.state.clone(),
            clip_norm: self.model.task.clip_norm,
            tail: None,
            devices: Devices::default(),
        }
    }

    /// Goes on from another state; messages of the open round are dropped. Nothing changes on an error.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), PayloadError> {
        let (expected, got) = (self.model.master.len(), checkpoint.master.len());
        let OptimiserState { first, second, .. } = &checkpoint.optimiser;
        if expected != got || first.len() != got || second.len() != got {
            return Err(PayloadError::Params { expected, got });
        }
        self.skip();
        let model = &mut self.model;
        model.task.round = checkpoint.round;
        model.task.clip_norm = checkpoint.clip_norm;
        model.task.global = checkpoint.global();
        model.master.clone_from(&checkpoint.master);
        model.state.clone_from(&checkpoint.optimiser);
        Ok(())
    }

    pub fn receive(&mut self, message: Message) -> Result<(), Rejected> {
        if self.mode == Mode::Sealed {
            return Err(Rejected::Sealed);
        }
        let Message { round, client, payload } = message;
        if round != self.model.task.round {
            return Err(Rejected::Round { expected: self.model.task.round, got: round });
        }
        self.check_client(client)?;
        self.model.expected.check(&payload)?;
        match &mut self.buffer {
            Some(buffer) => buffer.receive(client, &payload),
            None => self.inbox.receive(client, payload),
        }
    }

    /// As [`Self::receive`] of a step of the open round, from borrowed memory.
    pub fn receive_step(&mut self, client: u32, n_interactions: u32, delta: &[f32]) -> Result<(), Rejected> {
        self.check_client(client)?;
        if let Some(buffer) = &mut self.buffer {
            self.model.expected.check_step(n_interactions, delta)?;
            return buffer.receive_step(client, f64::from(n_interactions), delta);
        }
        let payload = Payload::Step { n_interactions, delta: delta.to_vec() };
        self.receive(Message { round: self.model.task.round, client, payload })
    }

    fn check_client(&self, client: u32) -> Result<(), Rejected> {
        let n_clients = self.model.task.n_clients;
        if client < n_clients { Ok(()) } else { Err(Rejected::UnknownClient { client, n_clients }) }
    }

    /// Takes the sum of a whole chunk, folded elsewhere in slot order: slots `chunk_idx * CHUNK` and following.
    pub fn receive_partial(&mut self, chunk_idx: usize, partial: PartialSum) -> Result<(), Rejected> {
        if self.buffer.is_some() {
            return Err(Rejected::NotASum);
        }
        let n_chunks = (self.model.task.n_clients as usize).div_ceil(CHUNK);
        if chunk_idx >= n_chunks {
            return Err(Rejected::UnknownChunk { chunk_idx, n_chunks });
        }
        let expected = self.model.expected.n_params;
        if partial.n_params() != expected {
            return Err(PayloadError::Params { expected, got: partial.n_params() }.into());
        }
        self.inbox.receive_partial(chunk_idx, partial)
    }

    /// Aggregates what has come, moves the model and opens the next round.
    pub fn close(&mut self) -> Result<RoundReport, CloseError> {
        self.close_with(|_| {})
    }

    /// As [`Self::close`], with a last change to the averaged step, such as
    /// [`laplace_of_mean`](crate::privacy::DistributedLaplace::laplace_of_mean).
    pub fn close_with(&mut self, change: impl FnOnce(&mut [f64])) -> Result<RoundReport, CloseError> {
        let round = self.model.task.round;
        let (mut report, mut step) = match &mut self.buffer {
            Some(buffer) => buffer.combine(round, &self.model.task.global).ok_or(CloseError::Empty { round })?,
            None => self.fold()?,
        };
        change(&mut step);
        report.step_norm = step.iter().map(|value| value * value).sum::<f64>().sqrt();
        self.inbox.clear();
        self.model.task.round += 1;
        self.model.apply(&step).map_err(|index| CloseError::Overflow { round, index })?;
        Ok(report)
    }

    /// The sum of all messages, as the step that the rule makes of it.
    fn fold(&mut self) -> Result<(RoundReport, Vec<f64>), CloseError> {
        let (round, rule, got) = (self.model.task.round, self.inbox.rule, self.inbox.n_contributions);
        match rule {
            PayloadSemantics::Shares { min_survivors: needed, .. } if got < needed => {
                self.skip();
                return Err(CloseError::TooFewSurvivors { round, got, needed });
            }
            // Whether anyone came must not be seen.
            PayloadSemantics::Summing { .. } => {}
            _ if got == 0 => return Err(CloseError::Empty { round }),
            _ => {}
        }
        let total = self.inbox.fold();
        let step = total.step(&rule).ok_or(CloseError::Empty { round })?;
        let (weight, n_within) = (total.weight(), total.n_within());
        Ok((RoundReport { round, n_contributions: got, weight, n_within, step_norm: 0.0 }, step))
    }

    /// Opens the next round without a step: nobody contributed, or nobody shall.
    pub fn skip(&mut self) {
        self.inbox.clear();
        self.buffer.iter_mut().for_each(RoundBuffer::clear);
        self.model.task.round += 1;
    }

    /// Sets the norm to which updates of the open round are clipped.
    pub fn set_clip_norm(&mut self, norm: f32) {
        self.model.task.clip_norm = Some(norm);
    }
}
