//! The law of the sum of all losses, by fast Fourier transform (`KJH20`, `GLW21`), with a bound on every error.
//!
//! Laws are multiplied by e^(t loss) and normalised, convolved on a circle of N points, and multiplied back. What lies
//! outside of the window of N points wraps around: it only ever adds to what is inside. What is above the window is lost
//! and bounded by Chernoff's inequality.
//!
//! Rounding: one transform has a relative error of at most 8 log2(N) units in the last place in the l2 norm (Higham:
//! *Accuracy and Stability of Numerical Algorithms*, 2nd edition, Theorem 24.2: 7 u log2(N) for radix 2, and larger
//! radices have fewer levels). No transform of a law exceeds 1, so its n-th power has at most n times the error.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use rustfft::num_traits::pow;

use super::super::ABOVE;
use super::super::subsampled::ln_sum;
use super::law::Law;

/// Deviations of the tilted sum on either side of its mean.
const REACH: f64 = 10.0;
/// Multiples of the order at which Chernoff's inequality is tried.
const MULTIPLES: [f64; 8] = [1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];
/// Largest exponent between neighbouring points. A steeper tilt would leave nothing but the topmost point, and what is
/// below it would underflow.
const STEEPEST: f64 = 30.0;
/// Share of delta that may lie above the window.
const ABOVE_WINDOW: f64 = 1e-5;

/// A law, and how many rounds have it.
pub(super) struct Part {
    pub law: Law,
    pub n: u64,
}

pub(super) struct Composition {
    parts: Vec<Part>,
    step: f64,
    tilt: f64,
    /// ln of the mean of e^(tilt loss) of each part.
    ln_moments: Vec<f64>,
}

/// Points of the sum that are computed: `n_points` of them, a power of two, from `bottom` on.
#[derive(Clone, Copy)]
pub(super) struct Window {
    bottom: i64,
    pub n_points: usize,
    /// Probability above the window.
    above: f64,
}

impl Composition {
    /// Any tilt gives a bound; the order that is best for the Renyi bound gives one that is close.
    pub fn new(parts: Vec<Part>, step: f64, order: f64) -> Self {
        let tilt = order.min(STEEPEST / step);
        let ln_moments = parts.iter().map(|part| part.law.ln_moment(tilt * step)).collect();
        Self { parts, step, tilt, ln_moments }
    }

    fn n(&self) -> f64 {
        self.parts.iter().map(|part| part.n as f64).sum()
    }

    /// ln of the mean of e^(tilt loss) of the sum.
    fn ln_moment(&self) -> f64 {
        self.parts.iter().zip(&self.ln_moments).map(|(part, ln)| part.n as f64 * ln).sum()
    }

    /// Tilted probabilities of a part.
    fn tilted(&self, i: usize) -> impl Iterator<Item = (i64, f64)> {
        let (slope, ln_moment) = (self.tilt * self.step, self.ln_moments[i]);
        self.parts[i].law.points.iter().map(move |&(index, ln)| (index, (ln + slope * index as f64 - ln_moment).exp()))
    }

    /// Where the tilted sum lies, at least down to half of a known epsilon.
    pub fn choose_window(&self, delta: f64, epsilon: f64) -> Window {
        let (mut mean, mut variance, mut most) = (0.0, 0.0, 0.0);
        for (i, part) in self.parts.iter().enumerate() {
            let moment = |power: i32| self.tilted(i).map(|(index, p)| p * (index as f64).powi(power)).sum::<f64>();
            let own = moment(1);
            mean += part.n as f64 * own;
            variance += part.n as f64 * (moment(2) - own * own).max(0.0);
            most += part.n as f64 * part.law.points.last().map_or(0.0, |(index, _)| *index as f64);
        }
        let reach = REACH * variance.sqrt() + 2.0;
        let bottom = (mean - reach).min(0.5 * epsilon / self.step).floor();
        let mut top = (mean + reach).min(most);
        loop {
            let n_points = (top - bottom + 2.0).max(2.0) as usize;
            let n_points = n_points.next_power_of_two();
            let end = bottom + n_points as f64;
            let above = if end > most { 0.0 } else { self.chernoff(end) };
            if above <= ABOVE_WINDOW * delta || end > 1e9 {
                return Window { bottom: bottom as i64, n_points, above };
            }
            top = end + 1.0;
        }
    }

    /// The sum is at this point of the grid or above with at most this probability.
    fn chernoff(&self, point: f64) -> f64 {
        let at = |multiple: f64| {
            let slope = multiple * self.tilt * self.step;
            let ln_moment: f64 = self.parts.iter().map(|part| part.n as f64 * part.law.ln_moment(slope)).sum();
            (ln_moment - slope * point).exp() * ABOVE
        };
        MULTIPLES.map(at).into_iter().fold(1.0, f64::min)
    }

    /// The smallest epsilon at this delta within the window.
    pub fn epsilon(&self, window: Window, delta: f64) -> f64 {
        let (sum, error) = self.convolved(window.n_points);
        let at = |i: usize| sum[(window.bottom + i as i64).rem_euclid(sum.len() as i64) as usize];
        let (tilt, step) = (self.tilt, self.step);
        let (less, ln_moment) = ((-tilt * step).exp(), self.ln_moment());
        // Cauchy-Schwarz: errors of norm `error`, weighted by e^(-tilt D) at points D above, of which the least is a step.
        let error = error * less * (-(-2.0 * tilt * step).exp_m1()).recip().min(sum.len() as f64).sqrt();
        let inflation = 1.0 + 4.0 * f64::EPSILON * self.n() * (40.0 + tilt * self.largest_loss()) + (ABOVE - 1.0);
        let fixed = window.above + self.parts.iter().map(|part| part.n as f64 * part.law.beyond).sum::<f64>();
        // From the top down: `all` is the sum of e^(-tilt D) p over points D above this one, `excess` that of
        // (1 - e^-D) e^(-tilt D) p.
        let (mut all, mut excess) = (0.0, 0.0);
        let mut before: Option<(f64, f64)> = None;
        for i in (0..sum.len()).rev() {
            let loss = (window.bottom + i as i64) as f64 * step;
            excess = less * (excess * (-step).exp() - all * (-step).exp_m1());
            all = less * all + at(i).max(0.0);
            let ln_scale = ln_moment - tilt * loss;
            let own = if excess + error > 0.0 { (ln_scale + (excess + error).ln()).exp() } else { 0.0 };
            let value = (fixed + own * inflation).min(1.0);
            if value > delta || loss <= 0.0 {
                return between((loss, value), before, delta);
            }
            before = Some((loss, value));
        }
        before.map_or(f64::INFINITY, |(loss, _)| loss * ABOVE)
    }

    fn largest_loss(&self) -> f64 {
        let ends = |part: &Part| [part.law.points.first(), part.law.points.last()].map(|it| it.map_or(0, |it| it.0));
        let largest = self.parts.iter().flat_map(ends).map(i64::unsigned_abs).max().unwrap_or(0);
        largest as f64 * self.step
    }

    /// The law of the tilted sum on a circle, and the l2 norm of what it may lack.
    fn convolved(&self, n_points: usize) -> (Vec<f64>, f64) {
        let mut planner = FftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(n_points), planner.plan_fft_inverse(n_points));
        let of_transform = 8.0 * f64::EPSILON * (n_points as f64).log2();
        let mut product = vec![Complex::new(1.0, 0.0); n_points];
        let mut error = 0.0;
        for (i, part) in self.parts.iter().enumerate() {
            let mut spectrum = vec![Complex::new(0.0, 0.0); n_points];
            for (index, p) in self.tilted(i) {
                spectrum[index.rem_euclid(n_points as i64) as usize].re += p;
            }
            error += part.n as f64 * of_transform * norm(&spectrum);
            forward.process(&mut spectrum);
            let n = usize::try_from(part.n).unwrap_or(usize::MAX);
            product.iter_mut().zip(&spectrum).for_each(|(product, value)| *product *= pow(*value, n));
        }
        // A factor with its error may exceed 1.
        error *= (error * (n_points as f64).sqrt()).exp();
        inverse.process(&mut product);
        product.iter_mut().for_each(|value| *value /= n_points as f64);
        // A power of n is made by at most 2 log2(n) products, each of which adds to what doubles: 8 n units in total.
        error += (8.0 * f64::EPSILON * self.n() + 2.0 * of_transform) * norm(&product);
        (product.into_iter().map(|value| value.re).collect(), error * ABOVE)
    }
}

fn norm(values: &[Complex<f64>]) -> f64 {
    values.iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
}

/// Where delta is reached between a point at which it is exceeded and the next one, at which it is not: between points of
/// the grid it is linear in e^epsilon, and what is added to it is convex.
fn between((low, too_much): (f64, f64), above: Option<(f64, f64)>, delta: f64) -> f64 {
    if too_much <= delta {
        return low.max(0.0);
    }
    let Some((high, enough)) = above else { return f64::INFINITY };
    let share = (too_much - delta) / (too_much - enough);
    let epsilon = low + (share * (high - low).exp_m1()).ln_1p();
    (epsilon * ABOVE).clamp(0.0, high.max(0.0))
}

impl Law {
    /// ln of the mean of e^(slope index), without what is beyond.
    fn ln_moment(&self, slope: f64) -> f64 {
        ln_sum(self.points.iter().map(|&(index, ln)| ln + slope * index as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{Direction, Loss};
    use super::*;

    #[test]
    fn the_transform_stays_within_the_bound_on_its_error() {
        let law = |mu: f64| Loss::Sampled { probability: 1.0, mu }.on_grid(Direction::Removed, 0.05, 1e-12);
        let composition = Composition::new(vec![Part { law: law(0.3), n: 5 }, Part { law: law(0.7), n: 2 }], 0.05, 1.0);
        let n_points = 1 << 9;
        let (ours, error) = composition.convolved(n_points);
        let mut exact = vec![0.0; n_points];
        exact[0] = 1.0;
        for (i, n) in [(0, 5), (1, 2)] {
            for _ in 0..n {
                let mut next = vec![0.0; n_points];
                for (index, p) in composition.tilted(i) {
                    for (at, value) in exact.iter().enumerate() {
                        next[(at as i64 + index).rem_euclid(n_points as i64) as usize] += p * value;
                    }
                }
                exact = next;
            }
        }
        let norm = ours.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(norm <= error && error < 1e-11, "{norm}, {error}");
    }
}
