//! Spectral filter: contributions that pull together, more than independent ones would, lose their weight.
//!
//! `DKKLMS17` Diakonikolas, Kamath, Kane, Li, Moitra, Stewart: *Being Robust (in High Dimensions) Can Be Practical*, ICML
//! 2017: attackers who move the mean leave a direction with too much variance, and are the ones that are far out along it.
//! Weights fall by how far a contribution is out along the direction of the largest variance.
//!
//! A rule of single coordinates can be pushed by the scatter of honest contributions in every coordinate at once, up to
//! the root of their number times as far as in one. Colluders who push together are seen here as soon as their common part
//! is longer than what independent contributions have in common by chance.
//!
//! Alone it does not hold against attackers of any strength: four of ten, each along an axis of its own, move the step by
//! .18 of their distance, because honest contributions are out along those directions as well. A
//! [`Bound`](super::Bound) belongs in front of it.
//!
//! Deviations: the paper stops when the largest variance is what it should be, which nobody knows here; this filter always
//! takes away the weight of m contributions, in [`STEPS`] equal parts, and the centre is measured anew after each. A
//! contribution loses by the fourth power of how far it is out instead of the second: with few contributions the second
//! takes too much from those that are in. Residuals are shortened to their middle length before anything is measured, so
//! that length alone buys nothing; the step is the mean of what is left of them.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::aggregate::geometry::{add_scaled, dot};
use crate::aggregate::norm_clipping::clip_factor;
use crate::aggregate::order::lower_middle;
use crate::aggregate::{AggregationRule, Combined, Contributions};

/// How much weight is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SpectralFilter {
    /// Attackers to expect: the weight of so many contributions is taken away.
    pub attackers: u32,
}

/// Parts in which weight is taken away: the direction changes when the first of it is gone.
const STEPS: u32 = 8;
/// Multiplications that find the direction of the largest variance; those that nearly share it do as well.
const POWER_STEPS: usize = 20;

impl AggregationRule for SpectralFilter {
    type Memory = Memory;

    fn least_clients(&self) -> usize {
        (self.attackers as usize).saturating_mul(2).saturating_add(1)
    }

    fn combine(&self, memory: &mut Memory, _: &[f32], round: &Contributions, combined: &mut Combined) {
        let n_attackers = (self.attackers as usize).min((round.len() - 1) / 2);
        memory.measure(round);
        for _ in 0..STEPS {
            memory.centre();
            memory.find_direction();
            memory.take_weight(n_attackers as f64 / f64::from(STEPS));
        }
        memory.centre();
        memory.mean.iter().zip(&mut combined.step).for_each(|(mean, step)| *step = *mean);
        for (row, &share) in round.rows().zip(&memory.coefficients) {
            add_scaled(&mut combined.step, row, share);
        }
        let total: f64 = memory.coefficients.iter().sum();
        // The coefficients are of contributions minus their mean.
        combined.step.iter_mut().zip(&memory.mean).for_each(|(step, mean)| *step -= total * mean);
        let of_mean = (1.0 - total) / round.len() as f64;
        combined.shares.extend(memory.coefficients.iter().map(|share| share + of_mean));
    }
}

/// Everything is measured in products of contributions minus their mean, which are computed once: a centre is a sum of
/// them with coefficients.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    n: usize,
    mean: Vec<f64>,
    centred: Vec<Vec<f64>>,
    products: Vec<f64>,
    weights: Vec<f64>,
    /// How much of each contribution is in the centre; they add up to 1.
    coefficients: Vec<f64>,
    /// By how much each residual is shortened.
    factors: Vec<f64>,
    /// Products of contributions with the centre.
    towards: Vec<f64>,
    lengths: Vec<f64>,
    sorted: Vec<f64>,
    scatter: Vec<f64>,
    direction: Vec<f64>,
    next: Vec<f64>,
}

impl Memory {
    fn measure(&mut self, round: &Contributions) {
        self.n = round.len();
        self.mean.clear();
        self.mean.resize(round.n_params(), 0.0);
        round.rows().for_each(|row| add_scaled(&mut self.mean, row, 1.0 / self.n as f64));
        self.centred.resize(self.n, Vec::new());
        for (row, centred) in round.rows().zip(&mut self.centred) {
            centred.clear();
            centred.extend(row.iter().zip(&self.mean).map(|(&value, mean)| f64::from(value) - mean));
        }
        self.products.resize(self.n * self.n, 0.0);
        for i in 0..self.n {
            for j in 0..=i {
                let product = dot(&self.centred[i], &self.centred[j]);
                (self.products[i * self.n + j], self.products[j * self.n + i]) = (product, product);
            }
        }
        self.weights.clear();
        self.weights.resize(self.n, 1.0);
        self.direction.clear();
    }

    /// Puts the centre at the weighted mean, shortens the residuals, and moves it by the mean of what is left of them.
    fn centre(&mut self) {
        let total: f64 = self.weights.iter().sum();
        self.coefficients.clear();
        self.coefficients.extend(self.weights.iter().map(|weight| weight / total));
        let own = self.multiply_by_centre();
        self.lengths.clear();
        let squares = self.products.iter().step_by(self.n + 1).zip(&self.towards);
        self.lengths.extend(squares.map(|(square, towards)| (square - 2.0 * towards + own).max(0.0).sqrt()));
        self.sorted.clone_from(&self.lengths);
        let radius = lower_middle(&mut self.sorted).unwrap_or(0.0);
        self.factors.clear();
        self.factors.extend(self.lengths.iter().map(|&length| clip_factor(length, radius)));
        // c + sum of w f (x - c), with c = sum of w x.
        let kept: f64 = self.weights.iter().zip(&self.factors).map(|(weight, factor)| weight / total * factor).sum();
        for ((coefficient, weight), factor) in self.coefficients.iter_mut().zip(&self.weights).zip(&self.factors) {
            *coefficient = (1.0 - kept) * *coefficient + weight / total * factor;
        }
    }

    /// Products of every contribution with the centre; returns that of the centre with itself.
    fn multiply_by_centre(&mut self) -> f64 {
        self.towards.clear();
        self.towards.extend(self.products.chunks_exact(self.n).map(|row| dot(row, &self.coefficients)));
        dot(&self.towards, &self.coefficients)
    }

    /// The direction of the largest variance, as how far each weighted residual is out along it.
    fn find_direction(&mut self) {
        let (n, own) = (self.n, self.multiply_by_centre());
        self.scatter.resize(n * n, 0.0);
        for i in 0..n {
            for j in 0..n {
                let product = self.products[i * n + j] - self.towards[i] - self.towards[j] + own;
                let weight = (self.weights[i] * self.weights[j]).sqrt() * self.factors[i] * self.factors[j];
                self.scatter[i * n + j] = weight * product;
            }
        }
        if self.direction.is_empty() {
            let longest = (0..n).max_by(|&a, &b| self.scatter[a * n + a].total_cmp(&self.scatter[b * n + b]));
            self.direction.extend_from_slice(&self.scatter[longest.unwrap_or(0) * n..][..n]);
        }
        for _ in 0..POWER_STEPS {
            let length = dot(&self.direction, &self.direction).sqrt();
            if length == 0.0 {
                return;
            }
            self.direction.iter_mut().for_each(|value| *value /= length);
            self.next.clear();
            self.next.extend(self.scatter.chunks_exact(n).map(|row| dot(row, &self.direction)));
            std::mem::swap(&mut self.next, &mut self.direction);
        }
        let largest = self.direction.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        if largest > 0.0 {
            self.direction.iter_mut().for_each(|value| *value /= largest);
        }
    }

    /// Takes away this much weight, from each by how far it is out.
    fn take_weight(&mut self, amount: f64) {
        self.next.clear();
        self.next.extend(self.direction.iter().map(|value| value.powi(4)));
        let mut left = amount;
        // Whoever has lost all its weight pays no more, and the others pay for it.
        for _ in 0..self.n {
            let out = self.next.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0.0);
            let total: f64 = out.map(|(share, _)| share).sum();
            if left <= 1e-12 || total == 0.0 {
                return;
            }
            let asked = left;
            for (weight, share) in self.weights.iter_mut().zip(&self.next).filter(|(weight, _)| **weight > 0.0) {
                let taken = (asked * share / total).min(*weight);
                *weight -= taken;
                left -= taken;
            }
        }
    }
}
