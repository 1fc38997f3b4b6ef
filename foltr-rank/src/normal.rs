//! Standard normal numbers in bulk, with the same bits on every machine.
//!
//! FOLtR-ES generates a perturbation on the device and again on the server from a transmitted seed, so the generator is
//! part of the protocol. The Box-Muller transform needs only a logarithm, a square root and a sine; the first and the
//! last are polynomials here, because the system's mathematical library differs between platforms and is not
//! vectorised. No crate promises both.
//!
//! `BM58` Box, Muller: *A Note on the Generation of Random Normal Deviates*, Annals of Mathematical Statistics 29,
//! 1958.

use bytemuck::cast_slice_mut;
use rand::Rng;

use crate::elementary::{horner, ln, uniform_from_word};
use crate::simd::two_widths;

const LANES: usize = 8;
/// Normals made at a time, two for each pair of 32-bit words.
const BLOCK: usize = 2 * LANES;
/// Words drawn at a time: several blocks are transformed side by side.
const WORDS: usize = 4 * BLOCK;

/// Fills `out` with independent standard normal numbers.
pub fn fill_standard_normal(stream: &mut (impl Rng + ?Sized), out: &mut [f32]) {
    let mut words = [0_u32; WORDS];
    let mut normals = [0.0; WORDS];
    for part in out.chunks_mut(WORDS) {
        let n_words = part.len().next_multiple_of(BLOCK);
        stream.fill_bytes(cast_slice_mut(&mut words[..n_words]));
        box_muller(&words[..n_words], &mut normals[..n_words]);
        part.copy_from_slice(&normals[..part.len()]);
    }
}

#[cfg(test)]
pub(crate) fn random(n: usize, number: u32) -> Vec<f32> {
    let mut values = vec![0.0; n];
    let streams = crate::rng::Streams::new(3);
    fill_standard_normal(&mut streams.open(crate::rng::Purpose::Data, number, 0), &mut values);
    values
}

two_widths! {
    /// Blocks of sixteen words to blocks of sixteen normals: radii from the first eight, angles from the others.
    fn box_muller(words: &[u32], normals: &mut [f32]) {
        for (words, normals) in words.chunks_exact(BLOCK).zip(normals.chunks_exact_mut(BLOCK)) {
            for lane in 0..LANES {
                // The stream is defined by its little-endian words. Never 0, so the logarithm is finite.
                let uniform = uniform_from_word(u32::from_le(words[lane]));
                let radius = (-2.0 * ln(uniform)).max(0.0).sqrt();
                let (sine, cosine) = sin_cos_turn(u32::from_le(words[LANES + lane]));
                normals[lane] = radius * cosine;
                normals[LANES + lane] = radius * sine;
            }
        }
    }
}

/// Sine and cosine of `word` / 2^32 of a full turn.
#[inline(always)]
fn sin_cos_turn(word: u32) -> (f32, f32) {
    // The nearest quarter turn, and the rest in [-1/2, 1/2) quarter turns.
    let quarter = word.wrapping_add(1 << 29) >> 30;
    let rest = (word.wrapping_sub(quarter << 30) as i32) as f32 * (1.0 / (1 << 30) as f32);
    let square = rest * rest;
    // Taylor series of sin and cos of (pi/2) x, enough for |x| <= 1/2.
    // The last coefficient is one unit in the last place below pi/2. The protocol fixes its bits, so it stays.
    #[allow(clippy::approx_constant)]
    let sine = rest * horner(square, [1.6044118e-4, -4.681754e-3, 7.9692626e-2, -0.645_964_1, 1.570_796_3]);
    let cosine = horner(square, [-2.5202043e-5, 9.192603e-4, -2.086348e-2, 0.253_669_5, -1.233_700_6, 1.0]);
    let swap = quarter & 1 == 1;
    let (a, b) = if swap { (cosine, sine) } else { (sine, cosine) };
    // Quarters 2 and 3 negate the sine, quarters 1 and 2 the cosine.
    let sine_sign = (quarter & 2) << 30;
    let cosine_sign = ((quarter + 1) & 2) << 30;
    (f32::from_bits(a.to_bits() ^ sine_sign), f32::from_bits(b.to_bits() ^ cosine_sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

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
