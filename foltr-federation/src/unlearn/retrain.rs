//! From scratch, without the leavers: the yardstick of all other methods.
//!
//! Everybody else draws the same random numbers as in training, so that the model is, bit by bit, the one of a
//! federation that never had the leavers.

use serde::{Deserialize, Serialize};

use crate::unlearn::{Assurance, UnlearningMethod};

/// Retraining has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retrain {}

impl UnlearningMethod for Retrain {
    fn guarantee(&self) -> Assurance {
        Assurance::Exact
    }
}
