//! A device on a disk in memory, with a clock and random numbers of the test's, in a federation of the test's.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foltr_federation::protocol::{FeatureSchema, Normalisation, Plan};
use foltr_federation::{FederationPlan, NoiseSource};
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::SimulatedNoise;
use foltr_test::disk::Disk;
use rand::Rng;

use super::federation::{Direct, Federation, Shared, lock};
use super::modes;
use crate::core::{Answer, Consent, Request};
use crate::error::OpenError;
use crate::options::Options;
use crate::randomness::Randomness;
use crate::shell::Shell;
use crate::store::Store;

pub const N_FEATURES: usize = 3;
pub const FILE: &str = "device.db";

/// Numbers of a seed, for plans that say so.
pub struct Seeded([SimulatedNoise; 3]);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        let streams = Streams::new(seed);
        Self(
            [Purpose::Interaction, Purpose::PerturbationSeed, Purpose::Noise]
                .map(|it| SimulatedNoise::open(&streams, it, 0, 0)),
        )
    }
}

impl Randomness for Seeded {
    fn private(&mut self) -> &mut dyn Rng {
        &mut self.0[0]
    }

    fn public(&mut self) -> &mut dyn Rng {
        &mut self.0[1]
    }

    fn noise(&mut self) -> &mut dyn NoiseSource {
        &mut self.0[2]
    }
}

pub fn schema() -> FeatureSchema {
    FeatureSchema::numbered(N_FEATURES, Normalisation::None)
}

pub fn options() -> Options {
    Options { upload_delay: 0, ..Options::new(schema()) }
}

/// Four interactions a round, for a simulation.
pub fn simulated(federation: FederationPlan) -> Plan {
    Plan::new(federation, &schema(), true).expect("it can be deployed")
}

pub fn averaging() -> Plan {
    simulated(modes::pdgd(1))
}

pub struct TestDevice {
    pub disk: Disk,
    pub federation: Shared,
    pub time: Arc<AtomicU64>,
    pub options: Options,
    pub shell: Shell<Seeded, Direct>,
}

impl TestDevice {
    pub fn new(plan: Plan, options: Options, seed: u64) -> Self {
        let (disk, federation) = (Disk::new(), Federation::shared(plan));
        let time = Arc::new(AtomicU64::new(1_800_000_000));
        let shell = open(&disk, &federation, &time, &options, seed).expect("a new folder");
        Self { disk, federation, time, options, shell }
    }

    /// One that has joined.
    pub fn member(plan: Plan, options: Options, seed: u64) -> Self {
        let device = Self::new(plan, options, seed);
        device.join(Consent::NoPromise).expect("it joins");
        device
    }

    pub fn join(&self, consent: Consent) -> Result<crate::Synced, crate::DeviceError> {
        let invitation = lock(&self.federation).invitation("http://localhost");
        self.shell.join(&invitation, consent)
    }

    /// Closes it, and opens what is on the disk.
    pub fn reopen(self, seed: u64) -> Result<Self, OpenError> {
        let Self { disk, federation, time, options, shell } = self;
        drop(shell);
        let shell = open(&disk, &federation, &time, &options, seed)?;
        Ok(Self { disk, federation, time, options, shell })
    }

    pub fn pass(&self, seconds: u64) {
        self.time.fetch_add(seconds, Ordering::Relaxed);
    }

    /// A day later, when no wait is left.
    pub fn sync(&self) -> Result<crate::Synced, crate::DeviceError> {
        self.pass(25 * 60 * 60);
        self.shell.sync()
    }

    /// A list of `n_docs` documents of which the first feature says which one is clicked: the one that has 1.
    pub fn interact(&self, wanted: usize, n_docs: usize) -> usize {
        let shown = self.shell.rank(&documents(wanted, n_docs)).expect("sound documents");
        let position = shown.order.iter().position(|&doc| doc == wanted).expect("all are shown");
        self.shell.clicked(shown.impression, position).expect("an open list");
        self.shell.dismiss(shown.impression).expect("an open list");
        position
    }

    pub fn interact_times(&self, times: usize) {
        self.interact_among(5, times);
    }

    /// So many lists of `n_docs` documents each.
    pub fn interact_among(&self, n_docs: usize, times: usize) {
        for number in 0..times {
            self.interact(number % n_docs, n_docs);
        }
    }

    pub fn status(&self) -> crate::Status {
        self.shell.status().expect("a status")
    }

    pub fn model(&self) -> crate::ModelInUse {
        self.status().model
    }

    /// Answers whose requests have this in their path are replaced.
    pub fn answer(&self, path: &'static str, answer: impl Fn() -> Answer + Send + 'static) {
        self.shell.transport().alter = Some(Box::new(
            move |request: &Request, honest| {
                if request.path.contains(path) { answer() } else { honest }
            },
        ));
    }

    pub fn answer_honestly(&self) {
        self.shell.transport().alter = None;
    }

    /// Ends the server's round with the messages that have come.
    pub fn close_round(&self) {
        let mut noise = SimulatedNoise::open(&Streams::new(99), Purpose::Noise, 0, 0);
        lock(&self.federation).close(&[0], &[0], &mut noise);
    }
}

pub fn open(
    disk: &Disk,
    federation: &Shared,
    time: &Arc<AtomicU64>,
    options: &Options,
    seed: u64,
) -> Result<Shell<Seeded, Direct>, OpenError> {
    let (store, records) = Store::open(Path::new(FILE), Some(disk.name()))?;
    let time = time.clone();
    let clock = Box::new(move || time.load(Ordering::Relaxed));
    Shell::with_store(store, records, options.clone(), Seeded::new(seed), Direct::to(federation), clock, None)
}

pub fn documents(wanted: usize, n_docs: usize) -> Vec<f32> {
    let row = |doc: usize| [if doc == wanted { 1.0 } else { 0.0 }, doc as f32 / n_docs as f32, 0.5];
    (0..n_docs).flat_map(row).collect()
}
