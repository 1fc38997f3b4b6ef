//! Fang's attack on trimmed mean and median: just beyond the extremes, against the direction of learning.
//!
//! `FCJG20` Fang, Cao, Jia, Gong: *Local Model Poisoning Attacks to Byzantine-Robust Federated Learning*, USENIX
//! Security 2020, section 4.3; spec section 13.3. Every attacker draws every coordinate for itself: with full knowledge
//! between the extreme of all updates and `factor` times that, with partial knowledge 3 to 4 deviations from the mean of
//! the attackers' own.
//!
//! The first is multiplicative, so it matters whether values are those of models (thesis) or of updates. Extremes are of
//! all honest work, the attackers' included (thesis), or of the honest clients alone (paper). Deviations divide by the
//! number of attackers.
//!
//! Deviation: a coordinate that the mean does not move is left at the global model.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::adversary::fang_krum::against;
use crate::adversary::geometry::{deviation_of, mean_of, mean_of_both};
use crate::adversary::{Adversary, Own, Rows, Seen, require};

/// How far beyond which extremes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FangTrim {
    /// How many times the extreme is the farthest value, with full knowledge.
    pub factor: f64,
    /// What is multiplied.
    pub space: Space,
    /// Whose extremes.
    pub extremes: Extremes,
}

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// A parameter of a model.
    #[default]
    Models,
    /// Its difference to the global model.
    Updates,
}

/// Whose updates have the extremes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Extremes {
    /// Everybody's, before the attack.
    #[default]
    All,
    /// The honest clients'.
    Honest,
}

impl Default for FangTrim {
    fn default() -> Self {
        Self { factor: 2.0, space: Space::default(), extremes: Extremes::default() }
    }
}

impl FangTrim {
    /// Between which numbers the attackers draw the update of every coordinate.
    pub(super) fn ranges(&self, seen: &Seen<'_>, own: Rows<'_>) -> Vec<(f64, f64)> {
        match seen.honest {
            Some(honest) if !honest.is_empty() => self.beyond_extremes(seen.global, own, honest),
            _ => beyond_deviations(own),
        }
    }

    fn beyond_extremes(&self, global: &[f32], own: Rows<'_>, honest: Rows<'_>) -> Vec<(f64, f64)> {
        let directions = against(&mean_of_both(own, honest));
        let counted = match self.extremes {
            Extremes::All => own,
            Extremes::Honest => Rows::new(&[], global.len()),
        };
        let range = |(i, direction): (usize, f64)| {
            let origin = match self.space {
                Space::Models => f64::from(global[i]),
                Space::Updates => 0.0,
            };
            let values = counted.iter().chain(honest.iter()).map(|row| origin + f64::from(row[i]));
            let (low, high) = match direction {
                0.0 => (origin, origin),
                up if up > 0.0 => above(values.fold(f64::NEG_INFINITY, f64::max), self.factor),
                _ => below(values.fold(f64::INFINITY, f64::min), self.factor),
            };
            (low - origin, high - origin)
        };
        directions.into_iter().enumerate().map(range).collect()
    }
}

/// From the largest value on.
fn above(max: f64, factor: f64) -> (f64, f64) {
    if max > 0.0 { (max, factor * max) } else { (max, max / factor) }
}

/// Up to the smallest value.
fn below(min: f64, factor: f64) -> (f64, f64) {
    if min > 0.0 { (min / factor, min) } else { (factor * min, min) }
}

/// 3 to 4 deviations from the mean, against it.
fn beyond_deviations(own: Rows<'_>) -> Vec<(f64, f64)> {
    let mean = mean_of(own);
    let deviations = deviation_of(own.iter(), &mean, own.len());
    let range = |((&mean, deviation), direction): ((&f64, f64), f64)| match direction {
        0.0 => (0.0, 0.0),
        up if up > 0.0 => (mean + 3.0 * deviation, mean + 4.0 * deviation),
        _ => (mean - 4.0 * deviation, mean - 3.0 * deviation),
    };
    mean.iter().zip(deviations).zip(against(&mean)).map(range).collect()
}

impl Adversary for FangTrim {
    fn check(&self) -> Result<(), ParameterError> {
        require("factor", self.factor, self.factor >= 1.0, "at least 1 and finite")
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, stream: &mut Stream) {
        let ranges = self.ranges(seen, own.rows());
        for row in own.rows_mut() {
            for (value, &(low, high)) in row.iter_mut().zip(&ranges) {
                *value = (low + (high - low) * stream.random::<f64>()) as f32;
            }
        }
    }
}
