//! Patience: honest work until a round comes that the rule does not defend, then one vector that undoes everything.
//!
//! Our own. A rule that reckons with m attackers says nothing about a round with more of them: one that cuts off fewer
//! where messages are lost, or one whose clients are drawn. Attackers who see the messages of the round try theirs on a
//! copy of the rule and lose nothing by waiting. A linear ranker that was carried far away does not come back: its users
//! are shown the same lists for ever.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{norm, to_f32};
use crate::adversary::min_max::unit;
use crate::adversary::{Adversary, Own, Seen, require};

/// When, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Patient {
    /// Length of what attackers send against the global model when its time has come.
    pub length: f64,
    /// They are honest before this round, counted from 0.
    pub from: u32,
}

impl Default for Patient {
    fn default() -> Self {
        Self { length: 1e5, from: 1 }
    }
}

/// The rule follows attackers if its step is more than this share of what they would send.
const FOLLOWS: f64 = 0.01;

impl Adversary for Patient {
    fn check(&self) -> Result<(), ParameterError> {
        require("length", self.length, self.length > 0.0, "positive and finite")
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        if seen.round < self.from {
            return;
        }
        let against = unit(seen.global.iter().map(|&value| -f64::from(value)).collect());
        let messages = to_f32(against.iter().map(|value| self.length * value)).repeat(own.rows().len());
        if seen.rehearse(&messages).is_some_and(|step| norm(&step) > FOLLOWS * self.length) {
            own.send(&messages);
        }
    }
}
