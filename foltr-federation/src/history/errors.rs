//! What is wrong with a history, and who cannot be forgotten.

use thiserror::Error;

use crate::history::codec::{PARTS_VERSION, VERSION};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HistoryError {
    #[error("this is no history: it does not begin with its mark")]
    Mark,
    #[error(
        "the history has version {got}; this program reads version {VERSION}, or {PARTS_VERSION} where it is in parts"
    )]
    Version { got: u16 },
    #[error("the history ends at byte {at}, in the middle of something")]
    Truncated { at: usize },
    #[error("the history is damaged: its checksum does not fit its contents")]
    Damaged,
    #[error("the history has {what} before byte {at}")]
    Content { what: &'static str, at: usize },
    #[error("the part of client {client} has {what}")]
    Part { client: u32, what: &'static str },
    #[error("the update of client {client} in round {round} was altered: its commitment does not open")]
    Altered { round: u32, client: u32 },
    #[error("the update of client {client} in round {round} is missing, and the client was never forgotten")]
    MissingUpdate { round: u32, client: u32 },
    #[error("what device {client} remembered before round {round} was altered, or taken out without reason")]
    Device { round: u32, client: u32 },
    #[error("what stands in for client {client} before round {round} was altered, or taken out without reason")]
    StandIn { round: u32, client: u32 },
    #[error("the ledger {what}")]
    Ledger { what: &'static str },
    #[error("round {round} or its updates are missing")]
    Missing { round: u32 },
    #[error("the checkpoint of round {round} is missing, and there is no reason for that")]
    MissingState { round: u32 },
    #[error("client {client} took part in round {round}, after it was forgotten")]
    Returned { round: u32, client: u32 },
    #[error("round {round} is not in its place")]
    Order { round: u32 },
    #[error("{what} of round {round} was altered, or something before it was taken out: its head does not fit")]
    Chain { what: &'static str, round: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnknownClient {
    #[error("client {client} is not one of the {n_clients} of this federation, counted from 0")]
    Nobody { client: u32, n_clients: u32 },
    #[error("client {client} is already forgotten")]
    Forgotten { client: u32 },
}
