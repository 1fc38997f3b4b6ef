//! What experiment files and devices say about DBGD and MGD.

use serde::{Deserialize, Serialize};

use crate::interleave::{Interleaving, MAX_RANKERS};
use crate::learn::{LearnerParameters, Learning, Scheme};
use crate::parameter::{ParameterError, problems, require};

/// DBGD as files name it: one candidate a list (YJ09).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DbgdParameters {
    /// gamma: length of a step towards a winner.
    pub learning_rate: f64,
    /// delta: how far from the model its candidate is.
    pub exploration: f64,
    /// How clicks compare the two.
    pub interleaving: Interleaving,
}

/// MGD as files name it: several candidates in a list (SOWR16).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MgdParameters {
    /// gamma: length of a step if all winners had one direction.
    pub learning_rate: f64,
    /// delta: how far from the model its candidates are.
    pub exploration: f64,
    /// Beside the model itself.
    pub candidates: usize,
    /// How clicks compare them.
    pub interleaving: Interleaving,
}

/// Settings of DBGD and MGD on the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuelSettings {
    pub learning_rate: f32,
    pub exploration: f32,
    pub n_candidates: usize,
    pub interleaving: Interleaving,
    pub n_shown: usize,
    /// Longest model allowed: clipped after every interaction.
    pub clip_radius: Option<f32>,
}

impl DuelSettings {
    /// Every parameter that is out of range.
    pub fn check(&self) -> Vec<ParameterError> {
        check(self.learning_rate.into(), self.exploration.into(), self.n_candidates)
    }
}

fn check(learning_rate: f64, exploration: f64, candidates: usize) -> Vec<ParameterError> {
    let is_sound = (1..MAX_RANKERS).contains(&candidates);
    problems([
        require("learning_rate", learning_rate, learning_rate > 0.0, "a positive number"),
        require("exploration", exploration, exploration > 0.0, "a positive number"),
        require("candidates", candidates as f64, is_sound, "1 to 99"),
    ])
}

impl LearnerParameters for DbgdParameters {
    const SCHEME: Scheme = Scheme::Federated;

    fn check(&self) -> Vec<ParameterError> {
        check(self.learning_rate, self.exploration, 1)
    }

    fn client(&self, n_shown: usize, n_interactions: usize, clip_radius: Option<f32>) -> Option<Learning> {
        let Self { learning_rate, exploration, interleaving } = *self;
        MgdParameters { learning_rate, exploration, candidates: 1, interleaving }.client(
            n_shown,
            n_interactions,
            clip_radius,
        )
    }
}

impl LearnerParameters for MgdParameters {
    const SCHEME: Scheme = Scheme::Federated;

    fn check(&self) -> Vec<ParameterError> {
        check(self.learning_rate, self.exploration, self.candidates)
    }

    fn client(&self, n_shown: usize, _n_interactions: usize, clip_radius: Option<f32>) -> Option<Learning> {
        Some(Learning::Dueling(DuelSettings {
            learning_rate: self.learning_rate as f32,
            exploration: self.exploration as f32,
            n_candidates: self.candidates,
            interleaving: self.interleaving,
            n_shown,
            clip_radius,
        }))
    }
}
