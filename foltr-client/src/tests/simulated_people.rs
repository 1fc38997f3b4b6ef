//! Devices with the random numbers of a simulation, and the people who use them. Tests of other crates include this file.

use std::sync::{Arc, Mutex, MutexGuard};

use foltr_federation::NoiseSource;
use foltr_rank::ImpressionId;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_simulation::SimulatedNoise;
use foltr_simulation::click::SimulatedUser;
use foltr_simulation::client_data::ClientData;
use rand::{Rng, RngExt, TryRng};

use super::harness::{N_FEATURES, SEED};
use super::{Randomness, Shown};

/// The round whose streams of [`Purpose::Initialisation`] belong to clients.
const START: u32 = 1;

/// The random numbers of a client's round in a simulation. Its user draws from the same numbers as its lists.
#[derive(Clone)]
pub struct Simulated(Arc<Mutex<Drawn>>);

pub struct Drawn {
    streams: Streams,
    purpose: Purpose,
    client: u32,
    /// Of the noise.
    pub round: u32,
    /// Of what is drawn when a round begins.
    pub begun: u32,
    private: Stream,
}

impl Simulated {
    pub fn new(purpose: Purpose, client: u32) -> Self {
        let streams = Streams::new(SEED);
        let private = streams.open(Purpose::Initialisation, client, START);
        Self(Arc::new(Mutex::new(Drawn { streams, purpose, client, round: 0, begun: 0, private })))
    }

    pub fn begin(&self, round: u32) {
        let mut drawn = self.drawn();
        (drawn.round, drawn.begun) = (round, round);
        drawn.private = drawn.streams.open(Purpose::Interaction, drawn.client, round);
    }

    pub fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.0.lock().expect("no panic before")
    }
}

/// The device's end of [`Simulated`].
pub struct Numbers {
    simulated: Simulated,
    private: SharedStream,
    public: Stream,
    noise: SimulatedNoise,
}

struct SharedStream(Simulated);

impl TryRng for SharedStream {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0.drawn().private.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0.drawn().private.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.drawn().private.try_fill_bytes(bytes)
    }
}

impl Numbers {
    pub fn new(simulated: &Simulated) -> Self {
        let drawn = simulated.drawn();
        let (streams, client) = (&drawn.streams, drawn.client);
        let public = streams.open(Purpose::PerturbationSeed, client, 0);
        let noise = SimulatedNoise::open(streams, drawn.purpose, client, 0);
        drop(drawn);
        Self { simulated: simulated.clone(), private: SharedStream(simulated.clone()), public, noise }
    }
}

impl Randomness for Numbers {
    fn private(&mut self) -> &mut dyn Rng {
        &mut self.private
    }

    /// Every round begins with the first numbers of its own stream.
    fn public(&mut self) -> &mut dyn Rng {
        let drawn = self.simulated.drawn();
        self.public = drawn.streams.open(Purpose::PerturbationSeed, drawn.client, drawn.begun);
        &mut self.public
    }

    /// And so does every message.
    fn noise(&mut self) -> &mut dyn NoiseSource {
        let drawn = self.simulated.drawn();
        self.noise = SimulatedNoise::open(&drawn.streams, drawn.purpose, drawn.client, drawn.round);
        &mut self.noise
    }
}

/// A device as its owner uses it.
pub trait Used {
    fn rank(&mut self, features: &[f32]) -> Shown;

    fn clicked(&mut self, impression: ImpressionId, position: usize);

    fn dismiss(&mut self, impression: ImpressionId);
}

/// A person's day: queries, lists and clicks.
pub fn spend_day(data: &ClientData, client: u32, numbers: &Simulated, device: &mut impl Used) {
    let share = data.share(client);
    let mut private = SharedStream(numbers.clone());
    let queries: Vec<u32> =
        (0..share.n_interactions).map(|_| share.query(private.random_range(0..share.n_queries()))).collect();
    for query in queries {
        let data = share.training.data();
        let (view, labels) = (data.query(query as usize), data.labels(query as usize));
        let features: Vec<f32> =
            (0..view.n_docs()).flat_map(|doc| view.row(doc)[..N_FEATURES].iter().copied()).collect();
        let shown = device.rank(&features);
        let of_shown: Vec<u8> = shown.order[..shown.n_ranked].iter().map(|&doc| labels[doc]).collect();
        let clicks = share.users.click(&of_shown, &mut numbers.drawn().private);
        // The last click comes first: order does not matter.
        for position in (0..of_shown.len()).rev().filter(|&position| clicks.at(position)) {
            device.clicked(shown.impression, position);
        }
        device.dismiss(shown.impression);
    }
}
