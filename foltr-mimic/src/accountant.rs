//! What did noisy votes give away? As a guarantee, and as a private figure that is none.
//!
//! One training query is in one part, so replacing it changes one teacher, whose vote on every question may flip. A
//! label is one of two documents, so all it reveals is its law: n teachers have n + 1 possible counts, and divergences
//! of the laws of neighbouring counts are computed exactly ([`label`]) and added up. The largest one over all counts
//! holds for any data: that is the guarantee. The largest one at the counts that were seen is smaller, but itself
//! depends on private votes: it is no guarantee, and showing it costs privacy that nobody has accounted for (`PAEGT17`
//! would smooth it).
//!
//! The original accountant ([`moments`]) stands beside it; it bounds a label by 2 gamma and looks at eight moments.

pub mod label;
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

/// The least size of noise that keeps labels below epsilon, whatever the votes are.
pub fn least_noise(
    noise: impl Fn(f64) -> VoteNoise,
    n_teachers: u32,
    n_labels: usize,
    delta: f64,
    epsilon: f64,
) -> f64 {
    let (mut too_little, mut enough) = (1e-3, 1e6);
    for _ in 0..60 {
        let middle = f64::sqrt(too_little * enough);
        if data_independent(noise(middle), n_teachers, n_labels, delta) <= epsilon {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    enough
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
