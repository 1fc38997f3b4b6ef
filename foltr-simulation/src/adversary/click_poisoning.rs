//! Honest learning from reversed clicks: poisoned data, with no lie in the messages (spec section 12).

use serde::{Deserialize, Serialize};

use crate::adversary::{Adversary, AttackMethod};

/// Reversed clicks have no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClickPoisoning {}

impl AttackMethod for ClickPoisoning {
    fn example() -> Self {
        Self {}
    }

    fn reverses_clicks(&self) -> bool {
        true
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        None
    }
}
