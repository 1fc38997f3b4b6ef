//! Many samples of what a server sees, side by side: the same ones for any number of threads.
//!
//! Messages go the way that they go in a run: `LocalPrivacy::protect`, `Coordinator::receive_partial` and
//! `Coordinator::close`, which adds the noise of the sum.

use foltr_federation::privacy::NoiseShares;
use foltr_federation::{CHUNK, Coordinator, Mechanism, PartialSum, Payload, PayloadSemantics, RoundTask, Setup};
use foltr_rank::Update;
use foltr_rank::rng::{Purpose, Stream, Streams};
use indicatif::ProgressBar;
use rayon::prelude::*;

/// Samples from one random stream. Part of the result.
const BATCH: usize = 1024;

/// Memory of a thread that draws samples.
#[derive(Default)]
pub(super) struct Scratch {
    payload: Payload,
}

/// One round of a mechanism: a task, and how the server reads the messages.
pub(super) struct Round {
    pub(super) privacy: Mechanism,
    /// What the server runs: the same mechanism, unless it is broken.
    pub(super) server: Mechanism,
    pub(super) shares: NoiseShares,
    pub(super) task: RoundTask,
}

impl Round {
    pub(super) fn new(privacy: Mechanism, n_clients: u32, d: usize, n_interactions: u32) -> Self {
        Self {
            server: privacy.clone(),
            privacy,
            shares: NoiseShares::InMessages,
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
        let mut setup = Setup::averaging(vec![0.0; self.task.global.len()], self.task.n_clients, 1);
        (setup.privacy, setup.noise_shares, setup.divisor) = (self.server.clone().into(), self.shares, 1.0);
        let rule = setup.privacy.rule(setup.rule, setup.divisor);
        let mut coordinator = Coordinator::new(setup).expect("a sound setup");
        let chunks: Vec<&[f32]> = updates.collect();
        for (chunk_idx, chunk) in chunks.chunks(CHUNK).enumerate() {
            let mut partial = PartialSum::new(self.task.global.len());
            for delta in chunk {
                let update = Update::Step { delta, n_interactions: 1 };
                match self.shares {
                    NoiseShares::InMessages => self.privacy.protect(update, &self.task, stream, &mut scratch.payload),
                    NoiseShares::DrawnAtClosing => {
                        self.privacy.protect_without_share(update, &self.task, stream, &mut scratch.payload);
                    }
                }
                partial.add_payload_with(&scratch.payload, &rule, &[]);
            }
            coordinator.receive_partial(chunk_idx, partial).expect("a chunk of the cohort");
        }
        coordinator.close(stream).expect("enough clients for the sum to be opened");
        let n_clients = if rule == PayloadSemantics::Averaging { chunks.len() as f64 } else { 1.0 };
        coordinator.master().iter().map(|value| value * n_clients).collect()
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
