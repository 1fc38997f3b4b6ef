//! The server of a federation as a plain struct: gives out the task, takes messages, closes the round.
//!
//! Whoever drives it decides when a round closes. Membership is by (round, client slot) alone; no clock is involved.
//!
//! A second message of a client is refused as [`Rejected::Duplicate`], whether or not its bytes are the same: a folded
//! message is gone, so the two cannot be compared here. A server that answers repeated uploads with the same receipt
//! keeps the receipts, and must look there first.
//!
//! Where the rule compares single messages, a client that was drawn into the round and sends none is represented by its
//! [last message](crate::stand_ins).
//!
//! Noise that belongs on the sum is the coordinator's: [`Coordinator::close`] is the only way to a step, and it asks for
//! a random generator. What leaves a coordinator whose mechanism protects a sum is made of the noisy step: the model, the
//! next clip norm, the report, errors and checkpoints. Messages and sums of the open round are the server's own; they are
//! never printed.

mod inbox;
mod round_buffer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::aggregate::{CHUNK, Contributions, PartialSum, PayloadSemantics};
use crate::defence::Defence;
use crate::global_model::GlobalModel;
use crate::history::{Checkpoint, Devices};
use crate::message::{Expected, Kind, Message, Payload, PayloadError, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::{ClosingSum, LocalPrivacy, Mode, NeedsSingleUpdates, NoiseShares, Unprotected};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::parameter::{ParameterError, positive};
use inbox::Inbox;
use round_buffer::RoundBuffer;

#[derive(Clone, Debug)]
pub struct Setup {
    pub initial: foltr_rank::Params,
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
    /// How the server reads messages that no mechanism has changed.
    pub rule: PayloadSemantics,
    /// What devices do to their updates, and the server to the sum of them.
    pub privacy: Arc<dyn LocalPrivacy>,
    pub noise_shares: NoiseShares,
    /// How many clients a round counts on; a mechanism that protects a sum divides by this number.
    pub divisor: f64,
    /// How it is combined. Momentum, if any, is the devices' part of it.
    pub defence: Defence,
    pub optimiser: ServerOptimiser,
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
pub struct Coordinator {
    model: GlobalModel,
    privacy: Arc<dyn LocalPrivacy>,
    noise_shares: NoiseShares,
    divisor: f64,
    inbox: Inbox,
    /// All messages of the round, for a rule that must see them; then nothing is in the inbox.
    buffer: Option<RoundBuffer>,
    /// Who was drawn into the open round, in rising order; all clients if nobody said.
    drawn: Option<Vec<u32>>,
    defence: Defence,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundReport {
    pub round: u32,
    /// None where the mechanism hides who takes part.
    pub n_contributions: Option<u32>,
    /// Clients of the round that an earlier message, or the zero vector, stood in for.
    pub n_stand_ins: u32,
    /// Euclidean norm of the aggregated step, noise included, before the optimiser.
    pub step_norm: f64,
}

/// Why a message or a partial sum is not taken. The round is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Rejected {
    #[error("the message is of round {got}, the open round is {expected}")]
    Round { expected: u32, got: u32 },
    #[error("client {client} is not one of the {n_clients} of this round, counted from 0")]
    UnknownClient { client: u32, n_clients: u32 },
    #[error("client {client} was not drawn into round {round}")]
    NotDrawn { client: u32, round: u32 },
    #[error("the message of client {client} has length {length}, above the {longest} that this federation takes")]
    TooLong { client: u32, length: f64, longest: f64 },
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

impl Rejected {
    /// Refuses a vector of more than a length.
    fn check_length(client: u32, values: &[f32], longest: f64) -> Result<(), Self> {
        if longest == f64::INFINITY {
            return Ok(());
        }
        let length = values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if length <= longest { Ok(()) } else { Err(Self::TooLong { client, length, longest }) }
    }
}

impl Setup {
    /// Federated averaging without a defence: the mean at a rate of 1, of updates that the server reads.
    pub fn averaging(initial: foltr_rank::Params, n_clients: u32, n_interactions: u32) -> Self {
        Self {
            initial,
            n_clients,
            n_interactions,
            rule: PayloadSemantics::Averaging,
            privacy: Arc::new(Unprotected { reward: Reward::MaxRr }),
            noise_shares: NoiseShares::InMessages,
            divisor: f64::from(n_clients),
            defence: Defence::NONE,
            optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
        }
    }

    /// How the server reads what the mechanism makes of messages.
    pub(crate) fn semantics(&self) -> Result<PayloadSemantics, SetupError> {
        let refused = |kind, needed| Err(SetupError::Kind { kind, needed });
        match self.rule {
            PayloadSemantics::Averaging => {}
            PayloadSemantics::Evolution { sigma, .. } => positive("sigma", sigma)?,
            PayloadSemantics::Summing { .. } | PayloadSemantics::Shares { .. } => {
                return refused(
                    self.rule.kind(),
                    "sums are for the privacy mechanism to ask for, which adds their noise",
                );
            }
        }
        positive("divisor", self.divisor)?;
        let rule = self.privacy.rule(self.rule, self.divisor);
        if self.privacy.accepts(rule.kind()) {
            Ok(rule)
        } else {
            refused(rule.kind(), "the privacy mechanism is not defined for them")
        }
    }
}

impl Coordinator {
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        let rule = setup.semantics()?;
        let Setup { n_clients, defence, noise_shares, divisor, .. } = setup;
        let (privacy, mode) = (Arc::clone(&setup.privacy), setup.privacy.mode());
        let model = GlobalModel::new(setup, rule)?;
        defence.check()?;
        mode.admit(rule.needs_single_updates())?;
        mode.admit(defence.needs_single_updates())?;
        if !defence.only_sums() && matches!(rule, PayloadSemantics::Summing { .. } | PayloadSemantics::Shares { .. }) {
            return Err(SetupError::OnlySums);
        }
        let n_params = model.master.len();
        let new_buffer = || RoundBuffer::new(rule, defence.start(), n_clients, n_params, defence.stand_ins);
        let buffer = (!defence.only_sums()).then(new_buffer);
        let inbox = Inbox::new(rule, n_clients, n_params);
        Ok(Self { model, privacy, noise_shares, divisor, inbox, buffer, drawn: None, defence })
    }

    /// Says who was drawn into the open round, before messages come; those that have come are dropped. Nothing changes
    /// on an error.
    pub fn open(&mut self, drawn: &[u32]) -> Result<(), Rejected> {
        drawn.iter().try_for_each(|&client| self.check_known(client))?;
        self.inbox.clear();
        self.buffer.iter_mut().for_each(RoundBuffer::clear);
        let own = self.drawn.get_or_insert_default();
        own.clear();
        own.extend_from_slice(drawn);
        own.sort_unstable();
        own.dedup();
        Ok(())
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

    /// The step that the rule would make of these messages of the open round, without those that it refuses, and of
    /// stand-ins for all others; nothing changes, and no noise is added. For attackers who know the server.
    pub fn rehearse(&self, round: &Contributions) -> Option<Vec<f64>> {
        let mut taken = Contributions::new(round.n_params());
        for (client, weight, row) in round.iter() {
            let is_finite = row.iter().all(|value| value.is_finite());
            if is_finite && Rejected::check_length(client, row, self.defence.longest).is_ok() {
                taken.push(client, weight, row);
            }
        }
        match &self.buffer {
            Some(buffer) => buffer.rehearse(&self.model.task, taken, self.drawn.as_deref()),
            None => {
                let mut sum = PartialSum::new(round.n_params());
                taken.iter().for_each(|(_, weight, row)| sum.add_step(row, weight));
                sum.mean()
            }
        }
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
            stand_ins: self.buffer.as_ref().map(|buffer| buffer.stand_ins.clone()).unwrap_or_default(),
        }
    }

    /// Goes on from another state; messages of the open round are dropped. Nothing changes on an error.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), PayloadError> {
        let (expected, got) = (self.model.master.len(), checkpoint.master.len());
        let OptimiserState { first, second, .. } = &checkpoint.optimiser;
        if expected != got || first.len() != got || second.len() != got {
            return Err(PayloadError::Params { expected, got });
        }
        if let Some(last) = checkpoint.stand_ins.iter().map(|(_, last)| last.values.len()).find(|&len| len != expected)
        {
            return Err(PayloadError::Params { expected, got: last });
        }
        self.skip();
        if let Some(buffer) = &mut self.buffer {
            buffer.stand_ins.clone_from(&checkpoint.stand_ins);
        }
        let model = &mut self.model;
        model.task.round = checkpoint.round;
        model.task.clip_norm = checkpoint.clip_norm;
        model.task.global = checkpoint.global();
        model.master.clone_from(&checkpoint.master);
        model.state.clone_from(&checkpoint.optimiser);
        Ok(())
    }

    pub fn receive(&mut self, message: Message) -> Result<(), Rejected> {
        if self.privacy.mode() == Mode::Sealed {
            return Err(Rejected::Sealed);
        }
        let Message { round, client, payload } = message;
        if round != self.model.task.round {
            return Err(Rejected::Round { expected: self.model.task.round, got: round });
        }
        self.check_client(client)?;
        self.model.expected.check(&payload)?;
        match &mut self.buffer {
            Some(buffer) => buffer.receive(client, &payload, self.defence.longest),
            None => {
                self.inbox.check_length(client, &payload, self.defence.longest)?;
                self.inbox.receive(client, payload)
            }
        }
    }

    /// As [`Self::receive`] of a step of the open round, from borrowed memory.
    pub fn receive_step(&mut self, client: u32, n_interactions: u32, delta: &[f32]) -> Result<(), Rejected> {
        self.check_client(client)?;
        if let Some(buffer) = &mut self.buffer {
            self.model.expected.check_step(n_interactions, delta)?;
            return buffer.receive_step(client, f64::from(n_interactions), delta, self.defence.longest);
        }
        let payload = Payload::Step { n_interactions, delta: delta.to_vec() };
        self.receive(Message { round: self.model.task.round, client, payload })
    }

    fn check_client(&self, client: u32) -> Result<(), Rejected> {
        self.check_known(client)?;
        match &self.drawn {
            Some(drawn) if drawn.binary_search(&client).is_err() => {
                Err(Rejected::NotDrawn { client, round: self.model.task.round })
            }
            _ => Ok(()),
        }
    }

    fn check_known(&self, client: u32) -> Result<(), Rejected> {
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

    /// Aggregates what has come, lets the mechanism add its noise, moves the model and the clip norm, and opens the next
    /// round.
    ///
    /// `noise` must be fresh, whatever the round: closing two rounds with the same numbers gives their difference away.
    /// A deployment draws from the operating system.
    pub fn close(&mut self, noise: &mut dyn NoiseSource) -> Result<RoundReport, CloseError> {
        let round = self.model.task.round;
        let (sum, mut step, n_stand_ins) = match &mut self.buffer {
            Some(buffer) => {
                let combined = buffer.combine(&self.model.task.global, round, self.drawn.as_deref());
                let combined = combined.ok_or(CloseError::Empty { round })?;
                (self.closing(combined.n_fresh, 0), combined.step, combined.n_stand_ins)
            }
            None => {
                let (sum, step) = self.fold()?;
                (sum, step, 0)
            }
        };
        let clip_norm = self.privacy.finish(&sum, noise, &mut step);
        let moved = self.model.apply(&step);
        match &mut self.buffer {
            Some(buffer) if moved.is_ok() => buffer.remember(round),
            // What did not move the model has no shares in a step, and does not stand in for anything.
            Some(buffer) => buffer.shares.clear(),
            None => {}
        }
        self.skip();
        moved.map_err(|index| CloseError::Overflow { round, index })?;
        self.model.task.clip_norm = clip_norm;
        let hides_who = matches!(self.inbox.rule, PayloadSemantics::Summing { .. });
        Ok(RoundReport {
            round,
            n_contributions: (!hides_who).then_some(sum.n_contributions),
            n_stand_ins,
            step_norm: step.iter().map(|value| value * value).sum::<f64>().sqrt(),
        })
    }

    /// The sum of all messages, as the step that the rule makes of it.
    fn fold(&mut self) -> Result<(ClosingSum, Vec<f64>), CloseError> {
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
        let (n_within, step) = (total.n_within(), total.step(&rule).ok_or(CloseError::Empty { round })?);
        Ok((self.closing(got, n_within), step))
    }

    fn closing(&self, n_contributions: u32, n_within: u32) -> ClosingSum {
        let (clip_norm, divisor, shares) = (self.model.task.clip_norm, self.divisor, self.noise_shares);
        ClosingSum { n_contributions, n_within, clip_norm, divisor, shares }
    }

    /// Opens the next round without a step: nobody contributed, or nobody shall.
    pub fn skip(&mut self) {
        self.inbox.clear();
        self.buffer.iter_mut().for_each(RoundBuffer::clear);
        self.drawn = None;
        self.model.task.round += 1;
    }
}

impl fmt::Debug for Coordinator {
    /// Says nothing of the messages of the open round: their sum has no noise yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("task", &self.model.task)
            .field("privacy", &self.privacy)
            .finish_non_exhaustive()
    }
}
