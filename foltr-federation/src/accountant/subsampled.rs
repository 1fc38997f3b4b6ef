//! What does Gaussian noise guarantee to those who take part by a secret coin?
//!
//! `MTZ19` Mironov, Talwar, Zhang: *Rényi Differential Privacy of the Sampled Gaussian Mechanism*, arXiv:1908.10530, 2019,
//! Theorem 4 and section 3.3. Everybody takes part with probability q by a coin of their own; the noise has deviation
//! z times the sensitivity. The divergence of order a is that between (1 - q) N(0, z^2) + q N(1, z^2) and N(0, z^2).
//! It says nothing where somebody can see, or decide, who takes part.
//!
//! Deviation: instead of one series for integer and another for fractional orders, the integral itself is computed for
//! all real orders. The trapezoidal rule converges exponentially for it: the integrand is analytic up to a distance of
//! pi z^2 from the real line, which with the step below leaves an error of e^-79.

use std::f64::consts::PI;

use super::{ABOVE, renyi};

/// The integrand vanishes this many deviations beyond the centres of its two extreme parts: e^-84.
const REACH: f64 = 13.0;
/// Steps a deviation.
const FINENESS: f64 = 4.0;
/// Where |a (r - 1)| is below, r^a - 1 - a (r - 1) is summed as a series.
const SMALL: f64 = 0.02;

/// Renyi divergence of order 1 + t of one round, with probability `q` of taking part and noise of `noise_multiplier`
/// times the sensitivity.
pub fn divergence(q: f64, noise_multiplier: f64, t: f64) -> f64 {
    if q == 0.0 {
        return 0.0;
    }
    let (order, z) = (1.0 + t, noise_multiplier);
    let step = z * z.min(1.0) / FINENESS;
    let n_steps = ((order + 2.0 * REACH * z) / step).ceil();
    if !(z > 0.0 && n_steps < 1e8) {
        // Noise this small protects nobody, at any order that matters.
        return f64::INFINITY;
    }
    let ln_parts = (0..=n_steps as u64).map(|i| {
        let x = -REACH * z + step * i as f64;
        ln_excess(q, (2.0 * x - 1.0) / (2.0 * z * z), order) - x * x / (2.0 * z * z)
    });
    let ln_excess = ln_sum(ln_parts) + (step / (z * (2.0 * PI).sqrt())).ln();
    // ln(1 + e^y).
    let ln_moment = ln_excess.max(0.0) + (-ln_excess.abs()).exp().ln_1p();
    ln_moment / t * ABOVE
}

/// ln(r^a - 1 - a (r - 1)) for the ratio of densities r = 1 - q + q e^`ln_shifted`.
/// The integral of the last two terms is known: 1. Without them nothing is negative and nothing cancels.
fn ln_excess(q: f64, ln_shifted: f64, order: f64) -> f64 {
    let beyond = q * ln_shifted.exp_m1();
    if (order * beyond).abs() < SMALL {
        return series(beyond, order).ln();
    }
    // For large exponents ln r = ln q + ln_shifted up to rounding.
    let ln_ratio = if ln_shifted > 600.0 { q.ln() + ln_shifted + ABOVE.ln() } else { beyond.ln_1p() };
    let ln_power = order * ln_ratio;
    if ln_power > 600.0 { ln_power } else { (ln_power.exp_m1() - order * beyond).ln() }
}

/// Sum over k >= 2 of binomial(a, k) y^k.
fn series(y: f64, order: f64) -> f64 {
    let mut term = order * y;
    let terms = (2..=9).map(|k| {
        term *= (order - f64::from(k) + 1.0) / f64::from(k) * y;
        term
    });
    terms.sum()
}

/// ln of the sum of exponentials, in one pass.
pub(super) fn ln_sum(ln_parts: impl Iterator<Item = f64>) -> f64 {
    let mut largest = f64::NEG_INFINITY;
    let mut sum = 0.0;
    for part in ln_parts {
        if part > largest {
            sum = sum * (largest - part).exp() + 1.0;
            largest = part;
        } else if part > largest - 60.0 {
            sum += (part - largest).exp();
        }
    }
    largest + sum.ln()
}

/// The smallest epsilon of this many rounds at this delta.
pub fn epsilon(q: f64, noise_multiplier: f64, rounds: u32, delta: f64) -> f64 {
    let rounds = f64::from(rounds);
    renyi::epsilon(|t| rounds * divergence(q, noise_multiplier, t), delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed form for integer orders: sum over k of binomial(a, k) (1 - q)^(a - k) q^k e^(k (k - 1)/(2 z^2)).
    fn integer(q: f64, z: f64, a: u32) -> f64 {
        let mut ln_binomial = 0.0;
        let terms = (0..=a).map(|k| {
            if k > 0 {
                ln_binomial += (f64::from(a - k + 1) / f64::from(k)).ln();
            }
            let k = f64::from(k);
            let rest = f64::from(a) - k;
            let ln_others = if rest > 0.0 { rest * (-q).ln_1p() } else { 0.0 };
            ln_binomial + ln_others + k * q.ln() + k * (k - 1.0) / (2.0 * z * z)
        });
        ln_sum(terms.collect::<Vec<_>>().into_iter()) / f64::from(a - 1)
    }

    #[test]
    fn integer_orders_have_the_closed_form() {
        for (q, z) in [(0.01, 0.747), (0.01, 4.0), (0.3, 1.0), (0.9, 0.4), (0.001, 20.0)] {
            for a in [2, 3, 8, 40, 256] {
                let (ours, closed) = (divergence(q, z, f64::from(a - 1)), integer(q, z, a));
                // The closed form itself loses digits where the sum is nearly 1.
                let lost = 1e-13 / closed.min(1.0);
                assert!(ours >= closed * (1.0 - lost), "{q}, {z}, {a}: {ours} below {closed}");
                assert!(ours <= closed * (1.0 + 1e-6 + lost), "{q}, {z}, {a}: {ours}, not {closed}");
            }
        }
    }

    #[test]
    fn everybody_always_is_the_gaussian() {
        for z in [0.3, 1.0, 25.0] {
            for t in [1e-6, 0.01, 0.7, 1.0, 12.5, 1000.0] {
                let (ours, closed) = (divergence(1.0, z, t), (1.0 + t) / (2.0 * z * z));
                assert!(ours >= closed && ours <= closed * (1.0 + 1e-6), "{z}, {t}: {ours}, not {closed}");
            }
        }
    }

    #[test]
    fn fractional_orders_lie_between_their_neighbours_and_match_brute_force() {
        for (q, z) in [(0.01, 0.747), (0.2, 1.5)] {
            let values: Vec<f64> = (1..100).map(|i| divergence(q, z, 0.1 * f64::from(i))).collect();
            assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
            for a in [1.3_f64, 2.5, 6.7] {
                let (ours, brute) = (divergence(q, z, a - 1.0), simpson(q, z, a));
                assert!((ours / brute - 1.0).abs() < 1e-6, "{q}, {z}, {a}: {ours}, not {brute}");
            }
        }
    }

    /// ln of the integral of p^a q^(1 - a) over a - 1, by Simpson's rule.
    fn simpson(q: f64, z: f64, a: f64) -> f64 {
        let density = |x: f64| (-x * x / (2.0 * z * z)).exp() / (z * (2.0 * PI).sqrt());
        let ratio = |x: f64| 1.0 - q + q * ((2.0 * x - 1.0) / (2.0 * z * z)).exp();
        let value = |x: f64| density(x) * ratio(x).powf(a);
        let (low, n) = (-12.0 * z, 20_000);
        let h = (a + 24.0 * z) / f64::from(n);
        let weight = |i| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        let sum: f64 = (0..=n).map(|i| weight(i) * value(low + h * f64::from(i))).sum();
        (sum * h / 3.0).ln() / (a - 1.0)
    }

    #[test]
    fn a_known_run_has_the_known_epsilon() {
        // With integer orders only and the first conversion, as it was published: 5.26. Real orders do a little better.
        let lowest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let first = |t: f64, divergence: f64| 1000.0 * divergence - 1e-5_f64.ln() / t;
        let at_integers = lowest(&mut (2..60).map(|a| first(f64::from(a - 1), integer(0.01, 0.747, a))));
        assert!((at_integers - 5.26).abs() < 0.01);
        let at_reals = lowest(&mut (10..600).map(|i| 0.1 * f64::from(i)).map(|t| first(t, divergence(0.01, 0.747, t))));
        assert!((at_reals - 5.205).abs() < 1e-3, "{at_reals}");
        let improved = epsilon(0.01, 0.747, 1000, 1e-5);
        assert!((improved - 4.4827).abs() < 1e-3, "{improved}");
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(divergence(0.0, 1.0, 1.0), 0.0);
        assert_eq!(divergence(0.5, 0.0, 1.0), f64::INFINITY);
        assert!(divergence(0.5, 0.05, 400.0) > 1e4);
    }
}
