//! The opposite of the honest update, as long as wanted.
//!
//! `LXCGL19` Li, Xu, Chen, Giannakis, Ling: *RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed
//! Learning from Heterogeneous Datasets*, AAAI 2019, the sign-flipping attack of its experiments.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::{Adversary, AttackMethod, Own, Seen, require};

/// How long the flipped update is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SignFlip {
    /// Factor of minus the honest update.
    pub scale: f64,
}

impl AttackMethod for SignFlip {
    fn example() -> Self {
        Self::default()
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("scale", self.scale, true, "finite")
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        Some(Box::new(*self))
    }
}

impl Default for SignFlip {
    fn default() -> Self {
        Self { scale: 1.0 }
    }
}

impl Adversary for SignFlip {
    fn corrupt(&mut self, _seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let scale = self.scale;
        own.rows_mut().flatten().for_each(|value| *value = (-scale * f64::from(*value)) as f32);
    }
}
