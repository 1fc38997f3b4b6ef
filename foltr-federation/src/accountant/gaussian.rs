//! What does Gaussian noise guarantee, exactly? And how much of a normal law lies beyond a point, without loss of digits.
//!
//! `BW18` Balle, Wang: *Improving the Gaussian Mechanism for Differential Privacy*, ICML 2018, Theorem 8. With mu =
//! sqrt(K) C / sigma for K rounds of l2-sensitivity C and noise of deviation sigma:
//! delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2). Many rounds are one round with a larger
//! mu: Dong, Roth, Su, `DRS22` *Gaussian Differential Privacy*, JRSS B 84(1), 2022, Corollary 3.3.
//!
//! Deviation: e^epsilon never appears. With a = epsilon/mu - mu/2, b = a + mu, density phi and Mills' ratio R it is
//! e^epsilon phi(b) = phi(a), so delta = phi(a) (R(a) - R(b)).

use std::f64::consts::PI;

use super::ABOVE;
use super::search::{boundary, largest_within};

/// Where two Mills' ratios would cancel, their difference is integrated instead.
const NARROW: f64 = 0.1;
/// Gauss-Legendre points and weights on [-1, 1].
pub(super) const POINTS: [(f64, f64); 4] = [
    (-0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
    (-0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
];

/// The smallest delta at this epsilon.
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return 0.0;
    }
    let (a, b) = (epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0);
    let exact = if mu < NARROW {
        density(a) * decline(a, b)
    } else if a < 0.0 {
        upper(a) - density(a) * mills(b)
    } else {
        density(a) * (mills(a) - mills(b))
    };
    (exact * ABOVE).min(1.0)
}

/// R(a) - R(b) as the integral of -R'(x) = 1 - x R(x).
fn decline(a: f64, b: f64) -> f64 {
    let (middle, half) = ((a + b) / 2.0, (b - a) / 2.0);
    let slope = |x: f64| 1.0 - x * mills(x);
    half * POINTS.iter().map(|(point, weight)| weight * slope(middle + half * point)).sum::<f64>()
}

/// The smallest epsilon at this delta; infinite at delta 0.
pub fn epsilon(mu: f64, delta: f64) -> f64 {
    if mu == 0.0 || delta >= self::delta(mu, 0.0) {
        return 0.0;
    }
    if !(delta > 0.0 && mu.is_finite()) {
        return f64::INFINITY;
    }
    // The tail above a is below e^(-a^2/2), so that this is enough.
    let enough = mu * (mu / 2.0 + (-2.0 * delta.ln()).sqrt());
    boundary(enough * ABOVE, 0.0, |epsilon| self::delta(mu, epsilon) <= delta)
}

/// The largest mu that stays within (epsilon, delta).
pub fn mu_for(epsilon: f64, delta: f64) -> f64 {
    largest_within(epsilon, delta, |mu| self::delta(mu, epsilon))
}

/// Deviation of the noise over the sensitivity, so that this many rounds stay within (epsilon, delta).
pub fn noise_multiplier(rounds: u32, epsilon: f64, delta: f64) -> f64 {
    f64::from(rounds).sqrt() / mu_for(epsilon, delta)
}

/// From here on the continued fraction is exact to the last digit with [`N_TERMS`] terms; below, the series is.
const FAR: f64 = 1.5;
const N_TERMS: u32 = 200;

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Probability that a standard normal variate is above `x`.
pub(super) fn upper(x: f64) -> f64 {
    if x < -FAR {
        return 1.0 - upper(-x);
    }
    if x > FAR { density(x) * fraction(x) } else { 0.5 - density(x) * tail_series(x) }
}

/// Mills' ratio: [`upper`] over [`density`], which neither underflows above nor cancels. Overflows below -38.
fn mills(x: f64) -> f64 {
    if x > FAR { fraction(x) } else { upper(x) / density(x) }
}

/// Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))).
fn fraction(x: f64) -> f64 {
    1.0 / (1..=N_TERMS).rev().fold(x, |below, k| x + f64::from(k) / below)
}

/// The probability between 0 and x over the density: x + x^3/3 + x^5/(3 5) + x^7/(3 5 7) + ...
fn tail_series(x: f64) -> f64 {
    let mut term = x;
    let next = |k: u32| {
        term *= x * x / f64::from(2 * k + 1);
        term
    };
    // The last term is below 1e-20 of the first.
    x + (1..=24).map(next).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::zcdp;
    use super::*;

    fn by_zcdp(rounds: u32, epsilon: f64, delta: f64) -> f64 {
        (f64::from(rounds) / (2.0 * zcdp::rho_for(epsilon, delta))).sqrt()
    }

    #[test]
    fn noise_multipliers_are_the_known_ones() {
        for (rounds, epsilon, delta, ours, theirs) in [
            (1, 2.0, 1e-6, 2.23, 2.38),
            (100, 2.0, 1e-6, 22.3, 23.8),
            (1, 8.0, 1e-6, 0.65, 0.69),
            (100, 8.0, 1e-6, 6.53, 6.89),
            (200, 1.2, 1e-5, 44.7, 48.4),
            (200, 4.5, 1e-5, 13.8, 14.8),
            (50, 1.2, 1e-5, 22.4, 24.2),
            (50, 4.5, 1e-5, 6.9, 7.4),
        ] {
            for (name, value, known) in [
                ("exact", noise_multiplier(rounds, epsilon, delta), ours),
                ("zCDP", by_zcdp(rounds, epsilon, delta), theirs),
            ] {
                // As many digits as are known.
                let last = if known >= 10.0 || known == 6.9 || known == 7.4 { 0.1 } else { 0.01 };
                assert!((value - known).abs() <= 0.5001 * last, "{name} {rounds} {epsilon}: {value}, not {known}");
            }
        }
    }

    const REFERENCE: [(f64, f64, f64); 16] = [
        (1e-5, 1e-5, 8.331_588_716_541_962e-7),
        (0.001, 0.0, 0.000_398_942_263_778_838_3),
        (0.001, 0.004, 7.159_562_434_938_247e-9),
        (0.05, 0.2, 3.947_243_281_789_342_3e-7),
        (0.0999, 0.01, 0.035_213_126_517_502_136),
        (0.1, 0.01, 0.035_252_970_759_279_495),
        (0.1, 0.5, 6.856_582_455_838_737e-9),
        (0.5, 2.0, 9.439_168_634_947_234e-6),
        (1.0, 1.0, 0.126_936_737_506_643_94),
        (1.0, 20.0, 2.664_706_705_365_497_7e-86),
        (3.0, 0.5, 0.829_995_809_947_690_3),
        (5.0, 40.0, 8.823_257_920_004_711e-9),
        (20.0, 100.0, 0.999_999_614_668_556_5),
        (20.0, 300.0, 2.272_774_882_319_489_4e-7),
        (300.0, 44000.0, 0.999_565_741_032_623_9),
        (300.0, 46000.0, 0.000_423_975_952_202_464_4),
    ];

    // References: the same formula with 60 digits by arbitrary-precision arithmetic.
    #[test]
    fn delta_is_exact_and_never_below() {
        for (mu, epsilon, reference) in REFERENCE {
            let ours = delta(mu, epsilon);
            assert!(ours >= reference && ours <= reference * (1.0 + 1e-6), "{mu}, {epsilon}: {ours}, not {reference}");
        }
    }

    #[test]
    fn inverses_are_on_the_safe_side_and_close() {
        for mu in [1e-4, 0.03, 0.5, 2.0, 9.0, 300.0] {
            for wanted in [1e-12, 1e-6, 1e-5, 0.01] {
                let needed = epsilon(mu, wanted);
                if needed == 0.0 {
                    assert!(delta(mu, 0.0) <= wanted);
                    continue;
                }
                assert!(delta(mu, needed) <= wanted, "{mu}, {wanted}");
                assert!(delta(mu, needed * (1.0 - 1e-7)) > wanted, "{mu}, {wanted}");
                let back = mu_for(needed, wanted);
                assert!((back / mu - 1.0).abs() < 1e-7, "{back}, not {mu}");
                assert!(delta(back, needed) <= wanted);
            }
        }
    }

    #[test]
    fn zcdp_is_never_below() {
        for mu in [0.01, 0.1, 1.0, 3.0, 20.0, 300.0] {
            for wanted in [1e-9, 1e-5, 1e-3] {
                let (exact, bound) = (epsilon(mu, wanted), zcdp::epsilon(mu * mu / 2.0, wanted));
                assert!(exact <= bound, "{mu}, {wanted}: {exact} above {bound}");
                assert!(delta(mu, bound) <= zcdp::delta(mu * mu / 2.0, bound));
            }
        }
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(mu_for(f64::INFINITY, 1e-5), f64::INFINITY);
        assert_eq!(epsilon(0.0, 1e-5), 0.0);
        assert_eq!(epsilon(1.0, 0.0), f64::INFINITY);
        assert_eq!(epsilon(1.0, 1.0), 0.0);
        assert_eq!(epsilon(f64::INFINITY, 1e-5), f64::INFINITY);
        assert_eq!(delta(0.0, 1.0), 0.0);
        assert_eq!(mu_for(1.0, 1.0), f64::INFINITY);
        assert_eq!(mu_for(1.0, 0.0), 0.0);
        assert_eq!(noise_multiplier(1, 1.0, 0.0), f64::INFINITY);
    }

    fn assert_near(ours: f64, reference: f64) {
        assert!((ours / reference - 1.0).abs() < 4e-15, "{ours} instead of {reference}");
    }

    // References: 30 digits by arbitrary-precision arithmetic.
    #[test]
    fn tails_keep_their_digits() {
        assert_near(upper(-1.0), 0.841_344_746_068_542_9);
        assert_near(upper(10.0), 7.619_853_024_160_526e-24);
        assert_near(mills(-2.0), 18.100_247_711_126_15);
        assert_near(mills(0.0), 1.253_314_137_315_5);
        assert_near(mills(1.49), 0.518_087_255_114_562);
        assert_near(mills(1.51), 0.513_561_661_609_849_7);
        assert_near(mills(40.0), 0.024_984_404_205_720_57);
        assert_near(mills(1e6), 9.999_999_999_99e-7);
    }
}
