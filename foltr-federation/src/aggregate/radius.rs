//! How long may a contribution be? A fixed radius, or the middle of those of the round.

use serde::{Deserialize, Serialize};

use crate::aggregate::order::lower_middle;
use foltr_rank::parameter::{ParameterError, positive};

/// The radius to which contributions are clipped.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Radius {
    /// The middle of the lengths of a round: half of the contributions are clipped. Attackers who are fewer than half
    /// cannot push it beyond the longest honest one.
    Median,
    /// Always the same.
    Fixed(f64),
}

impl Radius {
    pub(super) fn check(self) -> Result<(), ParameterError> {
        match self {
            Self::Median => Ok(()),
            Self::Fixed(radius) => positive("radius", radius),
        }
    }

    /// The radius of a round with these lengths. `sorted` is scratch memory.
    pub(super) fn of(self, lengths: &[f64], sorted: &mut Vec<f64>) -> f64 {
        match self {
            Self::Fixed(radius) => radius,
            Self::Median => {
                sorted.clear();
                sorted.extend_from_slice(lengths);
                lower_middle(sorted).unwrap_or(0.0)
            }
        }
    }
}

/// What a vector is multiplied with to be no longer than a radius.
pub(super) fn clip_factor(length: f64, radius: f64) -> f64 {
    if length > radius { radius / length } else { 1.0 }
}
