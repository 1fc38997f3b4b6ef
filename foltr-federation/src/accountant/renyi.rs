//! What does a curve of Renyi divergences guarantee as (epsilon, delta)?
//!
//! `M17` Mironov: *Rényi Differential Privacy*, CSF 2017: divergences of rounds add up at every order (Proposition 1).
//! Conversion: `CKS20` Canonne, Kamath, Steinke: *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020,
//! Proposition 12: divergence + ln(1 - 1/a) - (ln delta + ln a)/(a - 1).
//!
//! (a - 1) times the divergence is convex in the order a, so the conversion has one valley over all real a > 1.
//! Deviation: its bottom is looked for, instead of trying a list of orders; a run with a large total needs orders very
//! near 1. Orders are passed as t = a - 1, which keeps its digits there.

use super::ABOVE;
use super::search::lowest;

/// The smallest epsilon at this delta, over all orders 1 + t of the curve `divergence(t)`; infinite at delta 0.
pub fn epsilon(divergence: impl Fn(f64) -> f64, delta: f64) -> f64 {
    best(divergence, delta).1
}

/// The same with its order minus 1.
pub(super) fn best(divergence: impl Fn(f64) -> f64, delta: f64) -> (f64, f64) {
    if delta >= 1.0 {
        return (1.0, 0.0);
    }
    if delta <= 0.0 || delta.is_nan() {
        return (1.0, f64::INFINITY);
    }
    lowest(|t| at_order(t, divergence(t), delta))
}

/// The conversion at order 1 + t, on the high side; what is not a number is not bounded.
pub(super) fn at_order(t: f64, divergence: f64, delta: f64) -> f64 {
    let epsilon = divergence - (1.0 / t).ln_1p() - (delta.ln() + t.ln_1p()) / t;
    match epsilon {
        _ if epsilon.is_nan() => f64::INFINITY,
        _ if epsilon > 0.0 => epsilon * ABOVE,
        // Not `max`, which may keep the sign of a negative zero.
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::zcdp;
    use super::*;

    #[test]
    fn a_straight_curve_is_concentrated_privacy() {
        for rho in [1e-8, 1e-3, 0.2, 5.0, 300.0, 45_000.0] {
            for delta in [1e-9, 1e-5] {
                let (ours, closed) = (epsilon(|t| (1.0 + t) * rho, delta), zcdp::epsilon(rho, delta));
                assert!((ours - closed).abs() <= 2e-9 * closed, "{rho}, {delta}: {ours}, not {closed}");
            }
        }
    }

    #[test]
    fn it_is_never_above_the_first_conversion_that_was_published() {
        // `M17`, Proposition 3.
        for t in [0.01, 0.5, 3.0, 100.0] {
            assert!(at_order(t, 1.0, 1e-5) <= 1.0 - 1e-5_f64.ln() / t);
        }
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(epsilon(|_| 1.0, 0.0), f64::INFINITY);
        assert_eq!(epsilon(|_| f64::INFINITY, 1e-5), f64::INFINITY);
        assert_eq!(epsilon(|_| f64::NAN, 1e-5), f64::INFINITY);
        assert_eq!(epsilon(|_| 0.0, 1.0), 0.0);
    }
}
