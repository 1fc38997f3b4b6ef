//! The opposite of the local model: how a client is marked that is to be forgotten.
//!
//! `W24` Wang: *Effective and Secure Federated Online Learning to Rank*, 2024, Eqs. 6.3 and 6.4: the client pretends
//! that its model is -z times what it is, so its update becomes -z update - (z + 1) global. It hides from nobody; it
//! makes the part that a client has in a model large enough to be seen, and its going as well.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::{Adversary, AttackMethod, Own, Seen, require};

/// How far the other way.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Negation {
    /// Factor of minus the local model: 2 in the thesis.
    pub z: f64,
}

impl AttackMethod for Negation {
    fn example() -> Self {
        Self::default()
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("z", self.z, self.z > 0.0, "positive and finite")
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        Some(Box::new(*self))
    }
}

impl Default for Negation {
    fn default() -> Self {
        Self { z: 2.0 }
    }
}

impl Adversary for Negation {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        for row in own.rows_mut() {
            for (value, &global) in row.iter_mut().zip(seen.global) {
                // Eq. 6.4.
                *value = (-self.z * f64::from(*value) - (self.z + 1.0) * f64::from(global)) as f32;
            }
        }
    }
}
