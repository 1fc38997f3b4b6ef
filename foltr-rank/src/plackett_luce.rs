//! Lists drawn from the Plackett-Luce law: the first document with probability e^s / sum e^s, then the same over the rest.
//!
//! Spec section 6.1, by the Gumbel trick: add independent standard Gumbel noise to every score and take the k largest.
//! Exactly the same law, no exponential of a score, hence no underflow and no clamp at any range of scores.
//!
//! `Y77` Yellott: *The Relationship between Luce's Choice Axiom, Thurstone's Theory, and the Double Exponential
//! Distribution*, Journal of Mathematical Psychology 15, 1977. The noise has 31 random bits and single precision, with
//! the digits where the largest values are: the law is exact to about 1e-6.

mod bounded;

use bytemuck::cast_slice_mut;
use rand::Rng;

pub(crate) use self::bounded::Allowed;
#[cfg(test)]
pub(crate) use self::bounded::by_definition;
pub use self::bounded::{BoundedSampler, MAX_DISPLACEMENT};
use crate::elementary::{exponential_from_uniform, ln, uniform_from_word};
use crate::query::{LANES, Ranking};
use crate::select::ScoreBuffer;
use crate::simd::two_widths;

/// Draws lists; owns the memory for it.
#[derive(Clone, Debug, Default)]
pub struct ListSampler {
    keys: ScoreBuffer,
    words: Vec<u32>,
}

impl ListSampler {
    /// Draws a list of `n_shown` documents (or all, if there are fewer) with these scores.
    ///
    /// `between` is called with 0 to 3 between the stages: a good moment to request other memory.
    #[inline]
    pub fn sample(
        &mut self,
        scores: &ScoreBuffer,
        n_shown: usize,
        stream: &mut dyn Rng,
        ranking: &mut Ranking,
        between: impl Fn(usize),
    ) {
        between(0);
        let n_docs = scores.scores().len();
        let n_padded = scores.padded().len();
        if self.words.len() < n_padded {
            self.words.resize(n_padded, 0);
        }
        stream.fill_bytes(cast_slice_mut(&mut self.words[..n_docs]));
        between(1);
        gumbel_keys(scores.padded(), &self.words[..n_padded], self.keys.reset_padded(n_docs));
        between(2);
        self.keys.select(n_shown, ranking);
        between(3);
    }
}

two_widths! {
    /// Whole blocks; the padding's negative infinity stays what it is.
    fn gumbel_keys(scores: &[f32], words: &[u32], keys: &mut [f32]) {
        // Relative to the best score, where rounding matters most.
        let best = maximum(scores);
        for ((keys, scores), words) in
            keys.chunks_exact_mut(LANES).zip(scores.chunks_exact(LANES)).zip(words.chunks_exact(LANES))
        {
            for lane in 0..LANES {
                let uniform = uniform_from_word(u32::from_le(words[lane]));
                keys[lane] = (scores[lane] - best) - ln(exponential_from_uniform(uniform));
            }
        }
    }
}

/// The largest of the scores, whole blocks at a time.
#[inline(always)]
pub(crate) fn maximum(padded: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for block in padded.chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] = larger(lanes[lane], block[lane]);
        }
    }
    let four: [f32; 4] = std::array::from_fn(|i| larger(lanes[i], lanes[i + 4]));
    larger(larger(four[0], four[1]), larger(four[2], four[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn buffer(scores: &[f32]) -> ScoreBuffer {
        let mut buffer = ScoreBuffer::default();
        buffer.reset(scores.len()).copy_from_slice(scores);
        buffer
    }

    /// Frequencies of ordered pairs (first, second) in `n` lists of two.
    fn pair_frequencies(scores: &[f32], n: u32) -> Vec<Vec<f64>> {
        let mut stream = Streams::new(11).open(Purpose::Interaction, 0, 0);
        let (mut sampler, mut ranking) = (ListSampler::default(), Ranking::default());
        let mut counts = vec![vec![0.0; scores.len()]; scores.len()];
        let buffer = buffer(scores);
        for _ in 0..n {
            sampler.sample(&buffer, 2, &mut stream, &mut ranking, |_| {});
            let docs = ranking.docs();
            counts[docs[0] as usize][docs[1] as usize] += 1.0 / f64::from(n);
        }
        counts
    }

    fn assert_plackett_luce(scores: &[f32]) {
        let n = 400_000;
        let seen = pair_frequencies(scores, n);
        let best = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(f64::from(b)));
        let weight: Vec<f64> = scores.iter().map(|&s| (f64::from(s) - best).exp()).collect();
        let total: f64 = weight.iter().sum();
        for a in 0..scores.len() {
            // The rest is summed, not subtracted: at large ranges the difference would be zero.
            let rest: f64 = (0..scores.len()).filter(|&d| d != a).map(|d| weight[d]).sum();
            for b in (0..scores.len()).filter(|&b| b != a) {
                let expected = weight[a] / total * weight[b] / rest;
                let error = 5.0 * (expected / f64::from(n)).sqrt() + 1e-9;
                assert!((seen[a][b] - expected).abs() < error, "({a}, {b}): {} not {expected}", seen[a][b]);
            }
        }
    }

    #[test]
    fn lists_follow_the_plackett_luce_law() {
        assert_plackett_luce(&[3_f32.ln(), 2_f32.ln(), 0.0]);
        assert_plackett_luce(&[0.5, 0.0, -0.5, 2.0, 1.0, -3.0, 0.1, 0.2, 0.3, 0.4]);
        // The first place is certain; the second is decided among scores 150 below, which differ by ln 2.
        assert_plackett_luce(&[0.0, -150.0, -150.0 - 2_f32.ln(), -400.0]);
        assert_plackett_luce(&[700.0, 699.0, 120.0, -500.0]);
    }

    #[test]
    fn a_constant_shift_changes_nothing() {
        let lists = |shift: f32| {
            let scores: Vec<f32> = [0.25, 1.5, -2.0, 0.75, 0.0].iter().map(|s| s + shift).collect();
            let mut stream = Streams::new(2).open(Purpose::Interaction, 0, 0);
            let (mut sampler, mut ranking) = (ListSampler::default(), Ranking::default());
            let mut lists = Vec::new();
            for _ in 0..100 {
                sampler.sample(&buffer(&scores), 3, &mut stream, &mut ranking, |_| {});
                lists.push(ranking);
            }
            lists
        };
        assert_eq!(lists(0.0), lists(64.0));
    }
}
