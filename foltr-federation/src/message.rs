//! The task a device receives, the message it sends back, and what the content of a message may be.

mod codec;

use foltr_rank::Params;
use thiserror::Error;

pub use codec::{DecodeError, HEADER_LEN, VERSION, decode, encode};

/// What a device receives at the start of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTask {
    /// Rounds are counted from 0.
    pub round: u32,
    /// The global model.
    pub global: Params,
    /// Size of the cohort; clients of the round are the slots `0..n_clients`.
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
}

/// What leaves a device, apart from where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Local minus global parameters.
    Step {
        /// Interactions behind the step: its weight in the average.
        n_interactions: u32,
        /// One value a parameter.
        delta: Vec<f32>,
    },
    /// The average reward of a perturbed model (FOLtR-ES).
    Evolution {
        /// Generates the perturbation.
        seed: u32,
        /// Average reward of global + perturbation.
        plus: f32,
        /// Average reward of global - perturbation, if both were tried.
        minus: Option<f32>,
    },
}

impl Default for Payload {
    /// Room for the first payload of a loop.
    fn default() -> Self {
        Self::Evolution { seed: 0, plus: 0.0, minus: None }
    }
}

/// A payload, with the round and the client it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The round of the task that the client answers.
    pub round: u32,
    /// The client's slot in the cohort of that round.
    pub client: u32,
    /// What it reports.
    pub payload: Payload,
}

/// The kinds of payload; the number is the kind byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// [`Payload::Step`].
    Step = 1,
    /// [`Payload::Evolution`] with one reward.
    Evolution = 2,
    /// [`Payload::Evolution`] with two rewards.
    EvolutionAntithetic = 3,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Step, Self::Evolution, Self::EvolutionAntithetic];

    /// Bytes of a payload of this kind, without the header; at most what the task allows, whatever a message claims.
    pub const fn content_len(self, n_params: usize) -> usize {
        match self {
            Self::Step => 4 + 4 * n_params,
            Self::Evolution => 8,
            Self::EvolutionAntithetic => 12,
        }
    }
}

impl Payload {
    /// Which kind this is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Step { .. } => Kind::Step,
            Self::Evolution { minus: None, .. } => Kind::Evolution,
            Self::Evolution { minus: Some(_), .. } => Kind::EvolutionAntithetic,
        }
    }

    /// Makes this an empty step and returns its vector, whose memory is reused if it was a step before.
    pub fn as_step(&mut self, n_interactions: u32) -> &mut Vec<f32> {
        if !matches!(self, Self::Step { .. }) {
            *self = Self::Step { n_interactions, delta: Vec::new() };
        }
        let Self::Step { n_interactions: reported, delta } = self else { unreachable!("it was just made a step") };
        *reported = n_interactions;
        delta.clear();
        delta
    }
}

/// What the task of a round allows a payload to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Length of the global model.
    pub n_params: usize,
    /// The only kind that this round takes.
    pub kind: Kind,
    /// The most interactions that a client may report.
    pub max_interactions: u32,
}

impl Expected {
    /// Checks a payload, decoded or made in this process.
    pub fn check(&self, payload: &Payload) -> Result<(), BadPayload> {
        if payload.kind() != self.kind {
            return Err(BadPayload::Kind { expected: self.kind, got: payload.kind() });
        }
        match payload {
            Payload::Step { n_interactions, delta } => {
                if !(1..=self.max_interactions).contains(n_interactions) {
                    return Err(BadPayload::Interactions { max: self.max_interactions, got: *n_interactions });
                }
                if delta.len() != self.n_params {
                    return Err(BadPayload::Params { expected: self.n_params, got: delta.len() });
                }
                check_finite(delta)
            }
            Payload::Evolution { plus, minus, .. } => check_finite(&[*plus, minus.unwrap_or(0.0)]),
        }
    }
}

fn check_finite(values: &[f32]) -> Result<(), BadPayload> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(BadPayload::NotFinite { index }),
        None => Ok(()),
    }
}

/// Why the content of a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadPayload {
    /// The round takes another kind.
    #[error("this round takes payloads of kind {expected:?}, not {got:?}")]
    Kind {
        /// What the round takes.
        expected: Kind,
        /// What came.
        got: Kind,
    },
    /// No interaction, or more than the task asked for.
    #[error("a step must rest on 1 to {max} interactions, not {got}")]
    Interactions {
        /// What the task asked for.
        max: u32,
        /// What the message claims.
        got: u32,
    },
    /// The step does not fit the model.
    #[error("a step must have the {expected} values of the global model, not {got}")]
    Params {
        /// Length of the model.
        expected: usize,
        /// Length of the step.
        got: usize,
    },
    /// NaN or infinite.
    #[error("value {index} is NaN or infinite; only finite numbers can be averaged")]
    NotFinite {
        /// Which value, from 0.
        index: usize,
    },
}
