//! What does concentrated differential privacy guarantee as (epsilon, delta)?
//!
//! `BS16` Bun, Steinke: *Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds*, TCC 2016:
//! Gaussian noise of deviation sigma on a sum of l2-sensitivity C is rho-zCDP with rho = C^2 / (2 sigma^2), and the
//! rho of rounds add up (Propositions 1.6 and 1.7). `CKS20` Canonne, Kamath, Steinke: *The Discrete Gaussian for
//! Differential Privacy*, NeurIPS 2020, Corollary 13: delta(epsilon) = inf over a > 1 of
//! exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a.
//!
//! With t = a - 1 the exponent is t ((1 + t) rho - epsilon) + t ln t - (1 + t) ln(1 + t), which is convex in t.

use super::search::{boundary, largest_within};
use super::{ABOVE, renyi};

/// Orders minus 1 between which the best one is looked for, by their logarithms.
const LN_ORDERS: (f64, f64) = (-700.0, 300.0);

/// The smallest delta at this epsilon that rho-zCDP implies.
pub fn delta(rho: f64, epsilon: f64) -> f64 {
    if rho == 0.0 {
        return 0.0;
    }
    if !rho.is_finite() {
        return 1.0;
    }
    // The exponent's derivative grows with t; any t gives a bound, the best one is where it is 0.
    let slope = |t: f64| (1.0 + 2.0 * t) * rho - epsilon - (1.0 / t).ln_1p();
    let t = boundary(LN_ORDERS.0, LN_ORDERS.1, |ln_t| slope(ln_t.exp()) <= 0.0).exp();
    let exponent = t * ((1.0 + t) * rho - epsilon) - t * (1.0 / t).ln_1p() - t.ln_1p();
    (exponent.exp() * ABOVE).min(1.0)
}

/// The smallest epsilon at this delta that rho-zCDP implies; infinite at delta 0.
pub fn epsilon(rho: f64, delta: f64) -> f64 {
    if rho == 0.0 || delta >= 1.0 {
        return 0.0;
    }
    if !(delta > 0.0 && rho.is_finite()) {
        return f64::INFINITY;
    }
    // d/dt of the conversion is rho + (ln delta + ln(1 + t)) / t^2, which changes its sign once.
    let falls = |t: f64| t * t * rho <= -delta.ln() - t.ln_1p();
    let t = boundary(LN_ORDERS.0, LN_ORDERS.1, |ln_t| falls(ln_t.exp())).exp();
    renyi::at_order(t, (1.0 + t) * rho, delta)
}

/// The largest rho that stays within (epsilon, delta).
pub fn rho_for(epsilon: f64, delta: f64) -> f64 {
    largest_within(epsilon, delta, |rho| self::delta(rho, epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conversion at one order, as it is printed.
    fn at_order(a: f64, rho: f64, epsilon: f64) -> f64 {
        ((a - 1.0) * (a * rho - epsilon)).exp() / (a - 1.0) * (1.0 - 1.0 / a).powf(a)
    }

    #[test]
    fn delta_is_the_lowest_over_a_fine_grid_of_orders() {
        for (rho, epsilon) in [(0.01, 0.5), (0.1, 1.2), (0.5, 4.5), (3.0, 12.0), (3.0, 2.0)] {
            let orders = (1..4_000_000).map(|k| 1.0 + f64::from(k) * 2.5e-5);
            let lowest = orders.map(|a| at_order(a, rho, epsilon)).fold(1.0, f64::min);
            let ours = delta(rho, epsilon);
            assert!((ours / lowest - 1.0).abs() < 1e-6, "{rho}, {epsilon}: {ours}, not {lowest}");
        }
    }

    #[test]
    fn epsilon_and_rho_are_inverses_on_the_safe_side() {
        for rho in [1e-9, 1e-4, 0.05, 1.0, 40.0, 45_000.0] {
            for wanted in [1e-12, 1e-5, 0.01] {
                let needed = epsilon(rho, wanted);
                if needed == 0.0 {
                    continue;
                }
                assert!(delta(rho, needed * (1.0 + 1e-8)) <= wanted, "{rho}, {wanted}: {needed}");
                assert!(delta(rho, needed * (1.0 - 1e-6)) > wanted, "{rho}, {wanted}: {needed}");
                let back = rho_for(needed, wanted);
                assert!((back / rho - 1.0).abs() < 1e-6, "{back}, not {rho}");
                assert!(epsilon(back, wanted) <= needed * (1.0 + 1e-8));
            }
        }
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(rho_for(f64::INFINITY, 1e-5), f64::INFINITY);
        assert_eq!((epsilon(0.0, 1e-5), delta(0.0, 1.0), epsilon(1.0, 1.0)), (0.0, 0.0, 0.0));
        assert_eq!((epsilon(1.0, 0.0), epsilon(f64::INFINITY, 0.1)), (f64::INFINITY, f64::INFINITY));
        assert_eq!((rho_for(1.0, 0.0), rho_for(1.0, 1.0)), (0.0, f64::INFINITY));
        assert_eq!(delta(f64::INFINITY, 1.0), 1.0);
    }
}
