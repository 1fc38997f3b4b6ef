//! From scratch, without the leavers: the yardstick of all other methods.
//!
//! Everybody else does the same as in training; only what protects is drawn anew, by the lineage of the request. So the
//! model has the distribution of one of a federation that never had the leavers, and without noise is, bit by bit, that
//! one. Those who stay send every message again, and pay for it.

use serde::{Deserialize, Serialize};

use crate::history::HistoryError;
use crate::history::bytes::Reader;
use crate::unlearn::{Assurance, Return, UnlearningMethod};

/// Retraining has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retrain {}

impl UnlearningMethod for Retrain {
    fn guarantee(&self) -> Assurance {
        Assurance::Exact
    }

    fn proven(&self, back: &Return) -> Assurance {
        back.exact_if_clean()
    }

    fn most_replayed_rounds(&self, n_rounds: u32) -> u32 {
        n_rounds
    }

    fn read_parameters(_: &mut Reader<'_>) -> Result<Self, HistoryError> {
        Ok(Self {})
    }
}
