//! RankingSVM: a linear ranker of large margin between the documents of each pair with different labels.
//!
//! `J02` Joachims: *Optimizing Search Engines using Clickthrough Data*, KDD 2002, and `J06` *Training Linear SVMs in
//! Linear Time*, KDD 2006; baseline of `KO19` Table 3, spec section 17. Minimises
//!
//! P(w) = 1/2 |w|^2 + C / n * sum over pairs max(0, 1 - w . (x_i - x_j)),
//!
//! over all pairs of documents i, j of one query with label_i > label_j, n being the number of queries: that is the
//! meaning of `-c C` in Joachims' program.
//!
//! Deviation: that program adds cutting planes until the mean slack is within .001. Here the hinge is smoothed over a
//! width h, the smooth problem is solved by Newton's method, and h shrinks tenfold (`N05` Nesterov: *Smooth
//! Minimization of Non-smooth Functions*, 2005; `CK10` Chapelle, Keerthi: *Efficient Algorithms for Ranking with SVMs*,
//! 2010). The multipliers of the smoothed problem are feasible in the dual of the true one, so every iterate bounds its
//! own distance from the optimum: P(w) - D(a) with D(a) = sum a - 1/2 |sum a (x_i - x_j)|^2, 0 <= a <= C / n.

mod line_search;
mod objective;
mod pairs;

use foltr_rank::Params;
use foltr_simulation::dataset::Dataset;
use nalgebra::{Cholesky, DVector};

use line_search::best_step;
use objective::{Evaluation, Objective};

/// C of `KO19`.
pub const PUBLISHED_C: f64 = 1_000.0;

/// The duality gap at which [`ranking_svm`] stops, as a share of the objective.
pub const RELATIVE_GAP: f64 = 1e-6;

/// Smoothing shrinks no further: below, rounding of scores would be all that is left of it.
const LEAST_SMOOTHING: f64 = 1e-12;

/// Newton steps of one smoothing width; far more than are needed (about ten).
const MAX_STEPS_A_WIDTH: usize = 100;

/// A trained RankingSVM with the proof of its quality.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    pub weights: Vec<f64>,
    pub objective: f64,
    /// P(w) is at most this much above the least possible value.
    pub duality_gap: f64,
    pub n_steps: usize,
}

/// Weights of the RankingSVM with this C, optimal to [`RELATIVE_GAP`]. Data without any pair give zero weights.
pub fn ranking_svm(data: &Dataset, c: f64) -> Params {
    solve(data, c, RELATIVE_GAP).weights.iter().map(|&weight| weight as f32).collect()
}

/// Trains until the duality gap is at most `relative_gap` of the objective, or until rounding lets it shrink no more.
pub fn solve(data: &Dataset, c: f64, relative_gap: f64) -> Solution {
    assert!(c > 0.0 && c.is_finite(), "C must be a positive number, not {c}");
    let objective = Objective::new(data, c / data.n_queries().max(1) as f64);
    let mut newton = Newton::new(&objective);
    let mut best = newton.solution();
    while newton.smoothing >= LEAST_SMOOTHING {
        newton.minimise(relative_gap);
        let reached = newton.solution();
        if reached.duality_gap < best.duality_gap {
            best = reached;
        }
        if best.duality_gap <= relative_gap * best.objective {
            break;
        }
        newton.smoothing /= 10.0;
        newton.evaluate();
    }
    Solution { n_steps: newton.n_steps, ..best }
}

struct Newton<'a> {
    objective: &'a Objective<'a>,
    smoothing: f64,
    weights: Vec<f64>,
    scores: objective::Scores,
    evaluation: Evaluation,
    pull: Vec<f64>,
    n_steps: usize,
}

impl<'a> Newton<'a> {
    fn new(objective: &'a Objective<'a>) -> Self {
        let weights = vec![0.0; objective.n_features()];
        let scores = objective.scores(&weights);
        let evaluation = objective.evaluate(&scores, 1.0);
        let pull = objective.pull(&evaluation);
        Self { objective, smoothing: 1.0, weights, scores, evaluation, pull, n_steps: 0 }
    }

    fn evaluate(&mut self) {
        self.evaluation = self.objective.evaluate(&self.scores, self.smoothing);
        self.pull = self.objective.pull(&self.evaluation);
    }

    fn solution(&self) -> Solution {
        let (sums, pair_weight) = (self.evaluation.sums, self.objective.pair_weight);
        let objective = squared_norm(&self.weights) / 2.0 + pair_weight * sums.hinge;
        let dual = pair_weight * sums.multipliers - squared_norm(&self.pull) / 2.0;
        Solution { weights: self.weights.clone(), objective, duality_gap: objective - dual, n_steps: self.n_steps }
    }

    /// Steps until smoothing, not the distance from the smooth optimum, is what keeps the gap open.
    fn minimise(&mut self, relative_gap: f64) {
        for _ in 0..MAX_STEPS_A_WIDTH {
            let slope: Vec<f64> = self.weights.iter().zip(&self.pull).map(|(w, pull)| w - pull).collect();
            let reached = self.solution();
            // The objective is strongly convex with constant 1: it is at most |slope|^2 / 2 above its least value.
            let is_near = squared_norm(&slope) / 2.0 <= 0.01 * reached.duality_gap;
            if is_near || reached.duality_gap <= relative_gap * reached.objective || !self.step(&slope) {
                return;
            }
        }
    }

    /// One Newton step; false when rounding leaves no way down.
    fn step(&mut self, slope: &[f64]) -> bool {
        let hessian = self.objective.hessian(&self.scores, self.smoothing);
        let Some(factor) = Cholesky::new(hessian) else { return false };
        let direction = factor.solve(&-DVector::from_column_slice(slope)).as_slice().to_vec();
        let along = self.objective.scores(&direction);
        let (slope_of_norm, curvature_of_norm) = (dot(&self.weights, &direction), squared_norm(&direction));
        let slope_at = |step: f64| {
            let moved = |(scores, along): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
                scores.iter().zip(along).map(|(score, along)| score + step * along).collect()
            };
            let scores = self.scores.iter().zip(&along).map(moved).collect();
            let pull = self.objective.evaluate(&scores, self.smoothing).pull_along(&along);
            slope_of_norm + step * curvature_of_norm - self.objective.pair_weight * pull
        };
        let Some(length) = best_step(slope_at, dot(slope, &direction)) else { return false };
        self.weights.iter_mut().zip(&direction).for_each(|(weight, d)| *weight += length * d);
        self.scores = self.objective.scores(&self.weights);
        self.evaluate();
        self.n_steps += 1;
        true
    }
}

fn squared_norm(vector: &[f64]) -> f64 {
    dot(vector, vector)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
