//! The task a device receives, the message it sends back, and what the content of a message may be.

use foltr_rank::Params;
use thiserror::Error;

/// What a device receives at the start of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTask {
    pub round: u32,
    pub global: Params,
    /// Clients are numbered from 0 to below this.
    pub n_clients: u32,
    /// The most interactions that a client may report.
    pub n_interactions: u32,
    /// The norm to which updates are clipped, where it changes from round to round.
    pub clip_norm: Option<f32>,
}

/// What leaves a device, apart from where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Local minus global parameters. The interactions behind a step are its weight in the average.
    Step { n_interactions: u32, delta: Vec<f32> },
    /// The average reward of the global model plus a perturbation, and minus it if both were tried (FOLtR-ES).
    Evolution { seed: u32, plus: f32, minus: Option<f32> },
    /// A step of bounded norm that counts as much as any other, and whether it was within the norm before it was clipped.
    Clipped { within: bool, delta: Vec<f32> },
    /// A summand of a sealed sum.
    Share(Share),
}

/// A summand of a sealed sum: integers that can be added up and, outside of this crate, not be looked at.
#[derive(Clone, PartialEq, Eq)]
pub struct Share {
    values: Vec<i64>,
}

/// Values beyond this are refused: sums of shares stay exact.
const MOST_OF_SHARE: u64 = 1 << 44;

impl Share {
    pub(crate) fn new(values: Vec<i64>) -> Self {
        Self { values }
    }

    pub(crate) fn values(&self) -> &[i64] {
        &self.values
    }
}

impl std::fmt::Debug for Share {
    /// Says nothing of the values: a log is a place where single updates must not be found either.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Share({} sealed values)", self.values.len())
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::Evolution { seed: 0, plus: 0.0, minus: None }
    }
}

/// A payload, with the round and the client it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The round that the client joins; of no meaning without rounds.
    pub round: u32,
    /// The round before which the model was published that the client started from.
    pub start: u32,
    /// The number that the client has for as long as it is enrolled.
    pub client: u32,
    pub payload: Payload,
}

/// The kinds of payload; the number is the kind byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Step = 1,
    /// [`Payload::Evolution`] with one reward.
    Evolution = 2,
    /// [`Payload::Evolution`] with two rewards.
    EvolutionAntithetic = 3,
    Clipped = 4,
    Share = 5,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Step, Self::Evolution, Self::EvolutionAntithetic, Self::Clipped, Self::Share];

    /// Bytes of a payload of this kind, without the header; at most what the task allows, whatever a message claims.
    pub const fn content_len(self, n_params: usize) -> usize {
        match self {
            Self::Step => 4 + 4 * n_params,
            Self::Evolution => 8,
            Self::EvolutionAntithetic => 12,
            Self::Clipped => 1 + 4 * n_params,
            Self::Share => 8 * n_params,
        }
    }
}

impl Payload {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Step { .. } => Kind::Step,
            Self::Evolution { minus: None, .. } => Kind::Evolution,
            Self::Evolution { minus: Some(_), .. } => Kind::EvolutionAntithetic,
            Self::Clipped { .. } => Kind::Clipped,
            Self::Share(_) => Kind::Share,
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
    pub n_params: usize,
    pub kind: Kind,
    /// The most interactions that a client may report.
    pub max_interactions: u32,
}

impl Expected {
    /// Checks a payload, decoded or made in this process.
    pub fn check(&self, payload: &Payload) -> Result<(), PayloadError> {
        if payload.kind() != self.kind {
            return Err(PayloadError::Kind { expected: self.kind, got: payload.kind() });
        }
        match payload {
            Payload::Step { n_interactions, delta } => self.check_step(*n_interactions, delta),
            Payload::Evolution { plus, minus, .. } => check_finite(&[*plus, minus.unwrap_or(0.0)]),
            Payload::Clipped { delta, .. } => {
                self.check_length(delta.len())?;
                check_finite(delta)
            }
            Payload::Share(share) => {
                self.check_length(share.values.len())?;
                match share.values.iter().position(|value| value.unsigned_abs() > MOST_OF_SHARE) {
                    Some(index) => Err(PayloadError::Share { index }),
                    None => Ok(()),
                }
            }
        }
    }

    pub(crate) fn check_step(&self, n_interactions: u32, delta: &[f32]) -> Result<(), PayloadError> {
        if self.kind != Kind::Step {
            return Err(PayloadError::Kind { expected: self.kind, got: Kind::Step });
        }
        if !(1..=self.max_interactions).contains(&n_interactions) {
            return Err(PayloadError::Interactions { max: self.max_interactions, got: n_interactions });
        }
        self.check_length(delta.len())?;
        check_finite(delta)
    }

    fn check_length(&self, got: usize) -> Result<(), PayloadError> {
        if got == self.n_params { Ok(()) } else { Err(PayloadError::Params { expected: self.n_params, got }) }
    }
}

fn check_finite(values: &[f32]) -> Result<(), PayloadError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(PayloadError::NotFinite { index }),
        None => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayloadError {
    #[error("this round takes payloads of kind {expected:?}, not {got:?}")]
    Kind { expected: Kind, got: Kind },
    #[error("a step must rest on 1 to {max} interactions, not {got}")]
    Interactions { max: u32, got: u32 },
    #[error("a step must have the {expected} values of the global model, not {got}")]
    Params { expected: usize, got: usize },
    #[error("value {index} of the share is beyond {MOST_OF_SHARE} grid units; sums of such shares are not exact")]
    Share { index: usize },
    #[error("the byte that says whether a step was within the norm is {got}; it must be 0 or 1")]
    Within { got: u8 },
    #[error("value {index} is NaN or infinite; only finite numbers can be averaged")]
    NotFinite { index: usize },
}
