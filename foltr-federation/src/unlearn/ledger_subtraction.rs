//! The sum of a leaver's own steps, taken back in one subtraction.
//!
//! Ours: the simplest thing that could be called forgetting. A leaver has moved the model by its own steps, which are
//! in the ledger, and by all that others did because the model was elsewhere, which nobody can know. Only the former
//! goes.

use serde::{Deserialize, Serialize};

use crate::history::bytes::Reader;
use crate::history::{History, HistoryError};
use crate::unlearn::{Assurance, Need, UnlearnError, UnlearningMethod};

/// Subtraction has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LedgerSubtraction {}

impl UnlearningMethod for LedgerSubtraction {
    fn guarantee(&self) -> Assurance {
        Assurance::heuristic("only the leavers' own steps are taken back, not what others did because of them")
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::Ledger]
    }

    fn most_replayed_rounds(&self, _: u32) -> u32 {
        0
    }

    fn read_parameters(_: &mut Reader<'_>) -> Result<Self, HistoryError> {
        Ok(Self {})
    }
}

const NAME: &str = "ledger-subtraction";

impl LedgerSubtraction {
    /// Takes the leavers' steps out of a model, which is as it was on an error.
    pub fn subtract(&self, history: &History, leavers: &[u32], master: &mut [f64]) -> Result<(), UnlearnError> {
        let premise = UnlearnError::Premise { method: NAME, on: "a server that only multiplies steps by a rate" };
        let rate = history.header().optimiser.plain_rate().ok_or(premise)?;
        let ledger = history.ledger().ok_or(UnlearnError::Need { method: NAME, need: Need::Ledger })?;
        for account in leavers.iter().filter_map(|client| ledger.get(client)) {
            master.iter_mut().zip(account).for_each(|(value, step)| *value -= rate * step);
        }
        Ok(())
    }
}
