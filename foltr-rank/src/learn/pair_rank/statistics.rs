//! The parameters of a federation that learns by PairRank: sums over pairs of documents, from which the ranker follows.
//!
//! Layout: the d numbers of b, then the lower triangle of M row by row; theta = M^-1 b. A pair with difference x that is
//! seen at theta_t adds 1/4 x x^T to M and (1/4 theta_t . x + 1 - sigma(theta_t . x)) x to b. So
//! b_(t+1) = M_(t+1) theta_t + the gradient of the round's pairs, and theta_(t+1) is a Newton step from theta_t.

use crate::elementary::exp_double;
use crate::params::Params;

/// Least pivot relative to its diagonal: parameters have single precision, and what they lose there must not make a matrix
/// that has no root.
const LEAST_PIVOT: f64 = 1e-6;

/// Numbers of the statistics for documents with so many features.
pub const fn n_statistics(n_features: usize) -> usize {
    n_features + n_features * (n_features + 1) / 2
}

/// The features of documents for which there are so many statistics, if there are any.
pub fn n_features(n_statistics: usize) -> Option<usize> {
    (1..=n_statistics)
        .find(|&d| self::n_statistics(d) >= n_statistics)
        .filter(|&d| self::n_statistics(d) == n_statistics)
}

/// The statistics before the first pair: b = 0 and M = lambda I.
pub fn initial(n_features: usize, ridge: f64) -> Params {
    let mut statistics = vec![0.0; n_statistics(n_features)];
    (0..n_features).for_each(|i| statistics[n_features + triangle(i, i)] = ridge as f32);
    statistics
}

/// The weights of the linear ranker that follows from statistics.
///
/// # Panics
/// If their number is not that of any documents.
pub fn weights(statistics: &[f32]) -> Params {
    let mut fitted = Fitted::new(n_features(statistics.len()).expect("statistics"));
    fitted.fit(statistics);
    fitted.theta.iter().map(|&weight| weight as f32).collect()
}

/// Where an entry of a lower triangle is, row by row.
const fn triangle(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// The ranker of a round, and how certain it is.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) theta: Vec<f64>,
    /// L with L L^T = M, its lower triangle row by row.
    root: Vec<f64>,
}

impl Fitted {
    pub(super) fn new(n_features: usize) -> Self {
        Self { theta: vec![0.0; n_features], root: vec![0.0; n_statistics(n_features) - n_features] }
    }

    pub(super) fn fit(&mut self, statistics: &[f32]) {
        let d = self.theta.len();
        let (b, matrix) = statistics.split_at(d);
        self.root.iter_mut().zip(matrix).for_each(|(entry, &value)| *entry = f64::from(value));
        decompose(&mut self.root, d);
        self.theta.iter_mut().zip(b).for_each(|(entry, &value)| *entry = f64::from(value));
        forward(&self.root, &mut self.theta);
        for i in (0..d).rev() {
            let below: f64 = (i + 1..d).map(|j| self.root[triangle(j, i)] * self.theta[j]).sum();
            self.theta[i] = (self.theta[i] - below) / self.root[triangle(i, i)];
        }
    }

    /// x becomes L^-1 x, whose squared length is x^T M^-1 x.
    pub(super) fn whiten(&self, x: &mut [f64]) {
        forward(&self.root, x);
    }

    pub(super) fn score(&self, x: &[f64]) -> f64 {
        self.theta.iter().zip(x).map(|(weight, value)| weight * value).sum()
    }
}

/// Cholesky's decomposition in place.
fn decompose(entries: &mut [f64], d: usize) {
    for i in 0..d {
        for j in 0..=i {
            let (before, own) = entries.split_at_mut(triangle(i, 0));
            let (left, entry) = own.split_at_mut(j);
            if j < i {
                let other = &before[triangle(j, 0)..=triangle(j, j)];
                let known: f64 = left.iter().zip(other).map(|(a, b)| a * b).sum();
                entry[0] = (entry[0] - known) / other[j];
            } else {
                let known: f64 = left.iter().map(|a| a * a).sum();
                entry[0] = (entry[0] - known).max(LEAST_PIVOT * entry[0]).max(f64::MIN_POSITIVE).sqrt();
            }
        }
    }
}

fn forward(root: &[f64], x: &mut [f64]) {
    for i in 0..x.len() {
        let row = &root[triangle(i, 0)..=triangle(i, i)];
        let (known, rest) = x.split_at_mut(i);
        let left: f64 = row.iter().zip(known).map(|(a, b)| a * *b).sum();
        rest[0] = (rest[0] - left) / row[i];
    }
}

/// 1 / (1 + e^-x)
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp_double(-x))
}

/// What the pairs of a round add to the statistics.
#[derive(Clone, Debug)]
pub(super) struct Sums(Vec<f64>);

impl Sums {
    pub(super) fn new(n_features: usize) -> Self {
        Self(vec![0.0; n_statistics(n_features)])
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0.0);
    }

    /// A document was preferred to another; x is the first minus the second.
    pub(super) fn add(&mut self, fitted: &Fitted, x: &[f64]) {
        let (b, matrix) = self.0.split_at_mut(x.len());
        let margin = fitted.score(x);
        let scale = 0.25 * margin + 1.0 - sigmoid(margin);
        b.iter_mut().zip(x).for_each(|(sum, value)| *sum += scale * value);
        for (i, value) in x.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            let row = &mut matrix[triangle(i, 0)..=triangle(i, i)];
            row.iter_mut().zip(x).for_each(|(sum, other)| *sum += 0.25 * value * other);
        }
    }

    pub(super) fn write(&self, delta: &mut [f32]) {
        delta.iter_mut().zip(&self.0).for_each(|(delta, &sum)| *delta = sum as f32);
    }
}
