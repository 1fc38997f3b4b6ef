//! Messages that started from an older release than that of the round they join.
//!
//! A slow device finishes when its round is long closed. It joins the open one: the newer the release that it started from,
//! the more its step counts, (1 + s)^-exponent for a step s releases old (`XKG20` Xie, Koyejo, Gupta: *Asynchronous
//! Federated Optimization*, OPT 2020, section 5.2, the polynomial weight).
//!
//! The device scales its update *before* momentum, clipping and noise, so that a mechanism's guarantee is what it was: a
//! message is as long, and one a round, whatever it started from. Rewards of FOLtR-ES have no length of their own; there
//! the server scales the step that it reads in them.

use serde::{Deserialize, Serialize};

use foltr_rank::parameter::{ParameterError, require};

/// How old the release may be that a message started from, and how much less it then counts.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Staleness {
    /// Messages that started from an older release than this many ago are not taken.
    pub most: u32,
    /// A step s releases old counts (1 + s) to the power of minus this; 0 for equal weights.
    pub exponent: f64,
}

/// Beyond this, an old step is nothing.
pub(crate) const MAX_EXPONENT: f64 = 10.0;

/// More releases than any device should be away.
const MAX_RELEASES: u32 = 10_000;

impl Staleness {
    /// Only messages that started from the newest release are taken.
    pub const NONE: Self = Self { most: 0, exponent: 0.0 };

    pub fn check(&self) -> Result<(), ParameterError> {
        require("most", f64::from(self.most), self.most <= MAX_RELEASES, "0 to 10000")?;
        require("exponent", self.exponent, (0.0..=MAX_EXPONENT).contains(&self.exponent), "0 to 10")
    }

    /// How much a step counts that started so many releases ago.
    pub fn scale(&self, staleness: u32) -> f64 {
        (1.0 + f64::from(staleness)).powf(-self.exponent)
    }

    /// Scales an update; one from the newest release stays as it is.
    pub fn apply(&self, staleness: u32, update: &mut [f32]) {
        if staleness > 0 {
            let scale = self.scale(staleness);
            update.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
    }
}

impl Default for Staleness {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_steps_count_less() {
        let staleness = Staleness { most: 3, exponent: 0.5 };
        let mut update = [2.0, -4.0];
        staleness.apply(0, &mut update);
        assert_eq!(update, [2.0, -4.0]);
        staleness.apply(3, &mut update);
        assert_eq!(update, [1.0, -2.0]);
        assert_eq!(Staleness { most: 1, exponent: -1.0 }.check().expect_err("grows").name, "exponent");
    }
}
