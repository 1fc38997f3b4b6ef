//! What did noisy votes give away? As a guarantee, and as a private figure that is none.
//!
//! One training query is in one part, so replacing it changes one teacher, whose vote on every question may flip. A
//! label is one of two documents, so all it reveals is its law: n teachers have n + 1 possible counts. The guarantee
//! holds whichever neighbouring counts each label has (`adversary`); the Renyi divergences of the worst ones
//! ([`label`]), added up, bound it from above. Those at the counts that were seen are smaller, but themselves depend on
//! private votes: they are no guarantee, and showing them costs privacy that nobody has accounted for (`PAEGT17` would
//! smooth them).
//!
//! The original accountant ([`moments`]) stands beside it; it bounds a label by 2 gamma and looks at eight moments.

mod adversary;
pub mod label;
mod losses;
pub mod moments;

use foltr_federation::accountant::renyi;
use foltr_federation::accountant::{gaussian, pure};

use crate::aggregation::{VoteNoise, Votes};
use label::Worst;

/// A number that depends on private votes without protection: for the data owner's eyes. It is not a guarantee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Private(f64);

impl Private {
    /// The number, for whoever may see the votes themselves.
    pub fn for_the_data_owner(self) -> f64 {
        self.0
    }
}

/// The privacy that labels cost, by several theorems. Neighbours: one training query is replaced by another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// The guarantee: epsilon whatever the votes were. Infinite without noise.
    pub data_independent: f64,
    pub data_dependent_private: Private,
    /// By the accountant of `PAEGT17`, which knows Laplace noise only.
    pub original: Option<Original>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Original {
    pub data_independent: f64,
    pub data_dependent_private: Private,
}

pub fn spent(votes: &Votes, delta: f64) -> Spent {
    let n_labels = votes.n_labels();
    let original = match votes.noise {
        VoteNoise::Laplace { gamma } => Some(original(votes, gamma, delta)),
        VoteNoise::None | VoteNoise::Gaussian { .. } => None,
    };
    let data_independent = data_independent(votes.noise, votes.n_teachers, n_labels, delta);
    let counts = votes.histogram();
    let at_votes: Vec<(Worst, u64)> = (0..)
        .zip(counts)
        .filter(|(_, n)| *n > 0)
        .map(|(n_first, n)| (Worst::at_count(votes.noise, n_first, votes.n_teachers), n))
        .collect();
    let data_dependent = best_epsilon(&at_votes, delta).min(data_independent);
    Spent { data_independent, data_dependent_private: Private(data_dependent), original }
}

/// The epsilon of this many labels at this delta, whatever the votes are; infinite without noise.
pub fn data_independent(noise: VoteNoise, n_teachers: u32, n_labels: usize, delta: f64) -> f64 {
    let bound = by_divergences(noise, n_teachers, n_labels, delta);
    if delta <= 0.0 || !(bound > 0.0 && bound.is_finite()) {
        return bound;
    }
    let reach = |n: usize, delta: f64| by_divergences(noise, n_teachers, n, delta);
    adversary::epsilon(noise, n_teachers, n_labels, delta, reach).min(bound)
}

/// An upper bound of that: Renyi divergences of the worst counts at each order, added up.
fn by_divergences(noise: VoteNoise, n_teachers: u32, n_labels: usize, delta: f64) -> f64 {
    let n = u32::try_from(n_labels).unwrap_or(u32::MAX);
    // Labels cost no more than the noisy counts that they are made of.
    let by_counts = match noise {
        _ if n_labels == 0 => return 0.0,
        VoteNoise::None => return f64::INFINITY,
        VoteNoise::Laplace { gamma } => pure::composed(2.0 * gamma, n, delta),
        VoteNoise::Gaussian { sigma } => gaussian::epsilon((n_labels as f64).sqrt() / sigma, delta),
    };
    best_epsilon(&[(Worst::at_any_count(noise, n_teachers), n_labels as u64)], delta).min(by_counts)
}

/// The least size of noise that keeps labels below epsilon, whatever the votes are; up to a ten-thousandth too large.
pub fn least_noise(
    noise: impl Fn(f64) -> VoteNoise,
    n_teachers: u32,
    n_labels: usize,
    delta: f64,
    epsilon: f64,
) -> f64 {
    let (mut too_little, mut enough) = (1e-3, 1e6);
    // Up to a millionth: closer, roundings would decide.
    for _ in 0..24 {
        let middle = f64::sqrt(too_little * enough);
        if by_divergences(noise(middle), n_teachers, n_labels, delta) <= epsilon {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    // The bound needs a little more noise than the epsilon itself does.
    let size = |n_less: u32| enough * (1.0 - f64::from(n_less) / PARTS);
    let excess = |n_less| (data_independent(noise(size(n_less)), n_teachers, n_labels, delta) / epsilon).ln();
    size(most_without_excess(excess))
}

/// Parts of the noise that are taken away one by one. Noise is found among these alone, so that it does not depend on the
/// last digits of a machine's logarithms.
const PARTS: f64 = 16_384.0;

/// The most steps at which a growing function, nearly a straight line, is not above 0.
fn most_without_excess(excess: impl Fn(u32) -> f64) -> u32 {
    let mut within = (0, excess(0));
    let mut above = (PARTS as u32 / 8, excess(PARTS as u32 / 8));
    while above.1 <= 0.0 && above.0 < PARTS as u32 / 2 {
        within = above;
        above = (2 * above.0, excess(2 * above.0));
    }
    while above.0 - within.0 > 1 {
        let share = within.1 / (within.1 - above.1);
        let root = within.0 + (f64::from(above.0 - within.0) * share) as u32;
        let width = above.0 - within.0;
        for guess in [root, root + 1, within.0.midpoint(above.0)] {
            let is_wide = 4 * (above.0 - within.0) > width;
            if is_wide && guess > within.0 && guess < above.0 {
                let at_guess = excess(guess);
                *if at_guess <= 0.0 { &mut within } else { &mut above } = (guess, at_guess);
            }
        }
    }
    within.0
}

/// The smaller one of adding up epsilons and adding up divergences.
fn best_epsilon(labels: &[(Worst, u64)], delta: f64) -> f64 {
    let sum = |of: &dyn Fn(&Worst) -> f64| labels.iter().map(|(worst, n)| *n as f64 * of(worst)).sum::<f64>();
    let by_renyi = renyi::epsilon(|t| sum(&|worst| worst.divergence(t)), delta);
    by_renyi.min(sum(&Worst::epsilon))
}

fn original(votes: &Votes, gamma: f64, delta: f64) -> Original {
    let n_teachers = votes.n_teachers;
    let groups = (0..).zip(votes.histogram()).map(|(n_first, n)| ([n_first, n_teachers - n_first], n));
    let (dependent, _) = moments::epsilon(groups, gamma, delta);
    Original {
        data_independent: moments::data_independent_epsilon(votes.n_labels() as u64, gamma, delta),
        data_dependent_private: Private(dependent),
    }
}

#[cfg(test)]
mod tests;
