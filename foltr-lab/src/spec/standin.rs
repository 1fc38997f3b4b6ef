//! Until the federation crate has them.
#![allow(missing_docs)]
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind")]
pub enum Privacy {
    #[serde(rename = "unprotected")]
    Unprotected(Unprotected),
    #[serde(rename = "randomised-response")]
    RandomisedResponse(RandomisedResponse),
    #[serde(rename = "distributed-laplace")]
    DistributedLaplace(DistributedLaplace),
}
impl Privacy {
    pub const LIST: &[(&str, &str)] = &[("unprotected", "The update as it is")];
}
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Unprotected {}
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RandomisedResponse {
    probability: f64,
    reward: foltr_rank::learn::evolution::Reward,
    n_shown: usize,
}
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DistributedLaplace {
    sensitivity: f64,
    epsilon: f64,
    clip: String2,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum String2 {
    Paper,
    ReleasedCode,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum ServerOptimiser {
    LearningRate { rate: f64 },
    Momentum { rate: f64, momentum: f64 },
    Adam { rate: f64, beta1: f64, beta2: f64, epsilon: f64 },
}
impl ServerOptimiser {
    pub const LIST: &[(&str, &str)] = &[("learning-rate", "The step times a rate; rate 1 is FedAvg")];
}
