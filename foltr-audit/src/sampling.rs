//! Many samples of what a server sees, side by side: the same ones for any number of threads.
//!
//! Messages go the way that they go in a run: `LocalPrivacy::protect`, [`PartialSum::add_payload_with`],
//! [`PartialSum::step`], and the noise that a mechanism adds at the server.

use foltr_federation::{Mechanism, PartialSum, Payload, PayloadSemantics, RoundTask};
use foltr_rank::Update;
use foltr_rank::rng::{Purpose, Stream, Streams};
use indicatif::ProgressBar;
use rayon::prelude::*;

/// Samples from one random stream. Part of the result.
const BATCH: usize = 1024;

/// Memory of a thread that draws samples.
pub(super) struct Scratch {
    payload: Payload,
    partial: PartialSum,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { payload: Payload::default(), partial: PartialSum::new(0) }
    }
}

/// One round of a mechanism: a task, and how the server reads the messages.
pub(super) struct Round {
    pub(super) privacy: Mechanism,
    pub(super) rule: PayloadSemantics,
    pub(super) task: RoundTask,
}

impl Round {
    pub(super) fn new(privacy: Mechanism, n_clients: u32, d: usize, n_interactions: u32) -> Self {
        let rule = privacy.rule(PayloadSemantics::Averaging, 1.0);
        Self {
            privacy,
            rule,
            task: RoundTask { round: 0, global: vec![0.0; d], n_clients, n_interactions, clip_norm: None },
        }
    }

    /// The message about an update, if it is not sealed.
    pub(super) fn message<'s>(&self, delta: &[f32], stream: &mut Stream, scratch: &'s mut Scratch) -> &'s [f32] {
        self.protect(delta, stream, scratch);
        let Payload::Step { delta, .. } = &scratch.payload else { unreachable!("it is not sealed") };
        delta
    }

    fn protect(&self, delta: &[f32], stream: &mut Stream, scratch: &mut Scratch) {
        let update = Update::Step { delta, n_interactions: 1 };
        self.privacy.protect(update, &self.task, stream, &mut scratch.payload);
    }

    /// The reward sent about outcomes.
    pub(super) fn reward(&self, outcomes: &[u16], stream: &mut Stream, scratch: &mut Scratch) -> f32 {
        let update = Update::Evolution { seed: 0, plus: outcomes, minus: &[] };
        self.privacy.protect(update, &self.task, stream, &mut scratch.payload);
        let Payload::Evolution { plus, .. } = scratch.payload else { unreachable!("outcomes stay outcomes") };
        plus
    }

    /// What the server makes of messages about a client's update and zeros from all others: their sum, with all noise.
    pub(super) fn sum_with(&self, update: &[f32], stream: &mut Stream, scratch: &mut Scratch) -> Vec<f64> {
        let others = (1..self.task.n_clients).map(|_| self.task.global.as_slice());
        self.sum(std::iter::once(update).chain(others), stream, scratch)
    }

    pub(super) fn sum<'u>(
        &self,
        updates: impl Iterator<Item = &'u [f32]>,
        stream: &mut Stream,
        scratch: &mut Scratch,
    ) -> Vec<f64> {
        if scratch.partial.n_params() != self.task.global.len() {
            scratch.partial = PartialSum::new(self.task.global.len());
        }
        scratch.partial.clear();
        for delta in updates {
            self.protect(delta, stream, scratch);
            scratch.partial.add_payload_with(&scratch.payload, &self.rule, &[]);
        }
        let mut step = scratch.partial.step(&self.rule).expect("enough clients for the sum to be opened");
        if self.rule == PayloadSemantics::Averaging {
            let n_clients = f64::from(scratch.partial.n_contributions());
            step.iter_mut().for_each(|value| *value *= n_clients);
        }
        if let Mechanism::Gaussian(mechanism) = &self.privacy {
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
