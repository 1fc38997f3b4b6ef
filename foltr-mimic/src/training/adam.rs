//! Adam (`KB15`), for terms in its lazy form.
//!
//! Embedding and weight of a term change only in steps whose batch has the term, and its bias correction counts those
//! steps alone. So a rare term takes first steps of the learning rate's size whenever it first occurs, where a count of
//! all steps (`SparseAdam` of PyTorch) would make them about three times as long.

use foltr_rank::simd::two_widths;
use rayon::prelude::*;

use crate::Network;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;
/// Parameters that a thread changes at a time.
const PARAMS_AT_A_TIME: usize = 8_192;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moments {
    pub first: Vec<f32>,
    pub second: Vec<f32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adam {
    pub learning_rate: f32,
    /// In the order of [`Network::parts`], without what training leaves as it is.
    pub moments: Vec<Moments>,
    /// How often each term occurred in a batch.
    pub term_steps: Vec<u32>,
}

impl Adam {
    pub fn new(network: &Network, learning_rate: f32) -> Self {
        let zero = |values: &[f32]| Moments { first: vec![0.0; values.len()], second: vec![0.0; values.len()] };
        let moments = network.parts().iter().skip(network.shape.n_fixed()).map(|values| zero(values)).collect();
        Self { learning_rate, moments, term_steps: vec![0; network.terms.weights.len()] }
    }
}

/// The learning rate and the size of a gradient after bias correction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: f32,
    scale: f32,
}

impl Pace {
    /// For the n-th step, from 1.
    pub fn at(learning_rate: f32, step: u32) -> Self {
        // Powers far below the precision of 1 are 0 long before the exponent overflows.
        let remains = |beta: f32| 1.0 - f64::from(beta).powi(step.min(1 << 20) as i32);
        let rate = f64::from(learning_rate) / remains(BETA_1);
        Self { rate: rate as f32, scale: remains(BETA_2).sqrt().recip() as f32 }
    }

    pub fn update(self, params: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32]) {
        update(params, gradient, first, second, self.rate, self.scale);
    }

    /// The same on all threads.
    pub fn update_all(self, params: &mut [f32], gradient: &[f32], moments: &mut Moments) {
        let parts = (
            params.par_chunks_mut(PARAMS_AT_A_TIME),
            gradient.par_chunks(PARAMS_AT_A_TIME),
            moments.first.par_chunks_mut(PARAMS_AT_A_TIME),
            moments.second.par_chunks_mut(PARAMS_AT_A_TIME),
        );
        parts.into_par_iter().for_each(|(params, gradient, first, second)| {
            self.update(params, gradient, first, second);
        });
    }
}

two_widths! {
    fn update(params: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32], rate: f32, scale: f32) {
        let n = params.len();
        let (gradient, first, second) = (&gradient[..n], &mut first[..n], &mut second[..n]);
        for i in 0..n {
            first[i] = BETA_1 * first[i] + (1.0 - BETA_1) * gradient[i];
            second[i] = BETA_2 * second[i] + (1.0 - BETA_2) * (gradient[i] * gradient[i]);
            params[i] -= rate * first[i] / (second[i].sqrt() * scale + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition in 64 bits.
    #[test]
    fn steps_are_those_of_the_paper() {
        let (mut param, mut m, mut v) = (vec![1.0_f32], vec![0.0], vec![0.0]);
        let (mut expected, mut first, mut second) = (1.0_f64, 0.0_f64, 0.0_f64);
        for step in 1..=50 {
            let gradient = (step as f64 * 1.7).sin();
            Pace::at(0.01, step).update(&mut param, &[gradient as f32], &mut m, &mut v);
            first = 0.9 * first + 0.1 * gradient;
            second = 0.999 * second + 0.001 * gradient * gradient;
            let (m_hat, v_hat) =
                (first / (1.0 - 0.9_f64.powi(step as i32)), second / (1.0 - 0.999_f64.powi(step as i32)));
            expected -= 0.01 * m_hat / (v_hat.sqrt() + 1e-8);
            assert!((f64::from(param[0]) - expected).abs() < 1e-5, "{} for {expected} in step {step}", param[0]);
        }
    }
}
