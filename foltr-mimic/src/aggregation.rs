//! How do many teachers label public queries together? By noisy scores, or by noisy votes on pairs (spec section 16.3).
//!
//! `DKA17` Dehghani, Azarbonyad, Kamps, de Rijke, 2017, section 3; `PAEGT17` Papernot, Abadi, Erlingsson, Goodfellow,
//! Talwar: *Semi-supervised Knowledge Transfer for Deep Learning from Private Training Data*, ICLR 2017.
//!
//! Noise is drawn from seeded streams as floating-point numbers: right for a simulation, whose reader has no seed. A
//! release of real data needs a seed that nobody knows; the low bits of such numbers can then still tell something.

pub mod questions;
pub mod scores;
pub mod votes;

use foltr_rank::rng::Stream;
use rand_distr::{Distribution, Exp1};
use thiserror::Error;

use crate::Candidates;

pub use questions::{Question, draw_questions};
pub use scores::aggregate_scores;
pub use votes::{Ballot, Labels, VoteNoise, Votes};

/// Teachers cannot be aggregated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum AggregationError {
    /// There is nobody to ask.
    #[error("0 teachers; expected 1 or more")]
    NoTeachers,
    /// One teacher scored other documents.
    #[error("teacher {teacher} scored other documents of list {list} than expected; all teachers score the same lists")]
    OtherDocuments {
        /// Number of the teacher, from 0.
        teacher: usize,
        /// The first list that differs, from 0.
        list: usize,
    },
    /// Not a size of noise.
    #[error("{name} = {value} is no size of noise; expected a finite number {least}")]
    BadNoise {
        /// Of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        least: &'static str,
    },
}

/// Refuses a teacher who scored other documents than those of `lists`.
fn check_same_lists(lists: &[Candidates], teacher: usize, scored: &[Candidates]) -> Result<(), AggregationError> {
    let is_same = |a: &Candidates, b: &Candidates| {
        a.query == b.query && a.documents == b.documents && b.scores.len() == b.documents.len()
    };
    let list = match lists.iter().zip(scored).position(|(a, b)| !is_same(a, b)) {
        None if lists.len() == scored.len() => return Ok(()),
        None => lists.len().min(scored.len()),
        Some(list) => list,
    };
    Err(AggregationError::OtherDocuments { teacher, list })
}

/// Laplace noise of scale 1: the difference of two exponential variates.
fn laplace(stream: &mut Stream) -> f64 {
    let (plus, minus): (f64, f64) = (Exp1.sample(stream), Exp1.sample(stream));
    plus - minus
}
