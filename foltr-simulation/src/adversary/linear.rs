//! Attacks that send the own update, or a multiple of it, of the honest mean or of the model.
//!
//! * Sign flipping: `LXCGL19` Li, Xu, Chen, Giannakis, Ling: *RSA: Byzantine-Robust Stochastic Aggregation Methods for
//!   Distributed Learning from Heterogeneous Datasets*, AAAI 2019, the attack of its experiments.
//! * Scaling: `BVHES20` Bagdasaryan, Veit, Hua, Estrin, Shmatikov: *How To Backdoor Federated Learning*, AISTATS 2020,
//!   model replacement: an attacker multiplies its update so that it survives the average; with n / (server's rate) it
//!   replaces the model. Its work is learning from reversed clicks here, unless that is switched off.
//! * Inner-product manipulation: `XKG19` Xie, Koyejo, Gupta: *Fall of Empires: Breaking Byzantine-tolerant SGD by Inner
//!   Product Manipulation*, UAI 2019, section 4: the aggregate points away from the honest updates. `scale` is the paper's
//!   epsilon: small to hide from Krum, large to outweigh the honest clients.
//! * Negation: `W24` Wang: *Effective and Secure Federated Online Learning to Rank*, 2024, Eqs. 6.3 and 6.4: the client
//!   pretends that its model is -z times what it is, so its update becomes -z update - (z + 1) global. It hides from
//!   nobody; it makes the part that a client has in a model large enough to be seen, and its going as well.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{mean_of, to_f32};
use crate::adversary::{Adversary, Own, Seen, require};

/// Honest learning from reversed clicks: poisoned data, with no lie in the messages (spec section 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClickPoisoning {}

impl Adversary for ClickPoisoning {
    fn reverses_clicks(&self) -> bool {
        true
    }

    fn changes_messages(&self) -> bool {
        false
    }

    fn corrupt(&mut self, _seen: &Seen<'_>, _own: &mut Own<'_>, _stream: &mut Stream) {}
}

/// The opposite of the honest update.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SignFlip {
    /// Factor of minus the honest update.
    pub scale: f64,
}

impl Default for SignFlip {
    fn default() -> Self {
        Self { scale: 1.0 }
    }
}

impl Adversary for SignFlip {
    fn check(&self) -> Result<(), ParameterError> {
        require("scale", self.scale, true, "finite")
    }

    fn corrupt(&mut self, _seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        own.scale(-self.scale);
    }
}

/// Own work, boosted.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// Factor of the own update.
    pub factor: f64,
    /// Whether attackers learn from reversed clicks.
    pub reversed_clicks: bool,
}

impl Default for Scaling {
    fn default() -> Self {
        Self { factor: 10.0, reversed_clicks: true }
    }
}

impl Adversary for Scaling {
    fn check(&self) -> Result<(), ParameterError> {
        require("factor", self.factor, true, "finite")
    }

    fn reverses_clicks(&self) -> bool {
        self.reversed_clicks
    }

    fn corrupt(&mut self, _seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        own.scale(self.factor);
    }
}

/// Against the mean of the honest updates.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct InnerProduct {
    /// Factor of minus the mean.
    pub scale: f64,
}

impl Default for InnerProduct {
    fn default() -> Self {
        Self { scale: 1.0 }
    }
}

impl Adversary for InnerProduct {
    fn check(&self) -> Result<(), ParameterError> {
        require("scale", self.scale, self.scale > 0.0, "positive and finite")
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let mean = mean_of(seen.typical(own.rows()));
        own.send_all(&to_f32(mean.iter().map(|mean| -self.scale * mean)));
    }
}

/// The opposite of the local model: how a client is marked that is to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Negation {
    /// Factor of minus the local model: 2 in the thesis.
    pub z: f64,
}

impl Default for Negation {
    fn default() -> Self {
        Self { z: 2.0 }
    }
}

impl Adversary for Negation {
    fn check(&self) -> Result<(), ParameterError> {
        require("z", self.z, self.z > 0.0, "positive and finite")
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        for row in own.rows_mut() {
            for (value, &global) in row.iter_mut().zip(seen.global) {
                // Eq. 6.4.
                *value = (-self.z * f64::from(*value) - (self.z + 1.0) * f64::from(global)) as f32;
            }
        }
    }
}
