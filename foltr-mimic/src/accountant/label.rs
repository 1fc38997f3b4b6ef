//! How far apart are the laws of one label, if one teacher changes its vote? Exactly.
//!
//! A label is a coin: with p = (p_1, p_2) at one count and r = (r_1, r_2) at its neighbour, the Renyi divergence of
//! order 1 + t is ln(sum over j of p_j (p_j/r_j)^t)/t, and the pure epsilon is the largest |ln(p_j/r_j)|. Both hold for
//! the label alone: it reveals less than the noisy counts. Near a tie, where it reveals most, the divergence with Laplace
//! noise is about a quarter of the one that 2 gamma stands for.
//!
//! Results are on the high side by a few roundings.

use crate::aggregation::VoteNoise;

/// Below this, a probability of the far tail has lost its digits: the label is not looked at, only its counts.
const TOO_FAR: f64 = 1e-290;

/// The pairs of neighbouring laws among which the worst one counts.
#[derive(Clone, Debug)]
pub struct Worst {
    noise: VoteNoise,
    pairs: Vec<([f64; 2], [f64; 2])>,
}

impl Worst {
    /// Whatever the votes are: every count and the next one.
    pub fn at_any_count(noise: VoteNoise, n_teachers: u32) -> Self {
        let law = |n_first| noise.law(n_first, n_teachers);
        // The laws of n and n - k mirror each other, and so do their divergences.
        Self { noise, pairs: (n_teachers / 2..n_teachers).map(|n| (law(n), law(n + 1))).collect() }
    }

    /// At this count: one vote less and one vote more. Private: it depends on the votes.
    pub fn at_count(noise: VoteNoise, n_first: u32, n_teachers: u32) -> Self {
        let law = |n| noise.law(n, n_teachers);
        let neighbours = [n_first.checked_sub(1), (n_first < n_teachers).then_some(n_first + 1)];
        Self { noise, pairs: neighbours.into_iter().flatten().map(|n| (law(n_first), law(n))).collect() }
    }

    pub fn epsilon(&self) -> f64 {
        self.largest(|p, r| {
            let ratios = [0, 1].map(|class| (p[class] / r[class]).ln().abs());
            ratios[0].max(ratios[1]) + 4.0 * f64::EPSILON
        })
        .min(match self.noise {
            VoteNoise::Laplace { gamma } => 2.0 * gamma,
            VoteNoise::None | VoteNoise::Gaussian { .. } => f64::INFINITY,
        })
    }

    /// Renyi divergence of order 1 + t of one label, in the worse direction.
    pub fn divergence(&self, t: f64) -> f64 {
        self.largest(|p, r| renyi_divergence(p, r, t).max(renyi_divergence(r, p, t))).min(self.of_counts(t))
    }

    /// That of the noisy counts, which the label is made of. Laplace: (2 gamma)-private; Gaussian: a shift by 1.
    fn of_counts(&self, t: f64) -> f64 {
        match self.noise {
            VoteNoise::None => f64::INFINITY,
            VoteNoise::Laplace { gamma } => foltr_federation::accountant::pure::divergence(2.0 * gamma, t),
            VoteNoise::Gaussian { sigma } => (1.0 + t) / (2.0 * sigma * sigma) * (1.0 + 1e-9),
        }
    }

    /// The largest value over the pairs; infinite where a probability is too small for it.
    fn largest(&self, of: impl Fn([f64; 2], [f64; 2]) -> f64) -> f64 {
        let value = |&(p, r): &([f64; 2], [f64; 2])| {
            if p.iter().chain(&r).all(|&probability| probability > TOO_FAR) { of(p, r) } else { f64::INFINITY }
        };
        self.pairs.iter().map(value).fold(0.0, f64::max)
    }
}

/// ln(sum of p (p/r)^t)/t, as the logarithm of 1 + sum of p ((p/r)^t - 1): a small one keeps its digits.
fn renyi_divergence(p: [f64; 2], r: [f64; 2], t: f64) -> f64 {
    let ln_ratios = [0, 1].map(|class| (p[class] / r[class]).ln());
    let terms = [0, 1].map(|class| p[class] * (t * ln_ratios[class]).exp_m1());
    // At the largest orders the sum overflows, and the divergence is nearly its limit.
    if terms[0].max(terms[1]) == f64::INFINITY {
        return ln_ratios[0].max(ln_ratios[1]);
    }
    let rounding = 8.0 * f64::EPSILON * (terms[0].abs() + terms[1].abs() + t);
    (terms[0] + terms[1] + rounding).ln_1p() / t
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAPLACE: VoteNoise = VoteNoise::Laplace { gamma: 0.05 };

    #[test]
    fn divergences_are_those_by_the_book() {
        let (p, r) = ([0.7, 0.3], [0.6_f64, 0.4_f64]);
        for a in [1.5_f64, 2.0, 8.0] {
            let sum = 0.7_f64.powf(a) * r[0].powf(1.0 - a) + 0.3_f64.powf(a) * r[1].powf(1.0 - a);
            let ours = renyi_divergence(p, r, a - 1.0);
            assert!((ours / (sum.ln() / (a - 1.0)) - 1.0).abs() < 1e-12, "{a}: {ours}");
        }
        // Order 1 is the Kullback-Leibler divergence, the largest order the pure epsilon.
        let kl = 0.7 * (0.7_f64 / 0.6).ln() + 0.3 * (0.3_f64 / 0.4).ln();
        assert!((renyi_divergence(p, r, 1e-7) / kl - 1.0).abs() < 1e-6);
        assert!((renyi_divergence(p, r, 1e5) / (0.7_f64 / 0.6).ln() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn one_label_of_three_teachers_is_a_coin_with_known_sides() {
        // Flip probabilities .4875051 (2 to 1) and .4626305 (3 to 0).
        let worst = Worst::at_any_count(LAPLACE, 3);
        assert!((worst.epsilon() - (0.487_505_08_f64 / 0.462_630_54).ln()).abs() < 1e-7);
        assert!(worst.epsilon() < 0.0525, "half of 2 gamma");
    }

    #[test]
    fn the_worse_direction_counts() {
        // Flip probabilities .0622338 (3 to 0) and .2759096 (2 to 1): the limit is the logarithm of their ratio, not
        // that of .9377662/.7240904.
        let worst = Worst::at_count(VoteNoise::Laplace { gamma: 1.0 }, 3, 3);
        let limit = (0.275_909_58_f64 / 0.062_233_84).ln();
        assert!((worst.divergence(1e5) - limit).abs() < 1e-4 && (worst.epsilon() - limit).abs() < 1e-7);
    }

    #[test]
    fn no_count_is_worse_than_the_worst_one() {
        for noise in [LAPLACE, VoteNoise::Laplace { gamma: 1.0 }, VoteNoise::Gaussian { sigma: 3.0 }] {
            for n_teachers in [1, 2, 3, 10, 51] {
                let any = Worst::at_any_count(noise, n_teachers);
                for t in [1e-3, 0.5, 7.0, 300.0] {
                    let one = |n| Worst::at_count(noise, n, n_teachers).divergence(t);
                    let worst = (0..=n_teachers).map(one).fold(0.0, f64::max);
                    assert!((worst / any.divergence(t) - 1.0).abs() < 1e-9, "{noise:?} {n_teachers} {t}");
                }
            }
        }
    }

    #[test]
    fn labels_tell_no_more_than_counts() {
        for (noise, bound) in [
            (LAPLACE, 0.1_f64 * 0.1 / 2.0),
            (VoteNoise::Laplace { gamma: 0.3 }, 0.6 * 0.6 / 2.0),
            (VoteNoise::Gaussian { sigma: 20.0 }, 1.0 / 800.0),
        ] {
            let worst = Worst::at_any_count(noise, 250);
            for t in [0.01, 1.0, 10.0] {
                assert!(worst.divergence(t) <= (1.0 + t) * bound * (1.0 + 1e-8), "{noise:?} {t}");
            }
        }
        // Near a tie p is 1/2 and moves by 2 gamma/4: (gamma/2)^2/(2 p (1 - p)) = gamma^2/2 at order 1, a quarter of
        // (2 gamma)^2/2.
        let ratio = Worst::at_any_count(LAPLACE, 250).divergence(1e-6) / (0.05 * 0.05 / 2.0);
        assert!((0.9..1.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(Worst::at_any_count(VoteNoise::None, 5).epsilon(), f64::INFINITY);
        assert_eq!(Worst::at_any_count(VoteNoise::None, 5).divergence(1.0), f64::INFINITY);
        // So little noise that far tails vanish: the counts still bound it.
        let worst = Worst::at_any_count(VoteNoise::Gaussian { sigma: 0.5 }, 250);
        assert!((worst.divergence(1.0) / 4.0 - 1.0).abs() < 1e-8);
        assert_eq!(worst.epsilon(), f64::INFINITY);
        assert_eq!(Worst::at_any_count(VoteNoise::Laplace { gamma: 40.0 }, 250).epsilon(), 80.0);
    }
}
