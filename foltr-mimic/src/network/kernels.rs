//! How often are terms like those of the query in the document?
//!
//! Kernel pooling of Xiong, Dai, Callan, Liu and Power, "End-to-End Neural Ad-hoc Ranking with Kernel Pooling", SIGIR 2017
//! (`XDCLP17`). A term t of the query meets every term u of the document, which has it c(u) times, at the cosine of their
//! embeddings. A kernel with mean m counts those that it meets near m:
//!
//! K(m) = sum over u of c(u) exp(-(cos(t, u) - m)^2 / (2 .1^2)), m = .9, .7, ..., -.9,
//!
//! and a last one counts t itself. The network gets ln(1 + K) of each, then ln(1 + K / l) of each, with the document's
//! length l as a share of the usual one. Rows of the query's terms become one as embeddings of a text do: see
//! [`super::compose`].
//!
//! Deviations: an absent term gives 0, and not the logarithm of 1e-10 in place of none; lengths, term weights and hidden
//! layers are not in that paper, and BM25 cannot be learnt without the first two; embeddings are not learnt, so that a row
//! is computed once.

use foltr_rank::simd::two_widths;

use super::Terms;
use super::vector::{LANES, dot};
use crate::Bag;

const N_SOFT: usize = 10;
const N_KERNELS: usize = N_SOFT + 1;
const FIRST_MEAN: f32 = 0.9;
const STEP: f32 = 0.2;
const DEVIATION: f32 = 0.1;

/// Inputs of a network: each kernel twice.
pub(crate) const WIDTH: usize = 2 * N_KERNELS;

/// Cosines of one term and of all terms of a document, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meeting {
    cosines: Vec<f32>,
}

impl Meeting {
    /// The inputs that each term of a query gives for a document, one row after the other.
    pub fn read_all(&mut self, terms: &Terms, asked: &[u32], document: &Bag, usual_length: usize, out: &mut [f32]) {
        for (&term, row) in asked.iter().zip(out.chunks_exact_mut(WIDTH)) {
            self.read(terms, term, document, usual_length, row);
        }
    }

    /// The inputs that a term of a query gives for a document.
    fn read(&mut self, terms: &Terms, term: u32, document: &Bag, usual_length: usize, out: &mut [f32]) {
        if document.terms.is_empty() {
            return out.fill(0.0);
        }
        let n_dimensions = terms.embeddings.len() / terms.weights.len();
        let embedding = |term: u32| &terms.embeddings[term as usize * n_dimensions..][..n_dimensions];
        let asked = embedding(term);
        self.cosines.clear();
        self.cosines.extend(document.terms.iter().map(|&other| dot(asked, embedding(other))));
        let length: f32 = document.counts.iter().sum();
        let (plain, scaled) = out.split_at_mut(N_KERNELS);
        for (kernel, frequency) in plain[..N_SOFT].iter_mut().enumerate() {
            *frequency = soft_frequency(&self.cosines, &document.counts, FIRST_MEAN - STEP * kernel as f32);
        }
        plain[N_SOFT] = document.terms.binary_search(&term).map_or(0.0, |place| document.counts[place]);
        let usual = usual_length as f32 / length;
        for (plain, scaled) in plain.iter_mut().zip(scaled) {
            *scaled = (1.0 + *plain * usual).ln();
            *plain = (1.0 + *plain).ln();
        }
    }
}

two_widths! {
    /// The sum of counts, each times how near its cosine is to a mean.
    fn soft_frequency(cosines: &[f32], counts: &[f32], mean: f32) -> f32 {
        let near = |cosine: f32| exp_below_0(-(cosine - mean) * (cosine - mean) / (2.0 * DEVIATION * DEVIATION));
        let mut sums = [0.0_f32; LANES];
        let (cosines, cosines_rest) = cosines.as_chunks::<LANES>();
        let (counts, counts_rest) = counts.as_chunks::<LANES>();
        for (cosines, counts) in cosines.iter().zip(counts) {
            for lane in 0..LANES {
                sums[lane] += counts[lane] * near(cosines[lane]);
            }
        }
        let rest: f32 = cosines_rest.iter().zip(counts_rest).map(|(&cosine, count)| count * near(cosine)).sum();
        sums.iter().sum::<f32>() + rest
    }
}

/// e^x of a number that is not above 0, to about 2e-7 of the result: many at a time, which the one of the system is not.
#[inline(always)]
fn exp_below_0(x: f32) -> f32 {
    /// Numbers near it have no fraction, and are whole numbers in their last bits.
    const WHOLE: f32 = 12_582_912.0;
    // What is below is nothing, and must not leave the range of the exponent.
    let x = x.max(-80.0);
    let shifted = x * std::f32::consts::LOG2_E + WHOLE;
    let whole = shifted - WHOLE;
    // ln 2 in two parts, the first one short, so that the difference is exact.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let power = 1.0 / 720.0;
    let power = power * rest + 1.0 / 120.0;
    let power = power * rest + 1.0 / 24.0;
    let power = power * rest + 1.0 / 6.0;
    let power = ((power * rest + 0.5) * rest + 1.0) * rest + 1.0;
    power * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_e() {
        for i in 0..80_000 {
            let x = -0.001 * i as f32;
            let (found, expected) = (f64::from(exp_below_0(x)), f64::from(x).exp());
            assert!((found / expected - 1.0).abs() < 4e-7, "e^{x}: {found}, not {expected}");
        }
        assert!(exp_below_0(-1e6) < 1e-34);
    }

    /// Terms at cosines 1, .6 and 0 of the first.
    #[test]
    fn frequencies_by_hand() {
        let terms = Terms { embeddings: vec![1.0, 0.0, 0.6, 0.8, 0.0, 1.0], weights: vec![1.0; 3] };
        let mut out = [f32::NAN; WIDTH];
        let document = Bag { terms: vec![0, 1, 2], counts: vec![2.0, 3.0, 1.0] };
        // Half as long as usual.
        Meeting::default().read(&terms, 0, &document, 12, &mut out);
        for kernel in 0..N_SOFT {
            let mean = 0.9 - 0.2 * kernel as f64;
            let near = |cosine: f64| (-(cosine - mean).powi(2) / 0.02).exp();
            let frequency = 2.0 * near(1.0) + 3.0 * near(0.6) + near(0.0);
            let expected = [(1.0 + frequency).ln(), (1.0 + 2.0 * frequency).ln()];
            let found = [out[kernel], out[N_KERNELS + kernel]].map(f64::from);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-6), "{found:?}, not {expected:?}");
        }
        assert_eq!([out[N_SOFT], out[N_KERNELS + N_SOFT]], [3.0_f32.ln(), 5.0_f32.ln()]);
        Meeting::default().read(&terms, 1, &Bag { terms: vec![0], counts: vec![4.0] }, 4, &mut out);
        assert_eq!([out[N_SOFT], out[N_KERNELS + N_SOFT]], [0.0; 2], "the term itself is not there");
        Meeting::default().read(&terms, 1, &Bag::default(), 4, &mut out);
        assert_eq!(out, [0.0; WIDTH]);
    }
}
