//! Min-Max and Min-Sum: as far from the mean as honest updates are from each other.
//!
//! `SH21` Shejwalkar, Houmansadr: *Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for
//! Federated Learning*, NDSS 2021, its two agnostic attacks: mean + gamma p with the largest gamma for which, in Min-Max,
//! the distance to any honest update is at most the largest distance of two of them; in Min-Sum, the sum of squared
//! distances to honest updates is at most the largest such sum of an honest update. p is one of three perturbations.
//!
//! Deviation: Algorithm 1 of the paper searches for gamma by halving steps and ends a little below. In Min-Max it is the
//! least root of a quadratic equation for every honest update. In Min-Sum both sums are those of the squared distances to
//! the mean plus n times the squared distance of the point to the mean, so gamma is the distance of the farthest honest
//! update from the mean.

use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{deviation_of, mean_of, norm, sign, squared_distance, squared_distances, to_f32};
use crate::adversary::{Adversary, Own, Rows, Seen};

/// Which way from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MinMax {
    /// The perturbation.
    pub direction: Perturbation,
}

/// Which way from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MinSum {
    /// The perturbation.
    pub direction: Perturbation,
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
    /// The way from the mean of some updates, of length 1, or 0 where there is none.
    pub(super) fn way(self, rows: Rows<'_>, mean: &[f64]) -> Vec<f64> {
        unit(match self {
            Self::Unit => mean.iter().map(|mean| -mean).collect(),
            Self::Sign => mean.iter().map(|&mean| -sign(mean)).collect(),
            Self::Deviation => deviation_of(rows.iter(), mean, rows.len()).iter().map(|value| -value).collect(),
        })
    }

    /// Makes all attackers send a point on the way from the mean.
    fn send(self, seen: &Seen<'_>, own: &mut Own<'_>, length: impl Fn(Rows<'_>, &[f64], &[f64]) -> f64) {
        let rows = seen.typical(own.rows());
        let mean = mean_of(rows);
        let way = self.way(rows, &mean);
        let point = along(&mean, length(rows, &mean, &way), &way);
        own.send_all(&point);
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
        self.direction.send(seen, own, |rows, mean, way| {
            let diameter = squared_distances(rows).iter().copied().fold(0.0, f64::max);
            rows.iter().map(|row| largest_step(row, mean, way, diameter)).fold(f64::INFINITY, f64::min)
        });
    }
}

impl Adversary for MinSum {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        self.direction.send(seen, own, |rows, mean, _| {
            rows.iter().map(|row| squared_distance(row, mean)).fold(0.0, f64::max).sqrt()
        });
    }
}

/// The largest gamma for which |mean + gamma way - row|^2 is at most `square`. The mean itself is never further.
fn largest_step(row: &[f32], mean: &[f64], way: &[f64], square: f64) -> f64 {
    let offset = mean.iter().zip(row).map(|(mean, &value)| mean - f64::from(value));
    let half_slope: f64 = offset.zip(way).map(|(offset, way)| offset * way).sum();
    let slack = square - squared_distance(row, mean);
    (half_slope * half_slope + slack.max(0.0)).sqrt() - half_slope
}
