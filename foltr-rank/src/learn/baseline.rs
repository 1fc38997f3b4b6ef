//! Parameters of offline baselines, which learn from labels (spec section 17). A device has none, so they are run elsewhere.

use serde::{Deserialize, Serialize};

use super::{LearnerParameters, Scheme};
use crate::parameter::{ParameterError, require};

/// Least squares of the label on the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeastSquares {}

impl LearnerParameters for LeastSquares {
    const SCHEME: Scheme = Scheme::Offline;
}

/// Pairwise hinge loss.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RankingSvm {
    /// Weight of the slack, divided among the training queries.
    pub c: f64,
}

impl LearnerParameters for RankingSvm {
    const SCHEME: Scheme = Scheme::Offline;

    fn check(&self) -> Vec<ParameterError> {
        require("c", self.c, self.c > 0.0, "a positive number").err().into_iter().collect()
    }
}

/// Learns nothing: the expected nDCG of a random ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Random {}

impl LearnerParameters for Random {
    const SCHEME: Scheme = Scheme::Offline;
}
