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

use crate::aggregate::{CHUNK, PartialSum, PayloadSemantics, TooFewClients};
use crate::defence::Defence;
use crate::history::{Checkpoint, Devices};
use crate::message::{Expected, Message, Payload, PayloadError, RoundTask};
use crate::privacy::{Mode, NeedsSingleUpdates};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};
use foltr_rank::parameter::ParameterError;
use inbox::Inbox;
use round_buffer::RoundBuffer;

/// What a coordinator is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The model of round 0.
    pub initial: foltr_rank::Params,
    /// Size of the cohort.
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
    /// What clients send.
    pub rule: PayloadSemantics,
    /// How it is combined. Momentum, if any, is the devices' part of it.
    pub defence: Defence,
    /// What is done with the result.
    pub optimiser: ServerOptimiser,
    /// Who can see a single message.
    pub mode: Mode,
    /// The norm to which updates of the first round are clipped, where it changes from round to round.
    pub clip_norm: Option<f32>,
}

/// Why a coordinator cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SetupError {
    /// A parameter of the optimiser or the defence.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The gradient divides by sigma.
    #[error("sigma = {sigma} must be a positive number")]
    Sigma {
        /// What was asked for.
        sigma: f64,
    },
    /// The rule looks at single updates, and there are none.
    #[error(transparent)]
    Sealed(#[from] NeedsSingleUpdates),
    /// What is proven about a mechanism is about sums with a fixed divisor.
    #[error("this privacy mechanism is for sums of all updates: no rule may choose among them")]
    OnlySums,
    /// NaN or infinite.
    #[error("initial parameter {index} is {value}; it must be finite")]
    Initial {
        /// Which parameter, from 0.
        index: usize,
        /// Its value.
        value: f32,
    },
}

/// One federation, between two messages.
#[derive(Debug)]
pub struct Coordinator {
    task: RoundTask,
    /// The model in f64: small steps add up here that an f32 would swallow. The task publishes it in f32.
    master: Vec<f64>,
    optimiser: ServerOptimiser,
    state: OptimiserState,
    expected: Expected,
    mode: Mode,
    inbox: Inbox,
    /// All messages of the round, for a rule that must see them; then nothing is in the inbox.
    kept: Option<RoundBuffer>,
}

/// What a closed round did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundReport {
    /// The round that was closed.
    pub round: u32,
    /// Clients that took part.
    pub n_contributions: u32,
    /// Their total weight.
    pub weight: f64,
    /// Clients whose update was within the clip norm, if the rule counts them.
    pub n_within: u32,
    /// Euclidean norm of the aggregated step, before the optimiser.
    pub step_norm: f64,
}

/// Why a message or a partial sum is not taken. The round is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejected {
    /// Stale or from the future.
    #[error("the message is of round {got}, the open round is {expected}")]
    Round {
        /// The open round.
        expected: u32,
        /// The message's round.
        got: u32,
    },
    /// No such slot in the cohort.
    #[error("client {client} is not one of the {n_clients} of this round, counted from 0")]
    UnknownClient {
        /// The message's client.
        client: u32,
        /// Size of the cohort.
        n_clients: u32,
    },
    /// The client has already contributed, alone or in a partial sum.
    #[error("client {client} has already contributed to this round")]
    Duplicate {
        /// The message's client.
        client: u32,
    },
    /// A single message where only sums may be seen.
    #[error("this federation is sealed: the server takes the sums of secure aggregation, never a single message")]
    Sealed,
    /// The content is refused.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A sum where single messages must be seen.
    #[error("the rule of this federation compares single messages; it cannot take a sum of them")]
    NotASum,
    /// No such chunk in the cohort.
    #[error("chunk {chunk_idx} is not one of the {n_chunks} of this round, counted from 0")]
    UnknownChunk {
        /// The partial sum's chunk.
        chunk_idx: usize,
        /// Chunks of the cohort.
        n_chunks: usize,
    },
    /// A client of the chunk has already contributed.
    #[error("chunk {chunk_idx} already has contributions")]
    DuplicateChunk {
        /// The partial sum's chunk.
        chunk_idx: usize,
    },
    /// A partial sum of more clients than the chunk has.
    #[error("a partial sum of {got} clients cannot come from a chunk of {n_clients}")]
    ChunkSize {
        /// Clients of the chunk.
        n_clients: u32,
        /// Clients in the sum.
        got: u32,
    },
}

/// Why a round was not closed with a new model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CloseError {
    /// Nobody contributed. The round stays open.
    #[error("round {round} has no contribution")]
    Empty {
        /// The open round.
        round: u32,
    },
    /// Too few shares to hide the single ones. The round is dropped, the model stays, the next round is open.
    #[error("round {round} has {got} survivors; with fewer than {needed} its sum would not be hidden and is dropped")]
    TooFewSurvivors {
        /// The dropped round.
        round: u32,
        /// Shares that came.
        got: u32,
        /// Shares that the rule needs.
        needed: u32,
    },
    /// The rule cannot decide. The round is dropped, the model stays, the next round is open.
    #[error("round {round} is dropped: {reason}")]
    TooFewClients {
        /// The dropped round.
        round: u32,
        /// What the rule says.
        reason: TooFewClients,
    },
    /// The new model would leave the range of f32. The round is dropped, the model stays, the next round is open.
    #[error("round {round} would make parameter {index} infinite; its contributions were dropped")]
    Overflow {
        /// The dropped round.
        round: u32,
        /// The first parameter concerned.
        index: usize,
    },
}

impl Coordinator {
    /// A coordinator in round 0.
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        let Setup { initial, n_clients, n_interactions, rule, defence, optimiser, mode, clip_norm } = setup;
        optimiser.check()?;
        defence.check()?;
        if let Some(index) = initial.iter().position(|value| !value.is_finite()) {
            return Err(SetupError::Initial { index, value: initial[index] });
        }
        match rule {
            PayloadSemantics::Evolution { sigma, .. } if !(sigma.is_finite() && sigma > 0.0) => {
                return Err(SetupError::Sigma { sigma });
            }
            _ => {}
        }
        mode.admit(rule.needs_single_updates())?;
        mode.admit(defence.needs_single_updates())?;
        if !defence.only_sums() && matches!(rule, PayloadSemantics::Summing { .. } | PayloadSemantics::Shares { .. }) {
            return Err(SetupError::OnlySums);
        }
        let kept = (!defence.only_sums()).then(|| RoundBuffer::new(rule, defence.start(), n_clients, initial.len()));
        Ok(Self {
            master: initial.iter().map(|&value| f64::from(value)).collect(),
            state: optimiser.start(initial.len()),
            expected: Expected { n_params: initial.len(), kind: rule.kind(), max_interactions: n_interactions },
            inbox: Inbox::new(rule, n_clients, initial.len()),
            task: RoundTask { round: 0, global: initial, n_clients, n_interactions, clip_norm },
            optimiser,
            mode,
            kept,
        })
    }

    /// The task of the open round.
    pub const fn task(&self) -> &RoundTask {
        &self.task
    }

    /// What a payload of the open round must be; for [`decode`](crate::decode).
    pub const fn expected(&self) -> &Expected {
        &self.expected
    }

    /// The global model before it is rounded to f32.
    pub fn master(&self) -> &[f64] {
        &self.master
    }

    /// Messages that wait for their chunk to be complete; all others are folded and gone.
    pub fn n_held(&self) -> usize {
        self.kept.as_ref().map_or(self.inbox.n_held(), RoundBuffer::len)
    }

    /// Whether the rule must see every message, and takes no sums.
    pub const fn keeps_messages(&self) -> bool {
        self.kept.is_some()
    }

    /// How much of the last step came from each client that the rule looked at; empty for sums and for rules that take
    /// different coordinates from different clients.
    pub fn shares(&self) -> &[(u32, f64)] {
        self.kept.as_ref().map_or(&[], RoundBuffer::shares)
    }

    /// The state between two rounds. What the tail mean and the devices remember is for others to add, and what a rule
    /// [remembers](crate::Aggregation::remembers) is not in it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            round: self.task.round,
            master: self.master.clone(),
            optimiser: self.state.clone(),
            clip_norm: self.task.clip_norm,
            tail: None,
            devices: Devices::default(),
        }
    }

    /// Goes on from another state; messages of the open round are dropped.
    ///
    /// # Errors
    /// If it is of another model. Nothing changes then.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), PayloadError> {
        let (expected, got) = (self.master.len(), checkpoint.master.len());
        let (first, second, _) = checkpoint.optimiser.parts();
        if expected != got || first.len() != got || second.len() != got {
            return Err(PayloadError::Params { expected, got });
        }
        self.skip();
        self.task.round = checkpoint.round;
        self.task.clip_norm = checkpoint.clip_norm;
        self.task.global = checkpoint.global();
        self.master.clone_from(&checkpoint.master);
        self.state.clone_from(&checkpoint.optimiser);
        Ok(())
    }

    /// Takes a client's message.
    pub fn receive(&mut self, message: Message) -> Result<(), Rejected> {
        if self.mode == Mode::Sealed {
            return Err(Rejected::Sealed);
        }
        let Message { round, client, payload } = message;
        if round != self.task.round {
            return Err(Rejected::Round { expected: self.task.round, got: round });
        }
        self.expected_of(client)?.check(&payload)?;
        match &mut self.kept {
            Some(kept) => kept.receive(client, &payload),
            None => self.inbox.receive(client, payload),
        }
    }

    /// As [`Self::receive`] of a step of the open round, from borrowed memory.
    pub fn receive_step(&mut self, client: u32, n_interactions: u32, delta: &[f32]) -> Result<(), Rejected> {
        let expected = self.expected_of(client)?;
        if let Some(kept) = &mut self.kept {
            expected.check_step(n_interactions, delta)?;
            return kept.receive_step(client, f64::from(n_interactions), delta);
        }
        let payload = Payload::Step { n_interactions, delta: delta.to_vec() };
        self.receive(Message { round: self.task.round, client, payload })
    }

    /// What a payload of this client must be, if there is such a client.
    fn expected_of(&self, client: u32) -> Result<Expected, Rejected> {
        let n_clients = self.task.n_clients;
        if client < n_clients { Ok(self.expected) } else { Err(Rejected::UnknownClient { client, n_clients }) }
    }

    /// Takes the sum of a whole chunk, folded elsewhere in slot order: slots `chunk_idx * CHUNK` and following.
    pub fn receive_partial(&mut self, chunk_idx: usize, partial: PartialSum) -> Result<(), Rejected> {
        if self.keeps_messages() {
            return Err(Rejected::NotASum);
        }
        let n_chunks = (self.task.n_clients as usize).div_ceil(CHUNK);
        if chunk_idx >= n_chunks {
            return Err(Rejected::UnknownChunk { chunk_idx, n_chunks });
        }
        let n_params = self.expected.n_params;
        if partial.n_params() != n_params {
            return Err(PayloadError::Params { expected: n_params, got: partial.n_params() }.into());
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
        if self.keeps_messages() {
            return self.close_kept(change);
        }
        let round = self.task.round;
        let rule = self.inbox.rule();
        if let PayloadSemantics::Shares { min_survivors: needed, .. } = rule
            && self.inbox.n_contributions() < needed
        {
            let got = self.inbox.n_contributions();
            self.skip();
            return Err(CloseError::TooFewSurvivors { round, got, needed });
        }
        if self.inbox.n_contributions() == 0 && !matches!(rule, PayloadSemantics::Summing { .. }) {
            return Err(CloseError::Empty { round });
        }
        let total = self.inbox.fold();
        let mut step = total.step(&rule).ok_or(CloseError::Empty { round })?;
        change(&mut step);
        let report = RoundReport {
            round,
            n_contributions: total.n_contributions(),
            weight: total.weight(),
            n_within: total.n_within(),
            step_norm: norm(&step),
        };
        self.inbox.clear();
        self.task.round += 1;
        self.apply(&step).map_err(|index| CloseError::Overflow { round, index })?;
        Ok(report)
    }

    fn close_kept(&mut self, change: impl FnOnce(&mut [f64])) -> Result<RoundReport, CloseError> {
        let (round, Some(kept)) = (self.task.round, &mut self.kept) else { unreachable!("the caller looked") };
        let n_contributions = kept.len() as u32;
        if n_contributions == 0 {
            kept.clear_shares();
            return Err(CloseError::Empty { round });
        }
        let weight = kept.weight();
        let mut step = match kept.combine(&self.task.global) {
            Ok(step) => step,
            Err(reason) => {
                self.skip();
                return Err(CloseError::TooFewClients { round, reason });
            }
        };
        change(&mut step);
        let report = RoundReport { round, n_contributions, weight, n_within: 0, step_norm: norm(&step) };
        self.task.round += 1;
        let applied = self.apply(&step).map_err(|index| CloseError::Overflow { round, index });
        self.kept.iter_mut().for_each(|kept| kept.give_back(std::mem::take(&mut step)));
        applied.map(|()| report)
    }

    /// Opens the next round without a step: nobody contributed, or nobody shall.
    pub fn skip(&mut self) {
        self.inbox.clear();
        self.kept.iter_mut().for_each(RoundBuffer::clear);
        self.task.round += 1;
    }

    /// Sets the norm to which updates of the open round are clipped.
    pub fn set_clip_norm(&mut self, norm: f32) {
        self.task.clip_norm = Some(norm);
    }

    /// Moves model and optimiser together, or neither and says which parameter would leave the range of f32.
    fn apply(&mut self, step: &[f64]) -> Result<(), usize> {
        let (mut master, mut state) = (self.master.clone(), self.state.clone());
        self.optimiser.climb(&mut state, &mut master, step);
        if let Some(index) = master.iter().position(|&value| !(value as f32).is_finite()) {
            return Err(index);
        }
        self.task.global.iter_mut().zip(&master).for_each(|(published, &value)| *published = value as f32);
        (self.master, self.state) = (master, state);
        Ok(())
    }
}

fn norm(step: &[f64]) -> f64 {
    step.iter().map(|value| value * value).sum::<f64>().sqrt()
}
