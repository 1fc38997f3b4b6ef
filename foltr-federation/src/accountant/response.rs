//! What does randomised response among n outcomes guarantee, once and many times?
//!
//! `W65` Warner: *Randomized Response*, JASA 60, 1965, for n outcomes as in `KO19`: the truth with probability p, each
//! other outcome with q = (1 - p)/(n - 1). Between two truths the ratio of probabilities is p/q, q/p, or 1 for all other
//! answers, so that epsilon = ln(p/q) and the divergence of order a is ln(p^a q^(1-a) + q^a p^(1-a) + (n-2) q)/(a-1)
//! (definition in `M17`). Among many outcomes the answer is mostly one that tells nothing: many answers cost far less
//! than those of a coin with the same epsilon.

use super::ABOVE;

/// q, the probability of each outcome that is not the truth.
pub(super) fn other(probability: f64, n_outcomes: u32) -> f64 {
    (1.0 - probability) / (f64::from(n_outcomes) - 1.0)
}

/// ln(p/q): the pure epsilon of one answer.
pub fn epsilon(probability: f64, n_outcomes: u32) -> f64 {
    (probability / other(probability, n_outcomes)).ln().max(0.0) * ABOVE
}

/// The probability of the truth with which an answer costs `epsilon`: the inverse of [`epsilon`].
pub fn probability_of(epsilon: f64, n_outcomes: u32) -> f64 {
    1.0 / (1.0 + (f64::from(n_outcomes) - 1.0) * (-epsilon).exp())
}

/// Renyi divergence of order 1 + t of one answer.
pub fn divergence(probability: f64, n_outcomes: u32, t: f64) -> f64 {
    let (p, q, n) = (probability, other(probability, n_outcomes), f64::from(n_outcomes));
    let epsilon = (p / q).ln();
    let x = t * epsilon;
    if !x.is_finite() {
        return f64::INFINITY;
    }
    let ln_moment = if x < 300.0 {
        // p (e^x - 1) + q (e^-x - 1) without a difference.
        ((p - q) * x.exp_m1() + 4.0 * q * (x / 2.0).sinh().powi(2)).ln_1p()
    } else {
        x + (p + (n - 2.0) * q * (-x).exp() + q * (-2.0 * x).exp()).ln()
    };
    // p - q has lost digits where they are nearly equal.
    let rounding = 4.0 * f64::EPSILON * epsilon;
    (ln_moment / t * ABOVE + rounding).min(epsilon * ABOVE)
}

#[cfg(test)]
mod tests {
    use super::super::{pure, renyi};
    use super::*;

    /// As it is printed.
    fn closed(p: f64, n: u32, a: f64) -> f64 {
        let q = (1.0 - p) / f64::from(n - 1);
        let sum = p.powf(a) * q.powf(1.0 - a) + q.powf(a) * p.powf(1.0 - a) + f64::from(n - 2) * q;
        sum.ln() / (a - 1.0)
    }

    #[test]
    fn divergences_are_those_of_the_answers() {
        for (p, n) in [(0.25, 11), (0.5, 11), (0.9, 2), (0.01, 1024), (0.999_999, 4)] {
            for a in [1.1, 1.5, 2.0, 7.0, 30.0] {
                let (ours, exact) = (divergence(p, n, a - 1.0), closed(p, n, a));
                assert!(
                    ours >= exact * (1.0 - 1e-12) && ours <= exact * (1.0 + 1e-6),
                    "{p}, {n}, {a}: {ours}, {exact}"
                );
            }
            assert!((divergence(p, n, 1e5) / epsilon(p, n) - 1.0).abs() < 1e-4);
        }
        // Among two outcomes it is the coin that is the worst of its epsilon.
        for t in [1e-6, 0.3, 4.0] {
            let (ours, coin) = (divergence(0.8, 2, t), pure::divergence(4.0_f64.ln(), t));
            assert!((ours / coin - 1.0).abs() < 1e-6, "{t}: {ours}, {coin}");
        }
    }

    #[test]
    fn two_hundred_answers_cost_far_less_than_those_of_a_coin() {
        for (p, ours, coin) in [(0.25, 84.8, 190.5), (0.5, 294.0, 447.0)] {
            let by_response = renyi::epsilon(|t| 200.0 * divergence(p, 11, t), 1e-5);
            let by_coin = pure::composed(epsilon(p, 11), 200, 1e-5);
            assert!((by_response / ours - 1.0).abs() < 0.002, "{p}: {by_response}, not {ours}");
            assert!((by_coin / coin - 1.0).abs() < 0.002, "{p}: {by_coin}, not {coin}");
        }
    }

    #[test]
    fn the_probability_is_that_of_its_epsilon() {
        // ln(.9 * 10/.1) = ln 90.
        assert!((probability_of(90.0_f64.ln(), 11) - 0.9).abs() < 1e-12);
        assert_eq!((epsilon(1.0, 11), divergence(1.0, 11, 1.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!((epsilon(0.25, 4), divergence(0.25, 4, 1.0)), (0.0, 0.0));
        assert!(probability_of(800.0, 11) == 1.0);
    }
}
