//! Exponential and logarithm as polynomials: vectorisable, and with the same bits on every machine.
//!
//! The system's mathematical library is neither. Relative errors are below 3e-7; the tests sweep them.

/// Polynomial with the highest coefficient first.
#[inline(always)]
pub(crate) fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for &coefficient in &coefficients[1..] {
        value = value.mul_add(x, coefficient);
    }
    value
}

/// ln(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1].
#[inline(always)]
fn ln_1p_small(f: f32) -> f32 {
    // f - f^2/2 + f^3 p(f): the leading terms are exact, so a small f keeps its relative precision.
    let p = horner(
        f,
        [0.070376836, -0.1151461, 0.11676998, -0.12420141, 0.1424932, -0.16668057, 0.20000714, -0.24999994, 0.3333333],
    );
    let square = f * f;
    (square * f).mul_add(p, -0.5 * square) + f
}

/// Splits x = 2^exponent * mantissa with the mantissa in [sqrt(1/2), sqrt(2)).
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    // Subtracting the bits of sqrt(1/2) first makes the exponent field carry exactly there.
    const SQRT_HALF_BITS: u32 = 0x3F35_04F3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let mantissa = f32::from_bits((shifted & 0x007F_FFFF).wrapping_add(SQRT_HALF_BITS));
    ((shifted as i32 >> 23) as f32, mantissa)
}

/// Natural logarithm of a positive normal number.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    let (exponent, mantissa) = split(x);
    exponent.mul_add(std::f32::consts::LN_2, ln_1p_small(mantissa - 1.0))
}

/// -ln(1 - v) for v in [2^-32, 1): an exponential variate from a uniform one, precise for the small values that win.
#[inline(always)]
pub(crate) fn exponential_from_uniform(v: f32) -> f32 {
    let (exponent, mantissa) = split(1.0 - v);
    // Near 1 the subtraction has lost the low digits of v: use v itself.
    let f = if exponent == 0.0 { -v } else { mantissa - 1.0 };
    -exponent.mul_add(std::f32::consts::LN_2, ln_1p_small(f))
}

/// A 32-bit word as a uniform number in (0, 1): 31 bits and a half step, so never 0.
#[inline(always)]
pub(crate) fn uniform_from_word(word: u32) -> f32 {
    // The largest words would round to 1, whose complement has no logarithm.
    (((word >> 1) as i32 as f32 + 0.5) * (1.0 / (1_u64 << 31) as f32)).min(1.0 - f32::EPSILON / 2.0)
}

/// e^x = 2^exponent * fraction with the fraction in [sqrt(1/2), sqrt(2)], for |x| below 2^21.
#[inline(always)]
pub(crate) fn exp_parts(x: f32) -> (i32, f32) {
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer without a special instruction.
    const ROUND: f32 = 12_582_912.0;
    let turns = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let exponent = turns - ROUND;
    // ln 2 in two parts: the first has so few digits that its product with the exponent is exact.
    let rest = exponent.mul_add(2.121_944_4e-4, exponent.mul_add(-0.693_359_4, x));
    let p = horner(rest, [1.988_065_8e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5]);
    ((turns.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), (rest * rest).mul_add(p, rest) + 1.0)
}

/// e^x for x in [-87, 88]; smaller arguments give (about) e^-87, larger ones e^88.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let (exponent, fraction) = exp_parts(x.clamp(-87.0, 88.0));
    f32::from_bits((fraction.to_bits() as i32).wrapping_add(exponent << 23) as u32)
}

/// 2^exponent * fraction as an f64: with [`exp_parts`], e^x for x in [-700, 700] with single precision digits and a
/// double precision range.
///
/// Scores of a trained ranker often spread over more than 100; in f32 their exponentials would underflow.
#[inline(always)]
pub(crate) fn scale(exponent: i32, fraction: f32) -> f64 {
    f64::from_bits((f64::from(fraction).to_bits() as i64).wrapping_add(i64::from(exponent) << 52) as u64)
}

/// e^x in double precision: 0 below -700, infinity above 700.
///
/// For scores that spread too far for [`exp_parts`]; plain products and sums, so that no machine needs a fused one.
pub(crate) fn exp_double(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    if x > 700.0 {
        return f64::INFINITY;
    }
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let exponent = (x * std::f64::consts::LOG2_E + ROUND) - ROUND;
    // ln 2 in two parts: the first has so few digits that its product with the exponent is exact.
    let rest = (x - exponent * 0.693_147_180_369_123_8) - exponent * 1.908_214_929_270_587_7e-10;
    // Taylor's series to rest^13 / 13!; |rest| is at most ln 2 / 2.
    const COEFFICIENTS: [f64; 14] = {
        let mut coefficients = [1.0; 14];
        let mut n = 1;
        while n < 14 {
            coefficients[n] = coefficients[n - 1] / n as f64;
            n += 1;
        }
        coefficients
    };
    let sum = COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| coefficient + sum * rest);
    f64::from_bits((sum.to_bits() as i64).wrapping_add((exponent as i64) << 52) as u64)
}

/// ln(1 + y) in double precision, for y from 0 to 1.
pub(crate) fn ln_1p_double(y: f64) -> f64 {
    // 2 artanh(z) = 2 (z + z^3/3 + z^5/5 + ...) with z = y / (2 + y), at most a third.
    let z = y / (2.0 + y);
    const COEFFICIENTS: [f64; 18] = {
        let mut coefficients = [1.0; 18];
        let mut n = 0;
        while n < 18 {
            coefficients[n] = 1.0 / (2 * n + 1) as f64;
            n += 1;
        }
        coefficients
    };
    let square = z * z;
    2.0 * z * COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| coefficient + sum * square)
}

/// ln x in double precision, for x of at least 1.
pub(crate) fn ln_double(x: f64) -> f64 {
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    let mantissa = f64::from_bits((x.to_bits() as i64).wrapping_sub(exponent << 52) as u64);
    exponent as f64 * std::f64::consts::LN_2 + ln_1p_double(mantissa - 1.0)
}

/// 1 / (1 + e^-x), for |x| above 60 that of 60: still nothing beside 1, but no denormal number, which would be slow.
#[inline(always)]
pub(crate) fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x.clamp(-60.0, 60.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative_error(ours: f64, exact: f64) -> f64 {
        ((ours - exact) / exact).abs()
    }

    #[test]
    fn logarithms_are_accurate() {
        for i in 1..400_000_u32 {
            let x = i as f32 / 400_000.0;
            let exact = f64::from(x).ln();
            assert!(relative_error(f64::from(ln(x)), exact) < 3e-7, "ln {x}");
            if x < 1.0 {
                let exact = -(-f64::from(x)).ln_1p();
                assert!(relative_error(f64::from(exponential_from_uniform(x)), exact) < 3e-7, "-ln(1 - {x})");
            }
        }
        assert_eq!(ln(1.0), 0.0);
        for x in [1e-30, 3e-10, 7.5, 22.0, 1e20] {
            assert!(relative_error(f64::from(ln(x)), f64::from(x).ln()) < 3e-7, "ln {x}");
        }
    }

    #[test]
    fn double_precision_is_double_precision() {
        for i in -70_000..=70_000_i32 {
            let x = f64::from(i) / 100.003;
            assert!(relative_error(exp_double(x), x.exp()) < 2e-15, "exp {x}");
            let y = f64::from(i.abs()) / 70_000.0;
            let error = (ln_1p_double(y) - y.ln_1p()).abs();
            assert!(error <= 1e-15 * y, "ln(1 + {y})");
            let large = 1.0 + f64::from(i.abs()) * 37.3;
            assert!((ln_double(large) - large.ln()).abs() <= 1e-15 * large.ln().max(1.0), "ln {large}");
        }
        assert_eq!((exp_double(-1e9), exp_double(0.0), exp_double(1e9)), (0.0, 1.0, f64::INFINITY));
        assert_eq!((ln_1p_double(0.0), ln_double(1.0)), (0.0, 0.0));
    }

    #[test]
    fn the_smallest_exponentials_keep_their_digits() {
        for v in [2_f32.powi(-32), 1e-8, 1e-5, 0.01] {
            let exact = -(-f64::from(v)).ln_1p();
            assert!(relative_error(f64::from(exponential_from_uniform(v)), exact) < 3e-7, "{v}");
        }
        assert!(exponential_from_uniform(uniform_from_word(0)) > 0.0);
        assert!(exponential_from_uniform(uniform_from_word(u32::MAX)) < 25.0);
    }

    #[test]
    fn exponentials_are_accurate_over_the_whole_range() {
        for i in -70_000..=70_000_i32 {
            let x = i as f32 / 100.0;
            // The argument itself carries half a unit in the last place, which the exponential magnifies by |x|.
            let exact = f64::from(x).exp();
            let (exponent, fraction) = exp_parts(x);
            assert!(relative_error(scale(exponent, fraction), exact) < 3e-7, "exp {x}");
            if (-87.0..=88.0).contains(&x) {
                assert!(relative_error(f64::from(exp(x)), exact) < 3e-7, "exp {x}");
            }
        }
        assert!(exp(-1e6) > 0.0 && exp(-1e6) < 1e-37 && exp(1e6) < f32::INFINITY);
        assert_eq!(logistic(0.0), 0.5);
        assert!(relative_error(f64::from(logistic(-3.0)), 1.0 / (1.0 + 3_f64.exp())) < 3e-7);
    }
}
