//! Why a history is not believed, and who cannot be forgotten.

use thiserror::Error;

use super::codec::VERSION;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    #[error("this is no history: it does not begin with its mark")]
    Mark,
    #[error("the history has version {got}; this program reads version {VERSION}")]
    Version { got: u16 },
    #[error("the history ends at byte {at}, in the middle of something")]
    Truncated { at: usize },
    #[error("the history is damaged: its checksum does not fit its contents")]
    Damaged,
    #[error("the history has {what} before byte {at}")]
    Content { what: &'static str, at: usize },
    #[error("the update of client {client} in round {round} was altered: its commitment does not open")]
    Altered { round: u32, client: u32 },
    #[error("the update of client {client} in round {round} is missing, and the client was never forgotten")]
    MissingUpdate { round: u32, client: u32 },
    #[error("round {round} is missing")]
    Missing { round: u32 },
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
