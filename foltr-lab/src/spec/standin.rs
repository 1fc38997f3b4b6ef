//! Until the federation crate has them.
#![allow(missing_docs)]
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Privacy {
    None,
    RandomisedResponse { p: f64 },
    DistributedLaplace { epsilon: f64, sensitivity: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum ServerOptimiser {
    LearningRate { learning_rate: f64 },
    Momentum { learning_rate: f64, momentum: f64 },
    Adam { learning_rate: f64 },
}
