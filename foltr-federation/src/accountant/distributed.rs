//! What does discrete Gaussian noise guarantee that several clients add in shares?
//!
//! `KLS21` Kairouz, Liu, Steinke: *The Distributed Discrete Gaussian Mechanism for Federated Learning with Secure
//! Aggregation*, ICML 2021, Proposition 14: a sum of n discrete Gaussians of deviation s (in grid units, at least 1/2) is
//! nearly, but not quite, one of deviation sqrt(n) s. With tau = 10 sum over k = 1 .. n - 1 of e^(-2 pi^2 s^2 k/(k + 1)),
//! x = shift/(sqrt(n) s) and d coordinates, the divergence of order a is at most the smaller one of a x^2/2 + tau d and
//! a (x + tau sqrt(d))^2/2.
//!
//! Deviation: the first bound is written as a (x^2/2 + tau d), so that both are concentrated privacy.

use std::f64::consts::PI;

use super::ABOVE;

/// What the sum of `n_shares` discrete Gaussians of deviation `deviation` lacks to be one.
pub fn tau(n_shares: u32, deviation: f64) -> f64 {
    let exponent = -2.0 * PI * PI * deviation * deviation;
    let term = |k: u32| (exponent * f64::from(k) / f64::from(k + 1)).exp();
    10.0 * (1..n_shares).map(term).sum::<f64>() * ABOVE
}

/// rho of one round: `n_shares` honest clients add a discrete Gaussian of this deviation to each of `n_params`
/// coordinates of a sum in which one client moves the whole by at most `shift`, all in grid units.
/// Infinite where the shares are too narrow for the theorem, or there is none.
pub fn rho(shift: f64, deviation: f64, n_shares: u32, n_params: usize) -> f64 {
    if !(deviation >= 0.5 && n_shares > 0) {
        return f64::INFINITY;
    }
    let (x, tau, d) = (shift / (f64::from(n_shares).sqrt() * deviation), tau(n_shares, deviation), n_params as f64);
    (x * x / 2.0 + tau * d).min((x + tau * d.sqrt()).powi(2) / 2.0) * ABOVE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probabilities of a discrete Gaussian on -reach ..= reach.
    fn discrete_gaussian(deviation: f64, reach: i32) -> Vec<f64> {
        let weights: Vec<f64> =
            (-reach..=reach).map(|k| (-f64::from(k * k) / (2.0 * deviation * deviation)).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / total).collect()
    }

    fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                sum[i + j] += x * y;
            }
        }
        sum
    }

    #[test]
    fn sums_of_shares_stay_within_the_bound() {
        for (deviation, n_shares, shift) in [(0.5, 2_u32, 1_usize), (0.6, 3, 2), (0.8, 4, 1), (1.0, 3, 3), (2.0, 2, 2)]
        {
            let share = discrete_gaussian(deviation, (14.0 * deviation) as i32);
            let sum = (1..n_shares).fold(share.clone(), |sum, _| convolved(&sum, &share));
            for a in [1.5_f64, 2.0, 4.0] {
                // Far out, both are 0 in floating point.
                let pairs = sum.iter().zip(&sum[shift..]).filter(|(p, q)| **p > 1e-60 && **q > 1e-60);
                let divergence = pairs.map(|(p, q)| p.powf(a) * q.powf(1.0 - a)).sum::<f64>().ln() / (a - 1.0);
                let bound = a * rho(shift as f64, deviation, n_shares, 1);
                assert!(divergence <= bound * (1.0 + 1e-9), "{deviation}, {n_shares}: {divergence} above {bound}");
            }
        }
    }

    #[test]
    fn wide_shares_cost_what_one_gaussian_costs() {
        // e^(-pi^2 9) is 2.7e-39.
        let exact = 100.0_f64.powi(2) / (2.0 * 9.0 * 50.0);
        let ours = rho(100.0, 3.0, 50, 1000);
        assert!(ours >= exact && ours <= exact * (1.0 + 1e-6), "{ours}, not {exact}");
        assert_eq!(tau(1, 1.0), 0.0);
        let by_hand = 10.0 * ((-PI * PI * 0.5_f64).exp() + (-PI * PI * 2.0 / 3.0).exp());
        assert!((tau(3, std::f64::consts::FRAC_1_SQRT_2) / by_hand - 1.0).abs() < 1e-8);
    }

    #[test]
    fn shares_too_narrow_guarantee_nothing() {
        assert_eq!(rho(1.0, 0.4, 10, 1), f64::INFINITY);
        assert_eq!(rho(1.0, 2.0, 0, 1), f64::INFINITY);
    }
}
