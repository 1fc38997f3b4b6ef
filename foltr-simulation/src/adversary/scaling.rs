//! Own work, boosted: an update that is longer than it should be.
//!
//! `BVHES20` Bagdasaryan, Veit, Hua, Estrin, Shmatikov: *How To Backdoor Federated Learning*, AISTATS 2020, model
//! replacement: an attacker multiplies its update so that it survives the average; with n / (server's rate) it replaces the
//! model. Its work is learning from reversed clicks here, unless that is switched off.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::{Adversary, AttackMethod, Own, Seen, require};

/// How much longer, and what.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// Factor of the own update.
    pub factor: f64,
    /// Whether attackers learn from reversed clicks.
    pub reversed_clicks: bool,
}

impl AttackMethod for Scaling {
    fn example() -> Self {
        Self::default()
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("factor", self.factor, true, "finite")
    }

    fn reverses_clicks(&self) -> bool {
        self.reversed_clicks
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        Some(Box::new(*self))
    }
}

impl Default for Scaling {
    fn default() -> Self {
        Self { factor: 10.0, reversed_clicks: true }
    }
}

impl Adversary for Scaling {
    fn corrupt(&mut self, _seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let factor = self.factor;
        own.rows_mut().flatten().for_each(|value| *value = (factor * f64::from(*value)) as f32);
    }
}
