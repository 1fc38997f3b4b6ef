//! How do many teachers label public queries together? By noisy scores, or by noisy votes on pairs (spec section 16.3).
//!
//! `DKA17` Dehghani, Azarbonyad, Kamps, de Rijke, 2017, section 3; `PAEGT17` Papernot, Abadi, Erlingsson, Goodfellow,
//! Talwar: *Semi-supervised Knowledge Transfer for Deep Learning from Private Training Data*, ICLR 2017.
//!
//! Noise is drawn from seeded streams as floating-point numbers: right for a simulation, whose reader has no seed. A
//! release of real data needs a seed that nobody knows; the low bits of such numbers can then still reveal something.

pub mod questions;
pub mod scores;
pub mod votes;

use foltr_rank::rng::Stream;
use rand_distr::{Distribution, Exp1};
use serde::{Deserialize, Serialize};

use crate::accountant::least_noise;
use crate::settings::{InvalidSetting, violations};
use crate::{Candidates, InvalidInput};

pub use questions::{Question, draw_questions};
pub use scores::aggregate_scores;
pub use votes::{Ballot, VoteNoise, Votes};

/// How the teachers' answers become labels.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum AggregationMethod {
    /// Mean of scores with Laplace noise on each: the paper as its tables can be read.
    Scores {
        /// Scale of the noise; 0 is none.
        scale: f64,
    },
    /// PATE: votes on pairs of documents with Laplace noise.
    Votes {
        /// Inverse of the noise's scale; follows from `epsilon` when that is given.
        #[serde(default, skip_serializing_if = "is_zero")]
        gamma: f64,
        /// Of all labels together, whatever the votes are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
        /// Pairs that are labelled.
        pairs: usize,
        /// At which the guarantee is stated.
        #[serde(default = "default_delta")]
        delta: f64,
    },
    /// Votes on pairs of documents with Gaussian noise.
    GaussianVotes {
        /// Of the noise on a count; follows from `epsilon` when that is given.
        #[serde(default, skip_serializing_if = "is_zero")]
        deviation: f64,
        /// Of all labels together, whatever the votes are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epsilon: Option<f64>,
        /// Pairs that are labelled.
        pairs: usize,
        /// At which the guarantee is stated.
        #[serde(default = "default_delta")]
        delta: f64,
    },
}

impl AggregationMethod {
    /// Noise, number of pairs and delta of votes; none for scores.
    pub fn votes(self) -> Option<(VoteNoise, usize, f64)> {
        match self {
            Self::Scores { .. } => None,
            Self::Votes { gamma, pairs, delta, .. } => Some((VoteNoise::Laplace { gamma }, pairs, delta)),
            Self::GaussianVotes { deviation, pairs, delta, .. } => {
                Some((VoteNoise::Gaussian { sigma: deviation }, pairs, delta))
            }
        }
    }

    /// Sets the noise that a given epsilon needs. What is out of range is left for [`Self::check`] to refuse.
    pub fn resolve(&mut self, n_teachers: usize) {
        let Some((_, pairs, delta)) = self.votes() else { return };
        let is_sound = |epsilon: f64| {
            epsilon > 0.0 && epsilon.is_finite() && pairs > 0 && delta > 0.0 && delta < 1.0 && n_teachers > 0
        };
        let n_teachers = u32::try_from(n_teachers).unwrap_or(u32::MAX);
        match self {
            Self::Votes { gamma, epsilon: Some(epsilon), .. } if is_sound(*epsilon) => {
                let laplace = |size: f64| VoteNoise::Laplace { gamma: 1.0 / size };
                *gamma = 1.0 / least_noise(laplace, n_teachers, pairs, delta, *epsilon);
            }
            Self::GaussianVotes { deviation, epsilon: Some(epsilon), .. } if is_sound(*epsilon) => {
                let gaussian = |size: f64| VoteNoise::Gaussian { sigma: size };
                *deviation = least_noise(gaussian, n_teachers, pairs, delta, *epsilon);
            }
            _ => {}
        }
    }

    pub fn check(&self) -> Vec<InvalidSetting> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let (size_key, size, epsilon, pairs, delta) = match *self {
            Self::Scores { scale } => {
                let holds = scale >= 0.0 && scale.is_finite();
                return violations([(holds, "scale", scale.to_string(), "0 or above; 0 is no noise")]);
            }
            Self::Votes { gamma, epsilon, pairs, delta } => ("gamma", gamma, epsilon, pairs, delta),
            Self::GaussianVotes { deviation, epsilon, pairs, delta } => ("deviation", deviation, epsilon, pairs, delta),
        };
        violations([
            (epsilon.is_none_or(positive), "epsilon", format!("{epsilon:?}"), "above 0"),
            (positive(size), size_key, size.to_string(), "above 0; or give `epsilon`"),
            (pairs > 0, "pairs", pairs.to_string(), "at least 1"),
            (delta > 0.0 && delta < 1.0, "delta", delta.to_string(), "above 0, below 1"),
        ])
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn default_delta() -> f64 {
    1e-5
}

fn no_teachers() -> InvalidInput {
    InvalidInput::new("0 teachers", "1 or more")
}

/// Refuses a teacher who scored other documents than those of `lists`.
fn check_same_lists(lists: &[Candidates], teacher: usize, scored: &[Candidates]) -> Result<(), InvalidInput> {
    let is_same = |a: &Candidates, b: &Candidates| {
        a.query == b.query && a.documents == b.documents && b.scores.len() == b.documents.len()
    };
    let list = match lists.iter().zip(scored).position(|(a, b)| !is_same(a, b)) {
        None if lists.len() == scored.len() => return Ok(()),
        None => lists.len().min(scored.len()),
        Some(list) => list,
    };
    let found = format!("teacher {teacher} scored other documents of list {list}");
    Err(InvalidInput::new(found, "the same lists by all teachers"))
}

/// Laplace noise of scale 1: the difference of two exponential variates.
fn laplace(stream: &mut Stream) -> f64 {
    let (plus, minus): (f64, f64) = (Exp1.sample(stream), Exp1.sample(stream));
    plus - minus
}

/// Votes, scores and epsilons of the specification.
#[cfg(test)]
pub(crate) fn golden_vectors() -> serde_json::Value {
    serde_json::from_str(include_str!("../tests/vectors/pate_vectors.json")).expect("JSON")
}
