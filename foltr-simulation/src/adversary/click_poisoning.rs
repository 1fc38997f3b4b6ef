//! Honest learning from reversed clicks: poisoned data, with no lie in the messages (spec section 12).

use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::{Adversary, AttackMethod, Own, Seen};

/// Reversed clicks have no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClickPoisoning {}

impl AttackMethod for ClickPoisoning {
    fn reverses_clicks(&self) -> bool {
        true
    }

    fn changes_messages(&self) -> bool {
        false
    }
}

impl Adversary for ClickPoisoning {
    fn corrupt(&mut self, _seen: &Seen<'_>, _own: &mut Own<'_>, _stream: &mut Stream) {}
}
