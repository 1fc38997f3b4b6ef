//! The geometric median: the point with the smallest sum of distances from all contributions.
//!
//! `PKH22` Pillutla, Kakade, Harchaoui: *Robust Aggregation for Federated Learning*, IEEE Transactions on Signal
//! Processing 70, 2022, Algorithm 2: smoothed Weiszfeld steps, z = sum w_i x_i / sum w_i with w_i = 1 / max(nu, |z -
//! x_i|).
//!
//! It stays near the honest contributions as long as attackers are fewer than half, at most 2 / (1 - 2m/n) times as
//! far from their mean as the furthest of them: near one half that is little comfort, and inside it attackers can
//! hide.
//!
//! Deviation: the first point is the coordinate-wise median. From the mean, on which attackers have any influence,
//! each step would only take away a fixed share of it. nu and the tolerance are relative to the scatter of the round.

use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{add_scaled, squared_distance};
use crate::aggregate::order::{Columns, inner_means, lower_middle};
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// Steps at most; most rounds need far fewer.
const MAX_STEPS: usize = 100;
/// A step shorter than this share of the middle distance is the last.
const TOLERANCE: f64 = 1e-6;
/// nu as a share of the middle distance: no contribution weighs infinitely much.
const SMOOTHING: f64 = 1e-6;

/// The geometric median needs no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GeometricMedian {}

impl AggregationRule for GeometricMedian {
    type Memory = Memory;

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        let n = round.len();
        combined.shares.resize(n, 1.0 / n as f64);
        inner_means(round, (n - 1) / 2, &mut memory.columns, &mut combined.step);
        for _ in 0..MAX_STEPS {
            let moved = memory.step(round, combined);
            std::mem::swap(&mut memory.next, &mut combined.step);
            if moved <= TOLERANCE {
                break;
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    columns: Columns,
    distances: Vec<f64>,
    sorted: Vec<f64>,
    next: Vec<f64>,
}

impl Memory {
    /// Makes the next point and says how far it is from this one, as a share of the middle distance.
    fn step(&mut self, contributions: &Contributions, combined: &mut Combined) -> f64 {
        let point = &combined.step;
        self.distances.clear();
        self.distances.extend(contributions.rows().map(|row| squared_distance(row, point).sqrt()));
        self.sorted.clone_from(&self.distances);
        let scale = lower_middle(&mut self.sorted).unwrap_or(0.0);
        self.next.clear();
        if scale == 0.0 {
            // At least half of all are here: no point has a smaller sum.
            self.next.extend_from_slice(point);
            return 0.0;
        }
        let weigh = |distance: f64| scale / distance.max(SMOOTHING * scale);
        let total: f64 = self.distances.iter().map(|&distance| weigh(distance)).sum();
        self.next.resize(point.len(), 0.0);
        for ((row, &distance), share) in contributions.rows().zip(&self.distances).zip(&mut combined.shares) {
            *share = weigh(distance) / total;
            add_scaled(&mut self.next, row, *share);
        }
        let moved = self.next.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        moved / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Aggregator;

    fn median_of(points: &[[f32; 2]]) -> Vec<f64> {
        let mut combined = Combined::default();
        let round = Contributions::of_rows(points);
        GeometricMedian {}.start().aggregate(&[], &round, &mut combined).expect("someone");
        combined.step
    }

    #[test]
    fn medians_of_a_few_points() {
        // The diagonals of a convex quadrilateral cross in it; here those of (0, 0), (4, 0), (3, 3), (0, 2).
        let crossing = median_of(&[[0.0, 0.0], [4.0, 0.0], [3.0, 3.0], [0.0, 2.0]]);
        assert!((crossing[0] - 4.0 / 3.0).abs() < 1e-4 && (crossing[1] - 4.0 / 3.0).abs() < 1e-4, "{crossing:?}");
        // Fermat's point of an isosceles triangle sees its sides at 120 degrees: 1/sqrt(3) above the base.
        let fermat = median_of(&[[-1.0, 0.0], [1.0, 0.0], [0.0, 5.0]]);
        assert!(fermat[0].abs() < 1e-4 && (fermat[1] - 1.0 / 3.0_f64.sqrt()).abs() < 1e-4, "{fermat:?}");
        // An angle of more than 120 degrees: its corner, which smoothing leaves a little way off.
        let corner = median_of(&[[-5.0, 0.1], [5.0, 0.1], [0.0, 0.0]]);
        assert!(corner[0].abs() < 1e-3 && corner[1].abs() < 1e-3, "{corner:?}");
        assert_eq!(median_of(&[[7.0, 1.0], [7.0, 1.0], [1e30, -1e30]]), [7.0, 1.0]);
    }
}
