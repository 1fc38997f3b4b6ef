//! Many samples of what a server sees, side by side: the same ones for any number of threads.
//!
//! Messages go the way that they go in a run: [`LocalPrivacy::protect`], [`PartialSum::add_payload_with`], [`PartialSum::step`],
//! and the noise that a mechanism adds at the server.

use foltr_federation::{LocalPrivacy, Mechanism, PartialSum, Payload, PayloadSemantics, RoundTask};
use foltr_rank::Update;
use foltr_rank::rng::{Purpose, Stream, Streams};
use indicatif::ProgressBar;
use rayon::prelude::*;

/// Samples from one random stream. Part of the result.
const BATCH: usize = 1024;

/// Memory of a thread that draws samples.
#[derive(Debug)]
pub struct Scratch {
    /// What a client sent.
    pub payload: Payload,
    partial: PartialSum,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { payload: Payload::default(), partial: PartialSum::new(0) }
    }
}

impl Scratch {
    /// What the server makes of one message each from clients with these updates: their sum, with all noise.
    ///
    /// # Panics
    /// If a sealed sum has too few shares to be opened.
    pub fn sum<'u>(
        &mut self,
        privacy: &Mechanism,
        updates: impl Iterator<Item = &'u [f32]>,
        task: &RoundTask,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let rule = privacy.rule(PayloadSemantics::Averaging, 1.0);
        self.sum_by(&rule, privacy, updates, task, stream)
    }

    /// The same by a rule of one's own, which may open what should stay closed.
    pub fn sum_by<'u>(
        &mut self,
        rule: &PayloadSemantics,
        privacy: &Mechanism,
        updates: impl Iterator<Item = &'u [f32]>,
        task: &RoundTask,
        stream: &mut Stream,
    ) -> Vec<f64> {
        if self.partial.n_params() != task.global.len() {
            self.partial = PartialSum::new(task.global.len());
        }
        self.partial.clear();
        for delta in updates {
            privacy.protect(Update::Step { delta, n_interactions: 1 }, task, stream, &mut self.payload);
            self.partial.add_payload_with(&self.payload, rule, &[]);
        }
        let mut step = self.partial.step(rule).expect("enough clients for the sum to be opened");
        if *rule == PayloadSemantics::Averaging {
            let n_clients = f64::from(self.partial.n_contributions());
            step.iter_mut().for_each(|value| *value *= n_clients);
        }
        if let Mechanism::Gaussian(mechanism) = privacy {
            mechanism.noise_of_step(mechanism.clip().initial(), 1.0, stream, &mut step);
        }
        step
    }
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
