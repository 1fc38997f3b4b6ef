//! Why a session refuses something.

use thiserror::Error;

use super::ImpressionId;
use crate::parameter::ParameterError;
use crate::params::Shape;
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
    #[error(transparent)]
    Initial(#[from] ModelsError),
}

/// Why models are not those of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelsError {
    #[error("{got} models of clusters came with the global one, not {expected}")]
    Clusters { expected: usize, got: usize },
    #[error("a model of {got} parameters is not one of {expected}, as {shape:?} has them")]
    Length { shape: Shape, expected: usize, got: usize },
    #[error("parameter {parameter} of a model is not a finite number")]
    NotFinite { parameter: usize },
}

pub(super) fn check_model(shape: Shape, model: &[f32]) -> Result<(), ModelsError> {
    let (expected, got) = (shape.n_params(), model.len());
    if expected != got {
        return Err(ModelsError::Length { shape, expected, got });
    }
    let wrong = model.iter().position(|param| !param.is_finite());
    wrong.map_or(Ok(()), |parameter| Err(ModelsError::NotFinite { parameter }))
}

/// Why a query is not ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RankError {
    #[error("no round is open: begin one")]
    NoRound,
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("documents have {theirs} features, not {ours} as the ranker wants them")]
    Features { ours: usize, theirs: usize },
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
