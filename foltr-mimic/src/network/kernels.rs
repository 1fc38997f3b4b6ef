//! How often are terms like those of the query in the document?
//!
//! Kernel pooling of Xiong, Dai, Callan, Liu and Power, "End-to-End Neural Ad-hoc Ranking with Kernel Pooling", SIGIR 2017
//! (`XDCLP17`). A term t of the query meets every term u of the document, which has it c(u) times, at the cosine of their
//! embeddings. A kernel with mean m counts those that it meets near m:
//!
//! K(m) = sum over u of c(u) exp(-(cos(t, u) - m)^2 / (2 .1^2)), m = .9, .7, ..., -.9,
//!
//! and a last one counts t itself. The network gets ln(1 + K) / 4 of each, then ln(1 + K / l) / 4, with the document's
//! length l as a share of the usual one. Rows of the query's terms become one as embeddings of a text do: see
//! [`super::compose`].
//!
//! Deviations: an absent term gives 0, and not the logarithm of 1e-10 in place of none; lengths, term weights and hidden
//! layers are not in that paper, and BM25 cannot be learnt without the first two; embeddings are not learnt, so that a row
//! is computed once.

use foltr_rank::simd::two_widths;

use super::Terms;
use super::vector::{dot, weighted_sum};
use crate::Bag;

const N_SOFT: usize = 10;
const N_KERNELS: usize = N_SOFT + 1;
const FIRST_MEAN: f32 = 0.9;
const STEP: f32 = 0.2;
const DEVIATION: f32 = 0.1;
/// Makes inputs of long documents about 1, so that the tanh begins where it is not flat.
const SCALE: f32 = 0.25;

/// Inputs of a network: each kernel twice.
pub(crate) const WIDTH: usize = 2 * N_KERNELS;

/// No term of a document has this place.
const UNKNOWN: u32 = u32::MAX;

/// How near the terms of documents are to those of a query, in memory that is used again. It belongs to one network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meeting {
    /// Terms of the query.
    asked: Vec<u32>,
    /// A row for each term of documents so far, by the query's terms and then by soft kernels.
    near: Vec<f32>,
    /// The row of each term of the vocabulary, and terms that have one.
    places: Vec<u32>,
    met: Vec<u32>,
    /// Of one document: the rows of its terms, and their sum.
    rows: Vec<u32>,
    frequencies: Vec<f32>,
}

impl Meeting {
    /// The inputs that each term of a query gives for a document, one row after the other.
    ///
    /// Documents of one query share most of their terms: it is fast to read them one after the other.
    pub fn read(&mut self, terms: &Terms, asked: &[u32], document: &Bag, usual_length: usize, out: &mut [f32]) {
        if self.asked != asked {
            self.begin(asked, terms.weights.len());
        }
        self.rows.clear();
        for &term in &document.terms {
            if self.places[term as usize] == UNKNOWN {
                self.meet(terms, term);
            }
            self.rows.push(self.places[term as usize]);
        }
        weighted_sum(&mut self.frequencies, &self.near, &self.rows, &document.counts);
        let length: f32 = document.counts.iter().sum();
        let usual = if length > 0.0 { usual_length as f32 / length } else { 1.0 };
        let frequencies = asked.iter().zip(self.frequencies.chunks_exact(N_SOFT));
        for ((term, soft), out) in frequencies.zip(out.chunks_exact_mut(WIDTH)) {
            let exact = document.terms.binary_search(term).map_or(0.0, |place| document.counts[place]);
            let (plain, scaled) = out.split_at_mut(N_KERNELS);
            for ((frequency, plain), scaled) in soft.iter().chain([&exact]).zip(plain).zip(scaled) {
                *plain = SCALE * (1.0 + frequency).ln();
                *scaled = SCALE * (1.0 + frequency * usual).ln();
            }
        }
    }

    /// Forgets all about another query.
    fn begin(&mut self, asked: &[u32], n_terms: usize) {
        self.places.resize(n_terms, UNKNOWN);
        for term in self.met.drain(..) {
            self.places[term as usize] = UNKNOWN;
        }
        self.near.clear();
        self.asked.clear();
        self.asked.extend(asked);
        self.frequencies.resize(asked.len() * N_SOFT, 0.0);
    }

    fn meet(&mut self, terms: &Terms, term: u32) {
        let n_dimensions = terms.embeddings.len() / terms.weights.len();
        let embedding = |term: u32| &terms.embeddings[term as usize * n_dimensions..][..n_dimensions];
        let start = self.near.len();
        for &asked in &self.asked {
            let cosine = dot(embedding(asked), embedding(term));
            let distances = (0..N_SOFT).map(|kernel| cosine - (FIRST_MEAN - STEP * kernel as f32));
            self.near.extend(distances.map(|distance| -distance * distance / (2.0 * DEVIATION * DEVIATION)));
        }
        exp_all(&mut self.near[start..]);
        self.places[term as usize] = self.met.len() as u32;
        self.met.push(term);
    }
}

two_widths! {
    fn exp_all(values: &mut [f32]) {
        for value in values {
            *value = exp_below_0(*value);
        }
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
        let mut meeting = Meeting::default();
        let mut out = [f32::NAN; 2 * WIDTH];
        let document = Bag { terms: vec![0, 1, 2], counts: vec![2.0, 3.0, 1.0] };
        // Half as long as usual. Each again after another query.
        for asked in [[0, 2], [2, 1], [0, 2]] {
            meeting.read(&terms, &asked, &document, 12, &mut out);
            for (term, out) in asked.into_iter().zip(out.chunks_exact(WIDTH)) {
                let cosines = [[1.0, 0.6, 0.0], [0.6, 1.0, 0.8], [0.0, 0.8, 1.0]][term as usize];
                let count = |mean: f64| -> f64 {
                    let near = |(count, cosine): (f64, f64)| count * (-(cosine - mean).powi(2) / 0.02).exp();
                    [2.0, 3.0, 1.0].into_iter().zip(cosines).map(near).sum()
                };
                let soft = (0..N_SOFT).map(|kernel| count(0.9 - 0.2 * kernel as f64));
                for (kernel, frequency) in soft.chain([[2.0, 3.0, 1.0][term as usize]]).enumerate() {
                    let expected = [(1.0 + frequency).ln() / 4.0, (1.0 + 2.0 * frequency).ln() / 4.0];
                    let found = [out[kernel], out[N_KERNELS + kernel]].map(f64::from);
                    let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-6);
                    assert!(is_near, "{found:?}, not {expected:?}");
                }
            }
        }
        let out = &mut out[..WIDTH];
        meeting.read(&terms, &[1], &Bag { terms: vec![0], counts: vec![4.0] }, 4, out);
        assert_eq!([out[N_SOFT], out[N_KERNELS + N_SOFT]], [0.0; 2], "the term itself is not there");
        meeting.read(&terms, &[1], &Bag::default(), 4, out);
        assert_eq!(out, [0.0; WIDTH]);
    }
}
