//! Parameters of PDGD with all interactions in one place (spec section 6.6).

use serde::{Deserialize, Serialize};

use super::pdgd::check_displacement;
use super::{LearnerParameters, Scheme};
use crate::parameter::{ParameterError, problems, require};

/// PDGD with all interactions in one place.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentralisedPdgd {
    /// Of a step.
    pub learning_rate: f64,
    /// Interactions a step; their gradients are summed, not averaged.
    pub batch: usize,
    /// The learning rate is multiplied by this after every step; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<f64>,
    /// No document is shown further than so many places from its rank by score; no bound when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_displacement: Option<usize>,
    /// Interactions of the whole run.
    pub budget: usize,
    /// What counts as one round: the stretch of interactions between two evaluations.
    pub interactions_per_round: usize,
}

impl LearnerParameters for CentralisedPdgd {
    const SCHEME: Scheme = Scheme::Centralised;

    fn check(&self) -> Vec<ParameterError> {
        let Self { learning_rate, batch, decay, max_displacement, budget, interactions_per_round } = *self;
        let (decay, per_round) = (decay.unwrap_or(1.0), interactions_per_round.max(1));
        problems([
            require("learning_rate", learning_rate, learning_rate > 0.0, "a positive number"),
            require("batch", batch as f64, batch > 0, "at least one interaction a step"),
            require("decay", decay, decay > 0.0 && decay <= 1.0, "above 0 and at most 1"),
            check_displacement(max_displacement),
            require(
                "interactions_per_round",
                interactions_per_round as f64,
                interactions_per_round > 0,
                "at least one interaction a round",
            ),
            require("budget", budget as f64, budget >= per_round, "at least one round: `interactions_per_round`"),
        ])
    }
}
