//! What does Laplace noise guarantee, in one coordinate and in many?
//!
//! `M17` Mironov: *Rényi Differential Privacy*, CSF 2017, Proposition 6. For noise of scale b, a shift s = x b and order
//! a: divergence = ln(a/(2a - 1) e^((a - 1) x) + (a - 1)/(2a - 1) e^(-a x)) / (a - 1).
//!
//! Deviation: with t = a - 1 and w = t/(1 + 2t) it is computed as x + ln(1 + w (e^(-(1 + 2t) x) - 1)) / t, which neither
//! overflows at large orders nor loses digits at orders near 1.

use super::ABOVE;

/// Renyi divergence of order 1 + t between Laplace noise of this scale and the same noise shifted.
pub fn divergence(scale: f64, shift: f64, t: f64) -> f64 {
    let x = shift.abs() / scale;
    if !x.is_finite() {
        return f64::INFINITY;
    }
    let (spread, weight) = (1.0 + 2.0 * t, t / (1.0 + 2.0 * t));
    let tight = x + (weight * (-spread * x).exp_m1()).ln_1p() / t;
    // Both terms are nearly equal where x is small; x-privacy implies a x^2/2, which is then as good.
    let rounding = 4.0 * f64::EPSILON * x * (1.0 + 1.0 / t).min(8.0);
    (tight * ABOVE + rounding).min((1.0 + t) * x * x / 2.0 * ABOVE)
}

/// The same for `n_params` coordinates with noise of their own, shifted together by a vector of norm `shift`.
///
/// The shift is spread evenly. No other spread is worse: the divergence is concave in the square of a coordinate's
/// shift, since its second derivative (1 + 2t)(1 - w) z/(1 - w + w z)^2 with z = e^(-(1 + 2t) x) falls as x grows.
pub fn spread_divergence(scale: f64, shift: f64, n_params: usize, t: f64) -> f64 {
    let n = n_params as f64;
    if n_params == 0 { 0.0 } else { n * divergence(scale, shift / n.sqrt(), t) }
}

/// The pure epsilon of one round: an l2 shift that is spread evenly is `shift sqrt(n_params)` in l1.
pub fn epsilon(scale: f64, shift: f64, n_params: usize) -> f64 {
    shift.abs() * (n_params as f64).sqrt() / scale * ABOVE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln of the integral of p^a q^(1 - a) over a - 1, by Simpson's rule between the kinks.
    fn integrated(x: f64, a: f64) -> f64 {
        let value = |z: f64| 0.5 * (-a * (z - x).abs() - (1.0 - a) * z.abs()).exp();
        let pieces = [(-60.0, 0.0), (0.0, x), (x, x + 60.0)];
        let simpson = |(low, high): (f64, f64)| {
            let n = 40_000;
            let h = (high - low) / f64::from(n);
            let weight = |i| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            (0..=n).map(|i| weight(i) * value(low + h * f64::from(i))).sum::<f64>() * h / 3.0
        };
        pieces.into_iter().map(simpson).sum::<f64>().ln() / (a - 1.0)
    }

    #[test]
    fn divergences_are_those_of_the_densities() {
        for x in [0.05, 0.66, 1.5, 6.0] {
            for a in [1.01, 1.5, 2.0, 5.0, 9.0] {
                let (ours, brute) = (divergence(1.0, x, a - 1.0), integrated(x, a));
                assert!((ours / brute - 1.0).abs() < 1e-7, "{x}, {a}: {ours}, not {brute}");
                assert!(ours >= closed(x, a) && ours <= closed(x, a) * (1.0 + 1e-6), "{x}, {a}");
            }
        }
    }

    /// As it is printed.
    fn closed(x: f64, a: f64) -> f64 {
        let sum = a / (2.0 * a - 1.0) * ((a - 1.0) * x).exp() + (a - 1.0) / (2.0 * a - 1.0) * (-a * x).exp();
        sum.ln() / (a - 1.0)
    }

    #[test]
    fn an_even_spread_is_the_worst() {
        for (t, shift) in [(0.01, 3.0_f64), (1.0, 3.0), (20.0, 0.4), (3.0, 40.0)] {
            let even = spread_divergence(1.0, shift, 3, t);
            for share in [0.0, 0.2, 0.5, 1.0] {
                let of = |square: f64| divergence(1.0, shift * square.sqrt(), t);
                let uneven = of(share) + 2.0 * of((1.0 - share) / 2.0);
                assert!(uneven <= even * (1.0 + 1e-9), "{t}, {share}: {uneven} above {even}");
            }
        }
    }

    #[test]
    fn extremes_are_answered() {
        // Order 1 is the Kullback-Leibler divergence x + e^-x - 1.
        assert!((divergence(1.0, 2.0, 1e-10) / (1.0 + (-2.0_f64).exp()) - 1.0).abs() < 1e-8);
        assert!((divergence(1.0, 700.0, 1e5) / 700.0 - 1.0).abs() < 1e-6);
        assert!((divergence(1.0, 1e-9, 1.0) / 1e-18 - 1.0).abs() < 1e-6);
        assert_eq!(divergence(0.0, 1.0, 1.0), f64::INFINITY);
        assert_eq!((divergence(1.0, 0.0, 1.0), spread_divergence(1.0, 1.0, 0, 1.0)), (0.0, 0.0));
    }
}
