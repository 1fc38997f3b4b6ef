//! Many samples, side by side: the same ones for any number of threads.

use foltr_federation::Payload;
use foltr_rank::rng::{Purpose, Stream, Streams};
use indicatif::ProgressBar;
use rayon::prelude::*;

/// Samples from one random stream. Part of the result.
const BATCH: usize = 1024;

/// Memory of a thread that draws samples.
#[derive(Debug, Default)]
pub struct Scratch {
    /// What a client sent.
    pub payload: Payload,
    /// What the server adds up.
    pub sum: Vec<f64>,
}

/// The first `n` samples of the streams with this number.
pub(super) fn sample(
    n: usize,
    streams: &Streams,
    number: u32,
    bar: &ProgressBar,
    draw: impl Fn(&mut Stream, &mut Scratch) -> f64 + Sync,
) -> Vec<f64> {
    let batch = |scratch: &mut Scratch, batch: usize| -> Vec<f64> {
        let mut stream = streams.open(Purpose::Noise, batch as u32, number);
        let here = BATCH.min(n - batch * BATCH);
        bar.inc(here as u64);
        (0..here).map(|_| draw(&mut stream, scratch)).collect()
    };
    let batches: Vec<Vec<f64>> = (0..n.div_ceil(BATCH)).into_par_iter().map_init(Scratch::default, batch).collect();
    batches.concat()
}
