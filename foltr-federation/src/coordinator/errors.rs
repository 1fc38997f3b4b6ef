//! Why a coordinator takes no message, and why a round has no model.

use thiserror::Error;

use crate::message::PayloadError;

/// Why a message or a partial sum is not taken. The round is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Rejected {
    #[error("the message is of round {got}, the open round is {expected}")]
    Round { expected: u32, got: u32 },
    #[error("the message starts from release {got}, the newest is {newest}")]
    UnknownRelease { newest: u32, got: u32 },
    #[error("the message starts from a release {staleness} releases ago; at most {most} are allowed")]
    TooStale { staleness: u32, most: u32 },
    #[error("client {client} is not one of the {n_clients} of this round, counted from 0")]
    UnknownClient { client: u32, n_clients: u32 },
    #[error("client {client} was not drawn into round {round}")]
    NotDrawn { client: u32, round: u32 },
    #[error("the message of client {client} has length {length}, above the {longest} that this federation takes")]
    TooLong { client: u32, length: f64, longest: f64 },
    #[error("the clipped step of client {client} is {length} times as long as the clip norm")]
    BeyondClipNorm { client: u32, length: f64 },
    #[error("client {client} has already contributed to this round")]
    Duplicate { client: u32 },
    #[error("this federation is sealed: the server takes the sums of secure aggregation, never a single message")]
    Sealed,
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error("the rule of this federation compares single messages; it cannot take a sum of them")]
    NotASum,
    #[error("a round takes single messages or sums of chunks, never both")]
    SumsAndMessages,
    #[error("chunk {got} came where chunk {expected} was expected, counted from 0")]
    ChunkOrder { expected: usize, got: usize },
    #[error("a partial sum of {got} clients is more than a chunk of {CHUNK}", CHUNK = crate::CHUNK)]
    ChunkSize { got: u32 },
    #[error("cluster {cluster} is not one of the {n_clusters} of this federation, counted from 0")]
    UnknownCluster { cluster: usize, n_clusters: usize },
}

/// Why a round was not closed with a new model. Whoever closes rounds must know for each reason what became of this one, so
/// that no variant comes unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CloseError {
    /// The noise follows from a seed, and the federation is none of a simulation. The round stays open.
    #[error("round {round} was not closed: its noise follows from a seed and protects nobody")]
    SimulatedNoise { round: u32 },
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
    pub(super) fn check_length(client: u32, values: &[f32], longest: f64) -> Result<(), Self> {
        if longest == f64::INFINITY {
            return Ok(());
        }
        let length = values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if length <= longest { Ok(()) } else { Err(Self::TooLong { client, length, longest }) }
    }
}
