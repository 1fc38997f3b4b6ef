//! The mean of contributions that were made no longer than a radius.
//!
//! `SKSM19` Sun, Kairouz, Suresh, McMahan: *Can You Really Backdoor Federated Learning?*, arXiv:1911.07963, 2019,
//! section 3.
//!
//! m attackers move the mean by at most m/n times the radius, whatever they send, and an honest round is hardly
//! changed. But they do so in every round in a direction of their choice: damage is slowed down, not stopped.
//!
//! Deviation: the radius can be the middle length of the round, which needs no knowledge of lengths; no noise is
//! added.

use foltr_rank::parameter::{ParameterError, positive};
use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{add_scaled, length};
use crate::aggregate::order::lower_middle;
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// How long a contribution may be.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NormClipping {
    /// Longer ones are shortened to it.
    pub radius: Radius,
}

impl AggregationRule for NormClipping {
    type Memory = Memory;

    fn check(&self) -> Result<(), ParameterError> {
        self.radius.check()
    }

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        memory.lengths.clear();
        memory.lengths.extend(round.rows().map(length));
        let radius = self.radius.of(&memory.lengths, &mut memory.sorted);
        for (row, &length) in round.rows().zip(&memory.lengths) {
            let share = clip_factor(length, radius) / round.len() as f64;
            combined.shares.push(share);
            add_scaled(&mut combined.step, row, share);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    lengths: Vec<f64>,
    sorted: Vec<f64>,
}

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
    pub(crate) fn check(self) -> Result<(), ParameterError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Aggregator;

    #[test]
    fn long_contributions_are_shortened() {
        let round = Contributions::of_rows(&[[3.0, 4.0], [0.0, -1.0], [0.0, 10.0]]);
        for (radius, want) in [(Radius::Fixed(2.0), [0.4, 0.866_666_666]), (Radius::Median, [1.0, 8.0 / 3.0])] {
            let mut combined = Combined::default();
            NormClipping { radius }.start().aggregate(&[], &round, &mut combined).expect("three");
            combined.step.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 1e-8, "{combined:?}"));
        }
    }
}
