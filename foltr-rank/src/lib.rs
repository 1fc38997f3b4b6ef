#![doc = include_str!("../README.md")]

pub mod adoption;
pub mod bytes;
mod elementary;
pub mod interleave;
pub mod learn;
pub mod metric;
pub mod normal;
mod normalise;
pub mod parameter;
pub mod params;
pub mod personal;
pub mod plackett_luce;
pub mod query;
pub mod ranker;
pub mod rng;
pub mod select;
pub mod session;
pub mod simd;

pub use learn::{EvolutionStream, Learner, Learning, Models, OnlineLearner, OwnRanker, Update};
pub use normalise::normalise_rows;
pub use parameter::ParameterError;
pub use params::{Activation, Initialisation, Params, ParamsError, Shape};
pub use query::{
    Candidates, Clicks, Impression, ImpressionError, MAX_SHOWN, QueryError, QueryView, Ranking, RankingError,
    row_stride,
};
pub use ranker::{Ranker, RankerShape};
pub use session::{ImpressionId, Session, Shown};
