//! How much of a normal law lies beyond a point? Without loss of digits, however far out.

use std::f64::consts::PI;

/// From here on the continued fraction is exact to the last digit with [`N_TERMS`] terms; below, the series is.
const FAR: f64 = 1.5;
const N_TERMS: u32 = 200;

pub(super) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Probability that a standard normal variate is above `x`.
pub(super) fn upper(x: f64) -> f64 {
    if x < -FAR {
        return 1.0 - upper(-x);
    }
    if x > FAR { density(x) * fraction(x) } else { 0.5 - density(x) * series(x) }
}

/// Mills' ratio: [`upper`] over [`density`], which neither underflows above nor cancels. Overflows below -38.
pub(super) fn mills(x: f64) -> f64 {
    if x > FAR { fraction(x) } else { upper(x) / density(x) }
}

/// Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))).
fn fraction(x: f64) -> f64 {
    1.0 / (1..=N_TERMS).rev().fold(x, |below, k| x + f64::from(k) / below)
}

/// The probability between 0 and x over the density: x + x^3/3 + x^5/(3 5) + x^7/(3 5 7) + ...
fn series(x: f64) -> f64 {
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
    use super::*;

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
