//! What does a curve of Renyi divergences guarantee as (epsilon, delta)?
//!
//! `M17` Mironov: *Rényi Differential Privacy*, CSF 2017: divergences of rounds add up at every order (Proposition 1)
//! and give (divergence + ln(1/delta)/(a - 1), delta) (Proposition 3), here [`Conversion::Classic`].
//! [`Conversion::Improved`]: `CKS20` Canonne, Kamath, Steinke: *The Discrete Gaussian for Differential Privacy*, NeurIPS
//! 2020, Proposition 12: divergence + ln(1 - 1/a) - (ln delta + ln a)/(a - 1).
//!
//! (a - 1) times the divergence is convex in the order a, so both conversions have one valley over all real a > 1.
//! Deviation: its bottom is looked for, instead of trying a list of orders; a run with a large total needs orders very
//! near 1. Orders are passed as t = a - 1, which keeps its digits there.

use super::ABOVE;
use super::search::lowest;

/// How a divergence becomes an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// The first one that was published.
    Classic,
    /// Never larger where delta is at most 1/2.
    Improved,
}

/// The smallest epsilon at this delta, over all orders 1 + t of the curve `divergence(t)`; infinite at delta 0.
pub fn epsilon(divergence: impl Fn(f64) -> f64, delta: f64, conversion: Conversion) -> f64 {
    if delta >= 1.0 {
        return 0.0;
    }
    if delta <= 0.0 || delta.is_nan() {
        return f64::INFINITY;
    }
    lowest(|t| match conversion {
        Conversion::Classic => classic(t, divergence(t), delta),
        Conversion::Improved => improved(t, divergence(t), delta),
    })
}

/// The classic conversion at order 1 + t.
pub fn classic(t: f64, divergence: f64, delta: f64) -> f64 {
    above_zero(divergence - delta.ln() / t)
}

/// The improved conversion at order 1 + t.
pub fn improved(t: f64, divergence: f64, delta: f64) -> f64 {
    above_zero(divergence - (1.0 / t).ln_1p() - (delta.ln() + t.ln_1p()) / t)
}

/// On the high side; what is not a number is not bounded.
fn above_zero(epsilon: f64) -> f64 {
    if epsilon.is_nan() { f64::INFINITY } else { (epsilon * ABOVE).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::super::zcdp;
    use super::*;

    #[test]
    fn a_straight_curve_is_concentrated_privacy() {
        for rho in [1e-8, 1e-3, 0.2, 5.0, 300.0, 45_000.0] {
            for delta in [1e-9, 1e-5] {
                let (ours, closed) =
                    (epsilon(|t| (1.0 + t) * rho, delta, Conversion::Improved), zcdp::epsilon(rho, delta));
                assert!((ours - closed).abs() <= 2e-9 * closed, "{rho}, {delta}: {ours}, not {closed}");
                // Classic: the best order is 1 + sqrt(ln(1/delta)/rho), in closed form.
                let closed = rho + 2.0 * (-rho * delta.ln()).sqrt();
                let ours = epsilon(|t| (1.0 + t) * rho, delta, Conversion::Classic);
                assert!(ours >= closed && ours <= closed * (1.0 + 1e-8), "{rho}, {delta}: {ours}, not {closed}");
            }
        }
    }

    #[test]
    fn the_improved_conversion_is_never_above_the_classic_one() {
        for t in [0.01, 0.5, 3.0, 100.0] {
            assert!(improved(t, 1.0, 1e-5) <= classic(t, 1.0, 1e-5));
        }
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(epsilon(|_| 1.0, 0.0, Conversion::Improved), f64::INFINITY);
        assert_eq!(epsilon(|_| f64::INFINITY, 1e-5, Conversion::Improved), f64::INFINITY);
        assert_eq!(epsilon(|_| f64::NAN, 1e-5, Conversion::Classic), f64::INFINITY);
        assert_eq!(epsilon(|_| 0.0, 1.0, Conversion::Improved), 0.0);
    }
}
