//! Documents in, ranking out; clicks in, better ranker out.
//!
//! This crate is what a device and the lab have in common. It has no I/O, no clock, no threads and no global
//! randomness: every random number comes from a stream that the caller opens by name (see [`rng`]).
//!
//! Labels are not reachable from here: a learner sees [`QueryView`]s and [`Clicks`], nothing else.

pub mod adoption;
pub mod bytes;
mod elementary;
pub mod learn;
pub mod metric;
pub mod normal;
pub mod parameter;
pub mod params;
pub mod personal;
pub mod plackett_luce;
pub mod query;
pub mod ranker;
pub mod rng;
pub mod select;
pub mod simd;

pub use learn::{EvolutionStream, Learner, Learning, OnlineLearner, Update};
pub use parameter::ParameterError;
pub use params::{Activation, Initialisation, Params, Shape};
pub use query::{Clicks, Impression, MAX_SHOWN, QueryView, Ranking, RankingError, row_stride};
pub use ranker::{Ranker, RankerShape};
