//! Inner-product manipulation: minus the mean of the honest updates, so that the aggregate points away from them.
//!
//! `XKG19` Xie, Koyejo, Gupta: *Fall of Empires: Breaking Byzantine-tolerant SGD by Inner Product Manipulation*, UAI
//! 2019, section 4. `scale` is the paper's epsilon: small to hide from Krum, large to outweigh the honest clients.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{mean_of, to_f32};
use crate::adversary::{Adversary, AttackMethod, Own, Seen, require};

/// How far against the honest mean.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct InnerProduct {
    /// Factor of minus the mean.
    pub scale: f64,
}

impl AttackMethod for InnerProduct {
    fn example() -> Self {
        Self::default()
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("scale", self.scale, self.scale > 0.0, "positive and finite")
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        Some(Box::new(*self))
    }
}

impl Default for InnerProduct {
    fn default() -> Self {
        Self { scale: 1.0 }
    }
}

impl Adversary for InnerProduct {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let mean = mean_of(seen.typical(own.rows()));
        let malicious = to_f32(mean.iter().map(|mean| -self.scale * mean));
        own.send_all(&malicious);
    }
}
