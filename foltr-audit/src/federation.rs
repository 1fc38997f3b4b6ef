//! A small federation whose rounds go the way of a run: `LocalPrivacy::protect`, `Coordinator::receive` or
//! `receive_partial`, and `Coordinator::close` with its noise. Nothing is added here that a run would not add.
//!
//! Random numbers come from the streams that a run opens: one for each device, one for the server, one for the cohort.

use std::sync::Arc;

use foltr_federation::participation::survivors;
use foltr_federation::privacy::NoiseShares;
use foltr_federation::{
    CHUNK, Checkpoint, CloseError, Coordinator, LocalPrivacy, Message, Mode, PartialSum, Participation, Payload,
    PayloadSemantics, Setup,
};
use foltr_rank::Update;
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::SimulatedNoise;
use indicatif::ProgressBar;
use rayon::prelude::*;

/// Samples from one random key. Part of the result.
const BATCH: usize = 1024;

#[derive(Clone)]
pub(super) struct Federation {
    /// What devices run.
    pub(super) devices: Arc<dyn LocalPrivacy>,
    /// What the server runs: the same, unless something is broken.
    pub(super) server: Arc<dyn LocalPrivacy>,
    pub(super) noise_shares: NoiseShares,
    /// How messages are read that no mechanism has changed.
    pub(super) rule: PayloadSemantics,
    pub(super) n_params: usize,
    pub(super) n_interactions: u32,
    /// On whom the devices count.
    pub(super) n_clients: u32,
    pub(super) participation: Participation,
    pub(super) dropout: f64,
    /// In how many rounds, one after the other, the server draws the same numbers; it must be 1.
    pub(super) repeats_noise: u32,
}

/// Memory of a thread that runs rounds.
pub(super) struct Run {
    coordinator: Coordinator,
    start: Checkpoint,
    payload: Payload,
}

/// What a round shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The step that was published, as a sum.
    pub(super) sum: Vec<f64>,
    /// To which norm updates were clipped and will be, where it changes.
    pub(super) clip_norms: [Option<f32>; 2],
    /// The message of the last client, if it came: what a server sees that reads them.
    pub(super) message: Option<Payload>,
}

impl Federation {
    /// Everyone takes part with a step about this many parameters, and every message arrives.
    pub(super) fn new(privacy: impl Into<Arc<dyn LocalPrivacy>>, n_params: usize, n_clients: u32) -> Self {
        let devices = privacy.into();
        Self {
            server: Arc::clone(&devices),
            devices,
            noise_shares: NoiseShares::InMessages,
            rule: PayloadSemantics::Averaging,
            n_params,
            n_interactions: 1,
            n_clients,
            participation: Participation::Everyone,
            dropout: 0.0,
            repeats_noise: 1,
        }
    }

    pub(super) fn start(&self) -> Run {
        let n_clients = self.participation.most(self.n_clients);
        let setup = Setup {
            rule: self.rule,
            privacy: Arc::clone(&self.server),
            noise_shares: self.noise_shares,
            divisor: self.participation.expected(self.n_clients),
            ..Setup::averaging(vec![0.0; self.n_params], n_clients, self.n_interactions)
        };
        let coordinator = Coordinator::new(setup).expect("a sound setup");
        Run { start: coordinator.checkpoint(), coordinator, payload: Payload::default() }
    }

    /// Begins a run anew.
    pub(super) fn restart(&self, run: &mut Run) {
        run.coordinator.restore(&run.start).expect("its own state");
    }

    /// The norm to which updates of the open round are clipped, where it changes.
    pub(super) fn clip_norm(run: &Run) -> Option<f32> {
        run.coordinator.task().clip_norm
    }

    /// The first key like this one with which the last of so many clients takes part and is heard.
    pub(super) fn key_of_last(&self, streams: &Streams, key: u32, population: u32) -> u32 {
        let is_heard = |key: &u32| self.arrived(streams, *key, population).last() == Some(&(population - 1));
        // Keys of other rounds are below the first of these.
        (0..1 << 12).map(|attempt| key + (attempt << 16)).find(is_heard).expect("it is heard at times")
    }

    fn arrived(&self, streams: &Streams, key: u32, population: u32) -> Vec<u32> {
        survivors(self.participation.draw(streams, key, population), self.dropout, streams, key)
    }

    /// One round of clients who would send this. `key` names its random streams: the same key, the same round.
    pub(super) fn round(&self, run: &mut Run, streams: &Streams, key: u32, updates: &[Update<'_>]) -> Seen {
        let arrived = self.arrived(streams, key, updates.len() as u32);
        let before = Self::clip_norm(run);
        let message = self.send(run, streams, key, updates, &arrived);
        let mut noise = SimulatedNoise::open(streams, Purpose::Noise, u32::MAX, key - key % self.repeats_noise);
        let model = run.coordinator.master().to_vec();
        match run.coordinator.close(&mut noise) {
            Ok(_) | Err(CloseError::TooFewSurvivors { .. }) => {}
            Err(CloseError::Empty { .. }) => run.coordinator.skip(),
            Err(error) => panic!("{error}"),
        }
        // A mean is of as many as came, which no mechanism for means hides; a sum is divided by a fixed number.
        let is_mean =
            matches!(self.rule_of_server(None), PayloadSemantics::Averaging | PayloadSemantics::Evolution { .. });
        let divisor = if is_mean { arrived.len() as f64 } else { self.participation.expected(self.n_clients) };
        let sum = run.coordinator.master().iter().zip(&model).map(|(after, before)| (after - before) * divisor);
        Seen { sum: sum.collect(), clip_norms: [before, Self::clip_norm(run)], message }
    }

    fn rule_of_server(&self, clip_norm: Option<f32>) -> PayloadSemantics {
        self.server.rule(self.rule, self.participation.expected(self.n_clients), clip_norm)
    }

    /// Devices protect their updates and the coordinator receives them; returns the last client's message, if it came.
    fn send(
        &self,
        run: &mut Run,
        streams: &Streams,
        key: u32,
        updates: &[Update<'_>],
        arrived: &[u32],
    ) -> Option<Payload> {
        let task = run.coordinator.task().clone();
        let (rule, is_sealed) = (self.rule_of_server(task.clip_norm), self.server.mode() == Mode::Sealed);
        let mut of_last = None;
        for (chunk_idx, chunk) in arrived.chunks(CHUNK).enumerate() {
            let mut partial = PartialSum::new(self.n_params);
            for (slot, &client) in (chunk_idx * CHUNK..).zip(chunk) {
                let update = updates[client as usize];
                let purpose = match update {
                    Update::Step { .. } => Purpose::Noise,
                    Update::Evolution { .. } => Purpose::RandomisedResponse,
                };
                let mut noise = SimulatedNoise::open(streams, purpose, client, key);
                match self.noise_shares {
                    NoiseShares::InMessages => self.devices.protect(update, &task, &mut noise, &mut run.payload),
                    NoiseShares::DrawnAtClosing => {
                        self.devices.protect_without_share(update, &task, &mut noise, &mut run.payload);
                    }
                }
                if client as usize + 1 == updates.len() {
                    of_last = Some(run.payload.clone());
                }
                if is_sealed {
                    partial.add_payload_with(&run.payload, &rule, 1.0, &[]);
                } else {
                    let payload = std::mem::take(&mut run.payload);
                    let message = Message { round: task.round, start: task.round, client: slot as u32, payload };
                    run.coordinator.receive(message).expect("a sound message");
                }
            }
            if is_sealed {
                run.coordinator.receive_partial(chunk_idx, &partial).expect("a chunk of the cohort");
            }
        }
        of_last
    }
}

/// What the first `n` runs with this number show, side by side: the same for any number of threads. A run has the streams
/// of its batch and its place there.
pub(super) fn sample<V: IntoIterator<Item = f64>>(
    n: usize,
    federation: &Federation,
    streams: &Streams,
    number: u32,
    bar: &ProgressBar,
    draw: impl Fn(&mut Run, &Streams, u32) -> V + Sync,
) -> Vec<f64> {
    let batch = |run: &mut Run, batch: usize| -> Vec<f64> {
        let own = streams.branch(Purpose::Noise, batch as u32, number);
        let here = BATCH.min(n - batch * BATCH);
        let samples = (0..here as u32).flat_map(|place| {
            federation.restart(run);
            draw(run, &own, place)
        });
        let samples = samples.collect();
        bar.inc(here as u64);
        samples
    };
    let start = || federation.start();
    let batches: Vec<Vec<f64>> = (0..n.div_ceil(BATCH)).into_par_iter().map_init(start, batch).collect();
    batches.concat()
}
