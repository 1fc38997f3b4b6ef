//! Standard normal numbers in bulk, with the same bits on every machine.
//!
//! FOLtR-ES generates a perturbation on the device and again on the server from a transmitted seed, so the generator is
//! part of the protocol. The Box-Muller transform needs only a logarithm, a square root and a sine; the first and the
//! last are polynomials here, because the system's mathematical library differs between platforms and is not
//! vectorised. No crate promises both.
//!
//! Box, Muller: *A Note on the Generation of Random Normal Deviates*, Annals of Mathematical Statistics 29, 1958.

use bytemuck::cast_slice_mut;
use rand::Rng;

use crate::rng::Stream;
use crate::simd::two_widths;

const LANES: usize = 8;
/// Normals made at a time: two for each pair of 32-bit words.
const BLOCK: usize = 2 * LANES;

/// Fills `out` with independent standard normal numbers.
pub fn fill_standard_normal(stream: &mut Stream, out: &mut [f32]) {
    let mut words = [0_u32; BLOCK];
    for block in out.chunks_mut(BLOCK) {
        stream.fill_bytes(cast_slice_mut(&mut words));
        // The stream is defined by its words, which a big-endian machine must read as a little-endian one does.
        let normals = box_muller(&words.map(u32::from_le));
        block.copy_from_slice(&normals[..block.len()]);
    }
}

two_widths! {
    fn box_muller(words: &[u32; BLOCK]) -> [f32; BLOCK] {
        let mut normals = [0.0; BLOCK];
        for lane in 0..LANES {
            // 31 bits and a half step: never 0, so the logarithm is finite; the largest normal is 6.6.
            let uniform = ((words[lane] >> 1) as i32 as f32 + 0.5) * (1.0 / (1_u64 << 31) as f32);
            let radius = (-2.0 * ln_unit(uniform)).max(0.0).sqrt();
            let (sine, cosine) = sin_cos_turn(words[LANES + lane]);
            normals[lane] = radius * cosine;
            normals[LANES + lane] = radius * sine;
        }
        normals
    }
}

/// Natural logarithm of a normal number in (0, 1], relative error below 2e-7.
#[inline(always)]
pub(crate) fn ln_unit(x: f32) -> f32 {
    // x = 2^exponent * mantissa with mantissa in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) first makes
    // the exponent field carry exactly there.
    const SQRT_HALF_BITS: u32 = 0x3F35_04F3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let exponent = (shifted as i32 >> 23) as f32;
    let mantissa = f32::from_bits((shifted & 0x007F_FFFF).wrapping_add(SQRT_HALF_BITS));
    let f = mantissa - 1.0;
    // ln(1 + f) = f - f^2/2 + f^3 p(f), p fitted on [sqrt(1/2) - 1, sqrt(2) - 1].
    let p = horner(
        f,
        [0.070376836, -0.1151461, 0.11676998, -0.12420141, 0.1424932, -0.16668057, 0.20000714, -0.24999994, 0.33333331],
    );
    let square = f * f;
    exponent * std::f32::consts::LN_2 + (f + (square * f * p - 0.5 * square))
}

/// Sine and cosine of `word` / 2^32 of a full turn.
#[inline(always)]
fn sin_cos_turn(word: u32) -> (f32, f32) {
    // The nearest quarter turn, and the rest in [-1/2, 1/2) quarter turns.
    let quarter = word.wrapping_add(1 << 29) >> 30;
    let rest = (word.wrapping_sub(quarter << 30) as i32) as f32 * (1.0 / (1 << 30) as f32);
    let square = rest * rest;
    // Taylor series of sin and cos of (pi/2) x, enough for |x| <= 1/2.
    let sine = rest * horner(square, [1.6044118e-4, -4.6817541e-3, 7.9692626e-2, -0.645_964_1, 1.570_796_3]);
    let cosine = horner(square, [-2.5202043e-5, 9.192603e-4, -2.086348e-2, 0.253_669_5, -1.233_700_6, 1.0]);
    let swap = quarter & 1 == 1;
    let (a, b) = if swap { (cosine, sine) } else { (sine, cosine) };
    // Quarters 2 and 3 negate the sine, quarters 1 and 2 the cosine.
    let sine_sign = (quarter & 2) << 30;
    let cosine_sign = ((quarter + 1) & 2) << 30;
    (f32::from_bits(a.to_bits() ^ sine_sign), f32::from_bits(b.to_bits() ^ cosine_sign))
}

/// Polynomial with the highest coefficient first.
#[inline(always)]
pub(crate) fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for &coefficient in &coefficients[1..] {
        value = value * x + coefficient;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn the_logarithm_is_accurate() {
        let mut worst: f64 = 0.0;
        for i in 1..400_000_u32 {
            let x = i as f32 / 400_000.0;
            let exact = f64::from(x).ln();
            worst = worst.max(((f64::from(ln_unit(x)) - exact) / exact).abs());
        }
        assert!(worst < 3e-7, "worst relative error {worst:e}");
        assert!((ln_unit(1e-9) - (1e-9_f32).ln()).abs() < 1e-5);
        assert_eq!(ln_unit(1.0), 0.0);
    }

    #[test]
    fn sine_and_cosine_are_accurate_all_the_way_round() {
        for i in 0..100_000_u32 {
            let word = i.wrapping_mul(42_949);
            let angle = f64::from(word) / 2_f64.powi(32) * std::f64::consts::TAU;
            let (sine, cosine) = sin_cos_turn(word);
            assert!((f64::from(sine) - angle.sin()).abs() < 3e-7, "sin at {angle}");
            assert!((f64::from(cosine) - angle.cos()).abs() < 3e-7, "cos at {angle}");
        }
    }

    #[test]
    fn moments_and_tails_are_those_of_the_normal_law() {
        let mut sample = vec![0.0; 1_000_000];
        fill_standard_normal(&mut Streams::new(1).open(Purpose::Noise, 0, 0), &mut sample);
        let n = sample.len() as f64;
        let moment = |power: i32| sample.iter().map(|&x| f64::from(x).powi(power)).sum::<f64>() / n;
        // Five standard errors of each moment.
        assert!(moment(1).abs() < 5.0 / n.sqrt());
        assert!((moment(2) - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        assert!(moment(3).abs() < 5.0 * (15.0 / n).sqrt());
        assert!((moment(4) - 3.0).abs() < 5.0 * (96.0 / n).sqrt());
        let beyond = |limit: f32| sample.iter().filter(|x| x.abs() > limit).count() as f64 / n;
        assert!((beyond(2.0) - 0.0455).abs() < 0.0011 && (beyond(4.0) - 6.33e-5).abs() < 4e-5);
    }

    #[test]
    fn a_prefix_does_not_depend_on_the_length() {
        let (mut short, mut long) = ([0.0; 5], [0.0; 40]);
        fill_standard_normal(&mut Streams::new(3).open(Purpose::Noise, 0, 0), &mut short);
        fill_standard_normal(&mut Streams::new(3).open(Purpose::Noise, 0, 0), &mut long);
        assert_eq!(short, long[..5]);
    }
}
