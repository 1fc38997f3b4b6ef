//! `[privacy]`: what happens to an update before it leaves a device.
//!
//! The mechanisms are the federation crate's. A file does not repeat what other sections say already: the reward comes
//! from `[learner]`, the length of the list from `[metrics]`.

use foltr_federation::privacy::{BadResponse, DistributedLaplace, RandomisedResponse, Unprotected};
use foltr_rank::learn::evolution::Reward;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Experiment, Learner};

/// A privacy mechanism as a file names it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Privacy {
    /// The update leaves the device as it is.
    None,
    /// FOLtR-ES: each outcome is replaced by another one with probability 1 - `probability` (spec section 5).
    RandomisedResponse {
        /// Of the truth.
        probability: f64,
    },
    /// FPDGD: clipping, and noise whose sum over all clients is Laplace (spec section 9).
    DistributedLaplace(DistributedLaplace),
}

impl Privacy {
    /// The kind, as experiment files spell it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::RandomisedResponse { .. } => "randomised-response",
            Self::DistributedLaplace(_) => "distributed-laplace",
        }
    }
}

impl Experiment {
    /// The mechanism that `[privacy]` asks for, with the reward and list length of this experiment.
    ///
    /// # Errors
    /// If randomised response is not defined for its probability.
    pub fn mechanism(&self) -> Result<foltr_federation::Privacy, BadResponse> {
        // A learner without rewards never asks what an outcome is worth.
        let reward = if let Learner::Evolution { reward, .. } = self.learner { reward } else { Reward::MaxRr };
        Ok(match self.privacy {
            Privacy::None => foltr_federation::Privacy::Unprotected(Unprotected { reward }),
            Privacy::RandomisedResponse { probability } => foltr_federation::Privacy::RandomisedResponse(
                RandomisedResponse::new(probability, reward, self.metrics.list_length)?,
            ),
            Privacy::DistributedLaplace(mechanism) => foltr_federation::Privacy::DistributedLaplace(mechanism),
        })
    }
}
