//! Why a history is not believed, and who cannot be forgotten.

use thiserror::Error;

use super::codec::VERSION;

/// Why a history is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    /// Another file.
    #[error("this is no history: it does not begin with its mark")]
    Mark,
    /// Another version.
    #[error("the history has version {got}; this program reads version {VERSION}")]
    Version {
        /// What it says.
        got: u16,
    },
    /// It ends too early, or says that it is longer than it is.
    #[error("the history ends at byte {at}, in the middle of something")]
    Truncated {
        /// Its length.
        at: usize,
    },
    /// Bytes are not those that were written.
    #[error("the history is damaged: its checksum does not fit its contents")]
    Damaged,
    /// Contents that no history has.
    #[error("the history has {what} before byte {at}")]
    Content {
        /// What cannot be.
        what: &'static str,
        /// Where it ends.
        at: usize,
    },
    /// An update is not the one that was committed to.
    #[error("the update of client {client} in round {round} was altered: its commitment does not open")]
    Altered {
        /// Counted from 0.
        round: u32,
        /// Whose.
        client: u32,
    },
    /// An update is gone though its client was not forgotten.
    #[error("the update of client {client} in round {round} is missing, and the client was never forgotten")]
    MissingUpdate {
        /// Counted from 0.
        round: u32,
        /// Whose.
        client: u32,
    },
    /// A kept round is not there.
    #[error("round {round} is missing")]
    Missing {
        /// Counted from 0.
        round: u32,
    },
    /// A kept round is in the wrong place.
    #[error("round {round} is not in its place")]
    Order {
        /// Counted from 0.
        round: u32,
    },
    /// A head does not follow from what is before it.
    #[error("{what} of round {round} was altered, or something before it was taken out: its head does not fit")]
    Chain {
        /// What was altered.
        what: &'static str,
        /// Counted from 0.
        round: u32,
    },
}

/// A client that cannot be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnknownClient {
    /// There is no such client.
    #[error("client {client} is not one of the {n_clients} of this federation, counted from 0")]
    Nobody {
        /// Who was asked for.
        client: u32,
        /// All clients.
        n_clients: u32,
    },
    /// It was forgotten before.
    #[error("client {client} is already forgotten")]
    Forgotten {
        /// Who was asked for.
        client: u32,
    },
}
