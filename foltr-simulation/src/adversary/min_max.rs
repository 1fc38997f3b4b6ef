//! Min-Max: as far from the mean as no update is further from another than honest updates are.
//!
//! `SH21` Shejwalkar, Houmansadr: *Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for
//! Federated Learning*, NDSS 2021, its first agnostic attack: mean + gamma p with the largest gamma for which the
//! distance to any honest update is at most the largest distance of two of them. p is one of three perturbations.
//!
//! Deviation: gamma is the root of a quadratic equation for every honest update, the least of which is taken; Algorithm
//! 1 of the paper searches for it by halving steps and ends a little below.

use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{deviation_of, mean_of, norm, sign, squared_distance, squared_distances, to_f32};
use crate::adversary::{Adversary, AttackMethod, Own, Rows, Seen};

/// Which way from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MinMax {
    /// The perturbation.
    pub direction: Perturbation,
}

impl AttackMethod for MinMax {
    fn example() -> Self {
        Self::default()
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        Some(Box::new(*self))
    }
}

/// A way from the mean of honest updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Perturbation {
    /// Against the mean.
    #[default]
    Unit,
    /// Against the sign of every coordinate of the mean.
    Sign,
    /// Minus the deviation of every coordinate.
    Deviation,
}

impl Perturbation {
    /// The way from this mean of these updates, of length 1; 0 where there is none.
    pub(super) fn of(self, rows: Rows<'_>, mean: &[f64]) -> Vec<f64> {
        let way: Vec<f64> = match self {
            Self::Unit => mean.iter().map(|mean| -mean).collect(),
            Self::Sign => mean.iter().map(|&mean| -sign(mean)).collect(),
            Self::Deviation => deviation_of(rows.iter(), mean, rows.len()).iter().map(|value| -value).collect(),
        };
        unit(way)
    }
}

/// A vector of length 1 in the same direction; 0 if it has none.
pub(super) fn unit(mut vector: Vec<f64>) -> Vec<f64> {
    let length = norm(&vector);
    vector.iter_mut().for_each(|value| *value = if length > 0.0 { *value / length } else { 0.0 });
    vector
}

/// A point on the way from a mean.
pub(super) fn along(mean: &[f64], gamma: f64, way: &[f64]) -> Vec<f32> {
    to_f32(mean.iter().zip(way).map(|(mean, way)| mean + gamma * way))
}

impl Adversary for MinMax {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let rows = seen.typical(own.rows());
        let mean = mean_of(rows);
        let way = self.direction.of(rows, &mean);
        let diameter = squared_distances(rows).iter().copied().fold(0.0, f64::max);
        let gamma = rows.iter().map(|row| largest_step(row, &mean, &way, diameter)).fold(f64::INFINITY, f64::min);
        let malicious = along(&mean, gamma, &way);
        own.send_all(&malicious);
    }
}

/// The largest gamma for which |mean + gamma way - row|^2 is at most `square`. The mean itself is never further.
fn largest_step(row: &[f32], mean: &[f64], way: &[f64], square: f64) -> f64 {
    let offset = mean.iter().zip(row).map(|(mean, &value)| mean - f64::from(value));
    let half_slope: f64 = offset.zip(way).map(|(offset, way)| offset * way).sum();
    let slack = square - squared_distance(row, mean);
    (half_slope * half_slope + slack.max(0.0)).sqrt() - half_slope
}
