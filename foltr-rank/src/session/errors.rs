//! Why a session refuses something.

use thiserror::Error;

use super::ImpressionId;
use crate::parameter::ParameterError;
use crate::params::ParamsError;
use crate::query::QueryError;

/// Why there can be no such session.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SessionError {
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error("a ranker of one's own needs PDGD with immediate updates")]
    Personalisation,
    #[error("the published stream of random numbers biases the gradient and is for simulations: use `separate`")]
    PublishedStream,
    #[error("PairRank sends statistics of pairs of documents, which show what was clicked: it is for simulations")]
    Statistics,
    #[error(transparent)]
    Initial(#[from] ParamsError),
}

/// Why models are not those of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelsError {
    #[error("{got} models of clusters came with the global one, not {expected}")]
    Clusters { expected: usize, got: usize },
    #[error("a model of the release: {0}")]
    Params(#[from] ParamsError),
}

/// Why a query is not ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RankError {
    #[error("no round is open: begin one")]
    NoRound,
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("the scores of the documents overflow: features and model are too large; normalise features, begin anew")]
    Scores,
}

/// Why a click or a dismissal changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClickError {
    #[error("{0} has ended")]
    Closed(ImpressionId),
    #[error("{0} was never shown")]
    Unknown(ImpressionId),
    #[error("position {position} is beyond the {n_shown} documents that were shown, counted from 0")]
    Position { position: usize, n_shown: usize },
}

/// Why a round has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FinishError {
    #[error("no round is open: begin one")]
    NoRound,
    #[error("the model overflowed in this round, which is lost: normalise the features")]
    Overflow,
}
