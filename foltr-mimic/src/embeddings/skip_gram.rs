//! Which vectors do a collection's own texts give? Skip-gram with negative sampling, on one thread.
//!
//! `MSC13` Mikolov, Sutskever, Chen, Corrado, Dean: *Distributed Representations of Words and Phrases and their
//! Compositionality*, NIPS 2013. `JSV16` Ji, Satish, Li, Dubey: *Parallelizing Word2Vec in Shared and Distributed
//! Memory*, 2016: all words around one word share its negative samples, so that a step works on a few rows that stay in
//! the nearest cache.

use foltr_rank::rng::Stream;
use pulp::Arch;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Rows are padded to a multiple of this, and sums have as many parts, so that any width of vector unit adds alike.
const LANES: usize = 16;

/// How vectors are trained.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SkipGram {
    /// Terms on each side that count as around a term, at most.
    pub window: usize,
    /// Random terms that are distinguished from each term.
    pub n_negatives: usize,
    /// How often all texts are read. When absent, until eight million terms are read: 5 to 100 times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_epochs: Option<usize>,
    /// The first step size; it falls to nothing in a straight line.
    pub learning_rate: f32,
    /// Terms with a larger share of all terms are skipped now and then.
    pub frequent: f64,
}

impl Default for SkipGram {
    fn default() -> Self {
        Self { window: 5, n_negatives: 5, n_epochs: None, learning_rate: 0.05, frequent: 1e-4 }
    }
}

/// All vectors begin near zero and move in one common direction first. Of fewer terms they do not come apart: after five
/// epochs on the 1,400 abstracts of Cranfield two random ones had a cosine of .79 on average.
const TERMS_READ: usize = 8_000_000;

impl SkipGram {
    fn n_epochs(&self, n_terms_of_texts: usize) -> usize {
        self.n_epochs.unwrap_or_else(|| TERMS_READ.div_ceil(n_terms_of_texts.max(1)).clamp(5, 100))
    }
}

pub fn train(
    texts: &[Vec<u32>],
    n_terms: usize,
    n_dimensions: usize,
    settings: &SkipGram,
    stream: &mut Stream,
) -> Vec<f32> {
    let counts = Counts::of(texts, n_terms);
    let mut model = Model::new(n_terms, n_dimensions, stream);
    let n_epochs = settings.n_epochs(counts.total);
    let n_steps = counts.total as f32 * n_epochs as f32;
    let (mut n_done, arch) = (0_usize, Arch::new());
    for _ in 0..n_epochs {
        for text in texts {
            let rate = settings.learning_rate * (1.0 - n_done as f32 / n_steps).max(1e-4);
            n_done += text.len();
            let sampled: Vec<u32> = text.iter().copied().filter(|&term| counts.keeps(term, settings, stream)).collect();
            for position in 0..sampled.len() {
                model.choose(&sampled, position, &counts, settings, stream);
                arch.dispatch(|| model.step(rate));
            }
        }
    }
    model.unpadded(n_dimensions)
}

struct Counts {
    each: Vec<u32>,
    total: usize,
    /// Sums of the counts to the power of 3/4, by which negative samples are drawn.
    cumulative: Vec<f64>,
}

impl Counts {
    fn of(texts: &[Vec<u32>], n_terms: usize) -> Self {
        let mut each = vec![0; n_terms];
        texts.iter().flatten().for_each(|&term| each[term as usize] += 1);
        let mut sum = 0.0;
        let add = |&count: &u32| {
            sum += f64::from(count).powf(0.75);
            sum
        };
        let cumulative = each.iter().map(add).collect();
        Self { total: texts.iter().map(Vec::len).sum(), cumulative, each }
    }

    /// Frequent terms stay with probability sqrt(limit / share) + limit / share, as word2vec does.
    fn keeps(&self, term: u32, settings: &SkipGram, stream: &mut Stream) -> bool {
        let ratio = settings.frequent * self.total as f64 / f64::from(self.each[term as usize]);
        let probability = ratio.sqrt() + ratio;
        probability >= 1.0 || stream.random::<f64>() < probability
    }

    fn draw(&self, stream: &mut Stream) -> u32 {
        let sum = self.cumulative.last().copied().unwrap_or_default();
        let drawn = stream.random::<f64>() * sum;
        self.cumulative.partition_point(|&until| until <= drawn).min(self.each.len() - 1) as u32
    }
}

/// Vectors of terms as what is around, and as what is in the middle.
struct Model {
    n_padded: usize,
    around: Vec<f32>,
    middle: Vec<f32>,
    /// Terms around the one in the middle.
    inputs: Vec<u32>,
    /// The one in the middle, and negative samples.
    outputs: Vec<u32>,
    /// What an input learns from all outputs.
    change: Vec<f32>,
}

impl Model {
    fn new(n_terms: usize, n_dimensions: usize, stream: &mut Stream) -> Self {
        let n_padded = n_dimensions.div_ceil(LANES) * LANES;
        let mut around = vec![0.0; n_terms * n_padded];
        let bound = 0.5 / n_dimensions as f32;
        for row in around.chunks_exact_mut(n_padded) {
            row[..n_dimensions].fill_with(|| stream.random_range(-bound..bound));
        }
        let middle = vec![0.0; around.len()];
        Self { n_padded, around, middle, inputs: Vec::new(), outputs: Vec::new(), change: Vec::new() }
    }

    /// Chooses what the next step is about: a window of random width, and negative samples.
    fn choose(&mut self, text: &[u32], position: usize, counts: &Counts, settings: &SkipGram, stream: &mut Stream) {
        let width = stream.random_range(1..=settings.window.max(1));
        let (from, to) = (position.saturating_sub(width), (position + width + 1).min(text.len()));
        self.inputs.clear();
        self.inputs.extend(text[from..position].iter().chain(&text[position + 1..to]));
        self.outputs.clear();
        self.outputs.push(text[position]);
        for _ in 0..settings.n_negatives {
            let drawn = counts.draw(stream);
            if drawn != text[position] {
                self.outputs.push(drawn);
            }
        }
    }

    /// A step up the logarithm of the likelihood that the middle is the middle and the samples are not, for each input.
    #[inline(always)]
    fn step(&mut self, rate: f32) {
        let Self { n_padded, around, middle, inputs, outputs, change } = self;
        let n_padded = *n_padded;
        let start = |term: u32| term as usize * n_padded;
        for &input in inputs.iter() {
            let input_row = &mut around[start(input)..][..n_padded];
            change.clear();
            change.resize(n_padded, 0.0);
            for (output_idx, &output) in outputs.iter().enumerate() {
                let output_row = &mut middle[start(output)..][..n_padded];
                let likelihood = 1.0 / (1.0 + (-dot(input_row, output_row)).exp());
                let truth = if output_idx == 0 { 1.0 } else { 0.0 };
                let slope = rate * (truth - likelihood);
                for ((change, output), &input) in change.iter_mut().zip(output_row).zip(input_row.iter()) {
                    *change += slope * *output;
                    *output += slope * input;
                }
            }
            for (input, &change) in input_row.iter_mut().zip(change.iter()) {
                *input += change;
            }
        }
    }

    fn unpadded(&self, n_dimensions: usize) -> Vec<f32> {
        self.around.chunks_exact(self.n_padded).flat_map(|row| &row[..n_dimensions]).copied().collect()
    }
}

/// A sum in a fixed order: lanes first, then halves of them.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
