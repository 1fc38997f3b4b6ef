//! What a server stores for the day on which a client wants to be forgotten.

use serde::{Deserialize, Serialize};

use foltr_rank::parameter::{ParameterError, require};

/// What is stored, and for how long. Nothing, if nothing is asked for, but who took part when and the newest model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct HistoryPolicy {
    /// Every update of rounds 1, 1 + n, 1 + 2n, ... (counted from 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates_every: Option<u32>,
    /// The server's whole state before rounds 1, 1 + n, 1 + 2n, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints_every: Option<u32>,
    /// How far every client has moved the model, all rounds together.
    pub ledger: bool,
    /// Updates and checkpoints of more than so many rounds ago are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<u32>,
}

impl HistoryPolicy {
    pub fn check(&self) -> Result<(), ParameterError> {
        let numbers = [
            ("updates_every", self.updates_every),
            ("checkpoints_every", self.checkpoints_every),
            ("retention", self.retention),
        ];
        numbers.into_iter().try_for_each(|(name, number)| {
            let number = number.unwrap_or(1);
            require(name, number.into(), number > 0, "at least 1 round")
        })
    }

    /// Whether the updates of a round, counted from 0, are stored.
    pub fn stores_updates(&self, round: u32) -> bool {
        self.updates_every.is_some_and(|every| round.is_multiple_of(every))
    }

    pub fn stores_checkpoint(&self, round: u32) -> bool {
        self.checkpoints_every.is_some_and(|every| round.is_multiple_of(every))
    }

    /// Whether single updates of a round must be seen.
    pub fn needs_updates(&self, round: u32) -> bool {
        self.ledger || self.stores_updates(round)
    }

    /// Whether what belongs to a round is too old after so many rounds.
    pub(super) fn is_too_old(&self, round: u32, n_rounds: u32) -> bool {
        self.retention.is_some_and(|retention| u64::from(round) + u64::from(retention) < u64::from(n_rounds))
    }
}
