//! Which clicks explain an update best? The most likely set of clicks for each list, given all of them together.
//!
//! The update is one contribution a list plus noise. With weights on the coordinates it is a least-squares problem over
//! finite sets: solved list by list from several starts, the first of which is the best linear estimate. Weights follow
//! the noise: constant for Gaussian noise; for gamma shares, which are mostly next to nothing and sometimes huge, they
//! are updated from the residuals (the likelihood of a small share is about a power of its size). Later lists come from
//! a model that earlier clicks moved, so tables are made again after each guess.

use foltr_rank::Clicks;
use foltr_rank::rng::{Purpose, Stream};
use nalgebra::{Cholesky, DMatrix, DVector};
use rand::RngExt;

use super::scene::{Scene, Shown};
use super::table::{Table, TableMaker};

/// What the server knows about the noise on a coordinate.
pub(super) enum Noise {
    /// None but that of single precision.
    Rounding,
    /// Nearly normal, by coordinate.
    Gaussian { mean: Vec<f64>, variance: Vec<f64> },
    /// Differences of two gamma variates.
    Shares { shape: f64, scale: f64 },
}

/// Further attempts on a message that is not explained yet.
const N_ATTEMPTS: usize = 8;
/// Coordinates that agree to the last digits by no accident.
const EXPLAINED: usize = 12;
/// Deviation of an update that has no noise but rounding.
const ROUNDING: f64 = 1e-6;
/// How far the resolution of shares goes down, from coarse (the tables are not exact yet) to rounding.
const RESOLUTIONS: [f64; 6] = [1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6];
/// An error of the first tables, in which no list knows of earlier clicks.
const COARSE: f64 = 1e-2;

pub(super) fn decode(scene: &Scene, shown: &[Shown], observed: &[f64], noise: &Noise, client: u32) -> Vec<Clicks> {
    let mut maker = TableMaker::new(scene);
    let mut stream = scene.streams.open(Purpose::Cohort, client, shown.len() as u32);
    let target = noise.target(observed);
    let first = maker.first_tables(shown);
    let weights = noise.weights(&target, &first, None, COARSE);
    let problem = Problem { tables: &first, target: &target, weights: &weights };
    let usual: Vec<Clicks> = shown.iter().map(|list| scene.most_frequent(list.ranking.len())).collect();
    let mut best = Solution { guess: Vec::new(), cost: f64::INFINITY, n_explained: 0 };
    for start in [problem.linear_estimate(), usual] {
        best = best.or(refine(&mut maker, shown, &target, noise, problem.descend(start)));
    }
    if matches!(noise, Noise::Gaussian { .. }) {
        // Its valleys are wide: other starts lead to the same place.
        return best.guess;
    }
    let enough = EXPLAINED.min((0..target.len()).filter(|&j| reach(&first, j) > 0.0).count());
    for attempt in 0..N_ATTEMPTS {
        if best.n_explained >= enough {
            break;
        }
        let start = if attempt % 4 == 0 {
            let tables = maker.tables(shown, &best.guess);
            let weights = noise.weights(&target, &tables, None, COARSE);
            let problem = Problem { tables: &tables, target: &target, weights: &weights };
            problem.descend_in_pairs(problem.descend(problem.linear_estimate()))
        } else {
            kicked(&best.guess, attempt, random_guess(&first, &mut stream), &mut stream)
        };
        best = best.or(refine(&mut maker, shown, &target, noise, start));
    }
    best.guess
}

/// Some lists drawn anew, the others as they are: one, two, ... by turns.
fn kicked(guess: &[Clicks], turn: usize, mut drawn: Vec<Clicks>, stream: &mut Stream) -> Vec<Clicks> {
    for _ in 0..(guess.len() - 1).saturating_sub(turn % guess.len()) {
        let unchanged = stream.random_range(0..guess.len());
        drawn[unchanged] = guess[unchanged];
    }
    drawn
}

/// A guess, what it costs, and how many coordinates it explains to the last digits.
struct Solution {
    guess: Vec<Clicks>,
    cost: f64,
    n_explained: usize,
}

impl Solution {
    fn or(self, other: Self) -> Self {
        if other.cost < self.cost { other } else { self }
    }
}

/// Alternates between guesses and the tables that follow from them.
fn refine(
    maker: &mut TableMaker<'_>,
    shown: &[Shown],
    target: &[f64],
    noise: &Noise,
    mut guess: Vec<Clicks>,
) -> Solution {
    let mut tables = maker.tables(shown, &guess);
    for resolution in RESOLUTIONS {
        let residual = residual(&tables, target, &guess);
        let weights = noise.weights(target, &tables, Some(&residual), resolution);
        let next = Problem { tables: &tables, target, weights: &weights }.descend(guess.clone());
        if next != guess {
            maker.follow(&mut tables, shown, &guess, &next);
            guess = next;
        }
    }
    let prior: f64 = tables.iter().zip(&guess).map(|(table, set)| f64::from(table.ln_prior[set.0 as usize])).sum();
    let residual = residual(&tables, target, &guess);
    let is_explained = |j: &usize| residual[*j].abs() < 5.0 * ROUNDING && reach(&tables, *j) > 0.0;
    let n_explained = (0..target.len()).filter(is_explained).count();
    Solution { cost: noise.cost(&residual) - prior, guess, n_explained }
}

fn residual(tables: &[Table], target: &[f64], guess: &[Clicks]) -> Vec<f64> {
    let mut residual = target.to_vec();
    for (table, set) in tables.iter().zip(guess) {
        shift(&mut residual, table, *set, -1.0);
    }
    residual
}

/// Adds the contribution of a set of clicks, `sign` times.
fn shift(vector: &mut [f64], table: &Table, set: Clicks, sign: f64) {
    vector.iter_mut().zip(table.of(set.0 as usize)).for_each(|(left, value)| *left += sign * f64::from(value));
}

fn random_guess(tables: &[Table], stream: &mut Stream) -> Vec<Clicks> {
    let draw = |table: &Table| {
        let mut left: f64 = stream.random();
        let drawn = table.prior.iter().position(|p| {
            left -= p;
            left < 0.0
        });
        Clicks(drawn.unwrap_or(0) as u128)
    };
    tables.iter().map(draw).collect()
}

impl Noise {
    /// What remains to be explained by this client's clicks.
    fn target(&self, observed: &[f64]) -> Vec<f64> {
        match self {
            Self::Gaussian { mean, .. } => observed.iter().zip(mean).map(|(value, mean)| value - mean).collect(),
            _ => observed.to_vec(),
        }
    }

    /// Inverse variances of the coordinates, as far as residuals tell them.
    fn weights(&self, observed: &[f64], tables: &[Table], residual: Option<&[f64]>, resolution: f64) -> Vec<f64> {
        match self {
            Self::Rounding => vec![resolution.max(ROUNDING).powi(-2); observed.len()],
            Self::Gaussian { variance, .. } => variance.iter().map(|variance| 1.0 / variance).collect(),
            Self::Shares { shape, scale } => {
                let weight = |size: f64| {
                    let size = size.max(resolution);
                    (1.0 - 2.0 * shape).max(0.0) / (size * size) + 1.0 / (scale * size)
                };
                match residual {
                    Some(residual) => residual.iter().map(|left| weight(left.abs())).collect(),
                    // What no clicks can explain is noise.
                    None => observed.iter().enumerate().map(|(j, x)| weight(x.abs() - reach(tables, j))).collect(),
                }
            }
        }
    }

    /// Minus the log-likelihood of a residual, up to a constant.
    fn cost(&self, residual: &[f64]) -> f64 {
        match self {
            Self::Rounding => residual.iter().map(|left| (left / ROUNDING).powi(2) / 2.0).sum(),
            Self::Gaussian { variance, .. } => {
                residual.iter().zip(variance).map(|(left, variance)| left * left / variance / 2.0).sum()
            }
            Self::Shares { shape, scale } => {
                let cost = |left: &f64| (1.0 - 2.0 * shape) * left.abs().max(ROUNDING).ln() + left.abs() / scale;
                residual.iter().map(cost).sum()
            }
        }
    }
}

/// The largest that all lists together can make a coordinate.
fn reach(tables: &[Table], j: usize) -> f64 {
    let largest = |table: &Table| table.coordinate(j).iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    tables.iter().map(|table| f64::from(largest(table))).sum()
}

struct Problem<'a> {
    tables: &'a [Table],
    target: &'a [f64],
    weights: &'a [f64],
}

impl Problem<'_> {
    /// Improves one list after the other until none can be improved.
    fn descend(&self, mut guess: Vec<Clicks>) -> Vec<Clicks> {
        let mut left = residual(self.tables, self.target, &guess);
        for _ in 0..20 {
            let mut has_moved = false;
            for (i, table) in self.tables.iter().enumerate() {
                shift(&mut left, table, guess[i], 1.0);
                let next = self.best_for(table, &left);
                has_moved |= next != guess[i];
                guess[i] = next;
                shift(&mut left, table, next, -1.0);
            }
            if !has_moved {
                break;
            }
        }
        guess
    }

    /// Improves two lists at a time, each pair once: all sets of the one with all sets of the other.
    fn descend_in_pairs(&self, mut guess: Vec<Clicks>) -> Vec<Clicks> {
        for i in 0..self.tables.len() {
            for k in 0..i {
                let (one, other) = (&self.tables[i], &self.tables[k]);
                let mut left = residual(self.tables, self.target, &guess);
                shift(&mut left, one, guess[i], 1.0);
                shift(&mut left, other, guess[k], 1.0);
                (guess[i], guess[k]) = self.best_pair(one, other, &left);
            }
        }
        guess
    }

    fn best_pair(&self, one: &Table, other: &Table, vector: &[f64]) -> (Clicks, Clicks) {
        let d = vector.len();
        let weighed = DMatrix::from_fn(one.n_sets(), d, |set, j| one.coordinate(j)[set] * self.weights[j] as f32);
        let plain = DMatrix::from_fn(d, other.n_sets(), |j, set| other.coordinate(j)[set]);
        let products = weighed * plain;
        let (costs, other_costs) = (self.costs(one, vector), self.costs(other, vector));
        let mut best = (f32::INFINITY, (0, 0));
        for (b, of_other) in other_costs.iter().enumerate() {
            for (a, (of_one, product)) in costs.iter().zip(products.column(b).iter()).enumerate() {
                let cost = of_one + of_other + product;
                if cost < best.0 {
                    best = (cost, (a, b));
                }
            }
        }
        (Clicks(best.1.0 as u128), Clicks(best.1.1 as u128))
    }

    fn best_for(&self, table: &Table, vector: &[f64]) -> Clicks {
        let costs = self.costs(table, vector);
        Clicks((0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(0) as u128)
    }

    /// What each set of clicks on one list costs if it is to explain this vector, up to a constant.
    fn costs(&self, table: &Table, vector: &[f64]) -> Vec<f32> {
        let mut costs: Vec<f32> = table.ln_prior.iter().map(|ln| -ln).collect();
        for (j, (&value, &weight)) in vector.iter().zip(self.weights).enumerate() {
            let (linear, square) = ((weight * value) as f32, (weight / 2.0) as f32);
            for (cost, &x) in costs.iter_mut().zip(table.coordinate(j)) {
                *cost += x * (square * x - linear);
            }
        }
        costs
    }

    /// Each list's share of the target under the best linear estimate, rounded to a set of clicks.
    fn linear_estimate(&self) -> Vec<Clicks> {
        let d = self.target.len();
        let laws: Vec<(DVector<f64>, DMatrix<f64>)> = self.tables.iter().map(|table| moments(table, d)).collect();
        let mut total = DMatrix::from_diagonal(&DVector::from_fn(d, |j, _| 1.0 / self.weights[j]));
        let mut centred = DVector::from_column_slice(self.target);
        for (mean, covariance) in &laws {
            total += covariance;
            centred -= mean;
        }
        let Some(factor) = Cholesky::new(total) else { return vec![Clicks(0); self.tables.len()] };
        let solved = factor.solve(&centred);
        let estimate = |(table, (mean, covariance)): (&Table, &(DVector<f64>, DMatrix<f64>))| {
            self.best_for(table, (mean + covariance * &solved).as_slice())
        };
        self.tables.iter().zip(&laws).map(estimate).collect()
    }
}

fn moments(table: &Table, d: usize) -> (DVector<f64>, DMatrix<f64>) {
    let weighed = |j: usize| table.coordinate(j).iter().zip(&table.prior).map(|(&x, p)| f64::from(x) * p);
    let mean = DVector::from_fn(d, |j, _| weighed(j).sum());
    let centred = DMatrix::from_fn(table.n_sets(), d, |set, j| {
        (f64::from(table.coordinate(j)[set]) - mean[j]) * table.prior[set].sqrt()
    });
    (mean, centred.transpose() * centred)
}
