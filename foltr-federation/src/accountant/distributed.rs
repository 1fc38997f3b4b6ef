//! What does discrete Gaussian noise guarantee that several clients add in shares?
//!
//! `KLS21` Kairouz, Liu, Steinke: *The Distributed Discrete Gaussian Mechanism for Federated Learning with Secure
//! Aggregation*, ICML 2021, Proposition 14: a sum of n discrete Gaussians of deviation s (in grid units, at least 1/2) is
//! nearly, but not quite, one of deviation sqrt(n) s. With tau = 10 sum over k = 1 .. n - 1 of e^(-2 pi^2 s^2 k/(k + 1)),
//! x = shift/(sqrt(n) s) and d coordinates, the divergence of order a is at most the smaller one of a x^2/2 + tau d and
//! a (x + tau sqrt(d))^2/2.
//!
//! Deviation: the first bound is written as a (x^2/2 + tau d), so that both are concentrated privacy.
//!
//! Beside it stands a bound of our own, which is nearly the exact one of continuous Gaussian noise. By Poisson's
//! summation formula a Gaussian of deviation s, summed over the integers around any centre, is s sqrt(2 pi) up to a factor
//! between 1 - e(s) and 1 + e(s), where e(s) = 2 sum over m >= 1 of e^(-2 pi^2 s^2 m^2).
//!
//! * Let X be normal with variance v - s^2, and Y given X a discrete Gaussian of parameter s around X. Then Y has the law
//!   of the discrete Gaussian of variance v around 0 up to a factor of (1 + e(s))/(1 - e(s)) either way: products of
//!   Gaussians are Gaussians, and only the normalisers of Y given X and of Y differ from constants. Adding an integer
//!   to X adds it to Y. So discrete noise is made from continuous noise of variance v - s^2, up to that factor.
//! * The sum of two discrete Gaussians of deviations a and b has at y the probability of one of variance a^2 + b^2, times a
//!   sum over the integers of a Gaussian of deviation ab/sqrt(a^2 + b^2), which is a constant up to the factors above.
//!   So it is that discrete Gaussian up to a factor of (1 + e)/(1 - e) either way. n shares are n - 1 such sums; a further
//!   share does not widen the factor between two laws.
//!
//! The logarithms of these factors add up over coordinates to the `slack` of a round.

use std::f64::consts::PI;

use super::{ABOVE, PrivacyCost};

/// s of the derivation, in grid units: e(s) is 1e-19, and the variance lacks 2.25 of what is usually above 10^6.
const SMOOTHING: f64 = 1.5;

/// One round of `n_shares` discrete Gaussians of this deviation, where a client moves the sum by at most `shift`.
pub fn cost(shift: f64, deviation: f64, n_shares: u32, n_params: usize) -> PrivacyCost {
    let rho = rho(shift, deviation, n_shares, n_params);
    let variance = f64::from(n_shares) * deviation * deviation - SMOOTHING * SMOOTHING;
    let mu = if variance > 0.0 { shift / variance.sqrt() * ABOVE } else { f64::INFINITY };
    PrivacyCost::DiscreteGaussian { rho, mu, slack: slack(deviation, n_shares, n_params) }
}

/// Two noisy sums of one round, seen together.
pub fn together(one: PrivacyCost, other: PrivacyCost) -> PrivacyCost {
    match (one, other) {
        (
            PrivacyCost::DiscreteGaussian { rho, mu, slack },
            PrivacyCost::DiscreteGaussian { rho: other_rho, mu: other_mu, slack: other_slack },
        ) => PrivacyCost::DiscreteGaussian {
            rho: (rho + other_rho) * ABOVE,
            mu: mu.hypot(other_mu) * ABOVE,
            slack: (slack + other_slack) * ABOVE,
        },
        _ => PrivacyCost::Unbounded,
    }
}

/// The deviation of the whole sum, in grid units, with which [`cost`] has this mu.
pub fn deviation_for(mu: f64, shift: f64) -> f64 {
    (shift / mu).hypot(SMOOTHING) * ABOVE
}

/// The logarithm of the largest factor between the noise of a round and what is made from continuous noise.
pub fn slack(deviation: f64, n_shares: u32, n_params: usize) -> f64 {
    let ripple = |k: u32| ln_ripple(deviation * (f64::from(k) / f64::from(k + 1)).sqrt());
    // The sum begins with 0: that of nothing is -0.
    let of_sum = (1..n_shares).fold(0.0, |sum, k| sum + ripple(k));
    (of_sum + ln_ripple(SMOOTHING)) * n_params as f64 * ABOVE
}

/// ln((1 + e(s))/(1 - e(s))); infinite where Gaussians are so narrow that the sums may vanish.
fn ln_ripple(s: f64) -> f64 {
    let term = |m: u32| (-2.0 * PI * PI * s * s * f64::from(m * m)).exp();
    // For s above .3 the next term is below 1e-60.
    let e = if s > 0.3 { 2.0 * (1..=8).map(term).sum::<f64>() } else { 1.0 };
    if e < 1.0 { e.ln_1p() - (-e).ln_1p() } else { f64::INFINITY }
}

/// What the sum of `n_shares` discrete Gaussians of deviation `deviation` lacks to be one.
pub fn tau(n_shares: u32, deviation: f64) -> f64 {
    let exponent = -2.0 * PI * PI * deviation * deviation;
    let term = |k: u32| (exponent * f64::from(k) / f64::from(k + 1)).exp();
    10.0 * (1..n_shares).map(term).fold(0.0, |sum, term| sum + term) * ABOVE
}

/// rho of one round: `n_shares` honest clients add a discrete Gaussian of this deviation to each of `n_params`
/// coordinates of a sum in which one client moves the whole by at most `shift`, all in grid units.
/// Infinite where the shares are too narrow for the theorem, or there is none.
fn rho(shift: f64, deviation: f64, n_shares: u32, n_params: usize) -> f64 {
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
            let sum = sum_of_shares(deviation, n_shares);
            for a in [1.5_f64, 2.0, 4.0] {
                // Far out, both are 0 in floating point.
                let pairs = sum.iter().zip(&sum[shift..]).filter(|(p, q)| **p > 1e-60 && **q > 1e-60);
                let divergence = pairs.map(|(p, q)| p.powf(a) * q.powf(1.0 - a)).sum::<f64>().ln() / (a - 1.0);
                let bound = a * rho(shift as f64, deviation, n_shares, 1);
                assert!(divergence <= bound * (1.0 + 1e-9), "{deviation}, {n_shares}: {divergence} above {bound}");
            }
        }
    }

    fn sum_of_shares(deviation: f64, n_shares: u32) -> Vec<f64> {
        let share = discrete_gaussian(deviation, (14.0 * deviation) as i32);
        (1..n_shares).fold(share.clone(), |sum, _| convolved(&sum, &share))
    }

    #[test]
    fn a_sum_of_shares_is_one_discrete_gaussian_up_to_its_slack() {
        for (deviation, n_shares) in [(0.5, 2_u32), (0.5, 3), (0.6, 4), (0.8, 2), (1.0, 3)] {
            let sum = sum_of_shares(deviation, n_shares);
            let one = discrete_gaussian(deviation * f64::from(n_shares).sqrt(), sum.len() as i32 / 2);
            let pairs = sum.iter().zip(&one).filter(|(p, q)| **p > 1e-30 && **q > 1e-30);
            let largest = pairs.map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max);
            // Slack without that of the smoothing.
            let bound = slack(deviation, n_shares, 1) - ln_ripple(SMOOTHING);
            assert!(largest <= bound, "{deviation}, {n_shares}: {largest}, {bound}");
            // Of two shares half of it is really there; a third one smooths it.
            assert!(n_shares > 2 || largest > bound / 3.0, "{deviation}: {largest}, {bound}");
        }
        assert_eq!(slack(0.3, 2, 1), f64::INFINITY);
    }

    #[test]
    fn discrete_noise_is_made_from_continuous_noise_up_to_its_slack() {
        for (s, variance) in [(0.4_f64, 0.5_f64), (0.5, 1.0), (0.7, 1.0)] {
            let weight = |x: f64, y: f64| (-(y - x).powi(2) / (2.0 * s * s)).exp();
            let rest = variance - s * s;
            let law = discrete_gaussian(variance.sqrt(), 5);
            for (y, p) in (-5..=5).map(f64::from).zip(law) {
                let of_x = |x: f64| {
                    let total: f64 = (-12..=12).map(|k| weight(x, f64::from(k) + x.round())).sum();
                    (-x * x / (2.0 * rest)).exp() / (2.0 * PI * rest).sqrt() * weight(x, y) / total
                };
                let made: f64 = (-20_000..=20_000).map(|i| 5e-4 * of_x(5e-4 * f64::from(i))).sum();
                assert!((made / p).ln().abs() <= ln_ripple(s) + 1e-9, "{s}, {variance}, {y}: {made}, {p}");
            }
        }
    }

    /// delta at this epsilon of a sum, in as many coordinates as there are shifts.
    fn exact_delta(sum: &[f64], shifts: &[usize], epsilon: f64) -> f64 {
        let pairs = |shift: usize| -> Vec<(f64, f64)> {
            let padded = vec![0.0; shift];
            let moved = padded.iter().chain(sum);
            sum.iter().chain(&padded).zip(moved).map(|(p, q)| (*p, *q)).collect()
        };
        let join = |all: Vec<(f64, f64)>, shift: &usize| {
            let own = pairs(*shift);
            all.iter().flat_map(|a| own.iter().map(|b| (a.0 * b.0, a.1 * b.1))).collect()
        };
        let all = shifts.iter().fold(vec![(1.0, 1.0)], join);
        all.into_iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    #[test]
    fn the_bound_of_continuous_noise_is_never_below_the_exact_one_and_close_to_it() {
        for (deviation, n_shares, shifts, close) in [
            (1.0, 4_u32, vec![2_usize], 2.0),
            (2.0, 2, vec![3], 1.3),
            (6.0, 3, vec![10], 1.02),
            (2.0, 3, vec![2, 2], 1.2),
            (5.0, 3, vec![3, 7], 1.03),
            (20.0, 3, vec![30], 1.002),
        ] {
            let sum = sum_of_shares(deviation, n_shares);
            let shift = shifts.iter().map(|shift| (shift * shift) as f64).sum::<f64>().sqrt();
            let cost = cost(shift, deviation, n_shares, shifts.len());
            for delta in [1e-3, 1e-5] {
                let ours = cost.after(1, delta).epsilon;
                assert!(exact_delta(&sum, &shifts, ours) <= delta, "{deviation}, {shifts:?}: {ours}");
                assert!(
                    exact_delta(&sum, &shifts, ours / close) > delta,
                    "{deviation}, {shifts:?}: {ours} is too much"
                );
            }
        }
    }

    /// As the exact bound of continuous noise says, and not 4.86 as concentrated privacy alone does.
    #[test]
    fn two_hundred_rounds_of_shares_cost_what_continuous_noise_costs() {
        let levels = 65_536.0;
        let noise = super::super::gaussian::noise_multiplier(200, 4.5, 1e-5);
        let cost = cost(levels, noise * levels / 900_f64.sqrt(), 900, 46);
        let PrivacyCost::DiscreteGaussian { rho, .. } = cost else { panic!("discrete shares") };
        let (ours, by_zcdp) = (cost.after(200, 1e-5).epsilon, super::super::zcdp::epsilon(200.0 * rho, 1e-5));
        assert!((4.5..4.500_001).contains(&ours) && (by_zcdp - 4.86).abs() < 0.005, "{ours}, {by_zcdp}");
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
