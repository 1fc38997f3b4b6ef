//! What was simulated is what is deployed: devices with SQLite publish, through a server, the releases of the simulator.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use foltr_federation::protocol::{FeatureSchema, Normalisation, Plan};
use foltr_federation::{FederationPlan, NoiseSource, Received};
use foltr_rank::Params;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_simulation::click::SimulatedUser;
use foltr_simulation::client_data::ClientData;
use foltr_simulation::federation_run::SERVER;
use foltr_simulation::pace::Stragglers;
use foltr_simulation::{SimulatedNoise, noise_purpose};
use foltr_test::campaign_size;
use foltr_test::disk::Disk;
use rand::{Rng, RngExt, TryRng};

use super::federation::{Direct, Federation, Shared, Way, lock};
use super::harness::{Fault, N_FEATURES, Running, SEED, WORLD, World, assert_equal, assert_equal_without_rounds};
use super::modes::{BUFFERED, SLOW, asynchronous_plans, modes, stale_modes};
use crate::core::{Consent, Synced};
use crate::options::Options;
use crate::randomness::Randomness;
use crate::shell::Shell;
use crate::store::Store;

/// The round whose streams of [`Purpose::Initialisation`] belong to clients.
const START: u32 = 1;

/// The random numbers of a client's round in a simulation. Its user draws from the same numbers as its lists.
#[derive(Clone)]
struct Simulated(Arc<Mutex<Drawn>>);

struct Drawn {
    streams: Streams,
    purpose: Purpose,
    client: u32,
    /// Of the noise.
    round: u32,
    /// Of what is drawn when a round begins.
    begun: u32,
    private: Stream,
}

impl Simulated {
    fn new(purpose: Purpose, client: u32) -> Self {
        let streams = Streams::new(SEED);
        let private = streams.open(Purpose::Initialisation, client, START);
        Self(Arc::new(Mutex::new(Drawn { streams, purpose, client, round: 0, begun: 0, private })))
    }

    fn begin(&self, round: u32) {
        let mut drawn = self.0.lock().expect("no panic before");
        (drawn.round, drawn.begun) = (round, round);
        drawn.private = drawn.streams.open(Purpose::Interaction, drawn.client, round);
    }
}

/// The shell's end of [`Simulated`].
struct Numbers {
    simulated: Simulated,
    private: SharedStream,
    public: Stream,
    noise: SimulatedNoise,
}

struct SharedStream(Simulated);

impl TryRng for SharedStream {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0.0.lock().expect("no panic before").private.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0.0.lock().expect("no panic before").private.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.0.lock().expect("no panic before").private.try_fill_bytes(bytes)
    }
}

impl Numbers {
    fn new(simulated: &Simulated) -> Self {
        let drawn = simulated.0.lock().expect("no panic before");
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
        let drawn = self.simulated.0.lock().expect("no panic before");
        self.public = drawn.streams.open(Purpose::PerturbationSeed, drawn.client, drawn.begun);
        &mut self.public
    }

    /// And so does every message.
    fn noise(&mut self) -> &mut dyn NoiseSource {
        let drawn = self.simulated.0.lock().expect("no panic before");
        self.noise = SimulatedNoise::open(&drawn.streams, drawn.purpose, drawn.client, drawn.round);
        &mut self.noise
    }
}

type Simulation = Shell<Numbers, Direct>;

struct Client {
    disk: Disk,
    numbers: Simulated,
    shell: Option<Simulation>,
}

/// Devices with SQLite on a disk in memory.
struct Deployed {
    world: World,
    data: &'static ClientData,
    federation: Shared,
    clients: Vec<Client>,
    options: Options,
    time: Arc<AtomicU64>,
}

impl Deployed {
    fn open(&self, client: &Client) -> Simulation {
        let (store, records) = Store::open(&PathBuf::from("device.db"), Some(client.disk.name())).expect("a store");
        let (transport, time) = (Direct::to(&self.federation), self.time.clone());
        let clock = Box::new(move || time.load(Ordering::Relaxed));
        let numbers = Numbers::new(&client.numbers);
        Shell::with_store(store, records, self.options.clone(), numbers, transport, clock, None).expect("sound")
    }

    fn shell(&self, client: u32) -> &Simulation {
        self.clients[client as usize].shell.as_ref().expect("it is open")
    }

    /// Closes the device and opens it again.
    fn interrupt(&mut self, client: u32) {
        if self.world.is_interrupted {
            let at = client as usize;
            let as_of = self.shell(client).transport().as_of;
            self.clients[at].shell = None;
            let shell = self.open(&self.clients[at]);
            shell.transport().as_of = as_of;
            self.clients[at].shell = Some(shell);
        }
    }

    /// After so long a time that no wait is left.
    fn sync(&mut self, client: u32) -> Result<Synced, crate::DeviceError> {
        self.time.fetch_add(50_000, Ordering::Relaxed);
        let synced = self.shell(client).sync();
        self.interrupt(client);
        synced
    }

    fn shard_of(&self, client: u32) -> u32 {
        lock(&self.federation).plan.shard_of(client)
    }
}

impl Running for Deployed {
    fn start(plan: &FederationPlan, world: &World, data: &'static ClientData) -> Self {
        assert_eq!(world.fault, Fault::None);
        let features = FeatureSchema::numbered(N_FEATURES, Normalisation::None);
        let plan = Plan::new(plan.clone(), &features, true).expect("it can be deployed");
        let purpose = noise_purpose(plan.expected().expect("sound").kind);
        let n_clients = plan.federation().n_clients as u32;
        let options = Options { adoption: None, upload_delay: 0, ..Options::new(features) };
        let federation = Federation::shared(plan);
        let time = Arc::new(AtomicU64::new(1_000_000));
        let mut this = Self { world: *world, data, federation, clients: Vec::new(), options, time };
        let invitation = lock(&this.federation).invitation("http://localhost");
        for client in 0..n_clients {
            let mut client = Client { disk: Disk::new(), numbers: Simulated::new(purpose, client), shell: None };
            let shell = this.open(&client);
            shell.join(&invitation, Consent::NoPromise).expect("it joins");
            client.shell = Some(shell);
            this.clients.push(client);
        }
        this
    }

    fn newest(&self) -> Vec<Params> {
        let federation = lock(&self.federation);
        (0..federation.releases.len() as u32).map(|shard| federation.newest(shard).params().to_vec()).collect()
    }

    fn ranker(&self) -> Params {
        lock(&self.federation).server.ranker()
    }

    fn n_releases(&self) -> u32 {
        lock(&self.federation).n_releases()
    }

    fn play(&mut self, client: u32, version: u32, round: u32) {
        self.clients[client as usize].numbers.begin(round);
        self.shell(client).transport().as_of = Some(version);
        self.sync(client).expect("the release is there");
        let numbers = self.clients[client as usize].numbers.clone();
        let share = self.data.share(client);
        let mut private = SharedStream(numbers.clone());
        let queries: Vec<u32> =
            (0..share.n_interactions).map(|_| share.query(private.random_range(0..share.n_queries()))).collect();
        for query in queries {
            let data = share.training.data();
            let (view, labels) = (data.query(query as usize), data.labels(query as usize));
            let features: Vec<f32> =
                (0..view.n_docs()).flat_map(|doc| view.row(doc)[..N_FEATURES].iter().copied()).collect();
            let shown = self.shell(client).rank(&features).expect("sound documents");
            self.interrupt(client);
            let of_shown: Vec<u8> = shown.order[..shown.n_ranked].iter().map(|&doc| labels[doc]).collect();
            let clicks = share.users.click(&of_shown, &mut numbers.0.lock().expect("no panic before").private);
            for position in (0..of_shown.len()).rev().filter(|&position| clicks.at(position)) {
                self.shell(client).clicked(shown.impression, position).expect("an open list");
                self.interrupt(client);
            }
            self.shell(client).dismiss(shown.impression).expect("an open list");
            self.interrupt(client);
        }
    }

    fn close_round(&mut self, joining: &[u32], arrived: &[u32]) {
        let round = lock(&self.federation).server.task(0).round;
        for &client in joining {
            self.clients[client as usize].numbers.0.lock().expect("no panic before").round = round;
            let way = if arrived.contains(&client) { Way::Clear } else { Way::RequestLost };
            let mut transport = self.shell(client).transport();
            (transport.as_of, transport.way) = (None, way);
            drop(transport);
            let synced = self.sync(client);
            match way {
                Way::Clear => assert_eq!(synced, Ok(Synced::Contributed { round })),
                _ => assert!(synced.is_err(), "{synced:?}"),
            }
            self.shell(client).transport().way = Way::Clear;
        }
        let mut order: Vec<u32> = arrived.to_vec();
        let mut drawn = Streams::new(SEED).open(Purpose::Data, 1, round);
        for last in (1..order.len()).rev() {
            order.swap(last, drawn.random_range(0..=last));
        }
        let mut noise = SimulatedNoise::open(&Streams::new(SEED), Purpose::Noise, SERVER, round);
        lock(&self.federation).close(joining, &order, &mut noise);
    }

    fn deliver(&mut self, client: u32, own_round: u32) -> Option<Received> {
        assert_eq!(self.shard_of(client), 0);
        // The next round begins as soon as the message is made.
        self.clients[client as usize].numbers.0.lock().expect("no panic before").begun = own_round + 1;
        let synced = self.sync(client);
        assert!(matches!(synced, Ok(Synced::Contributed { .. })), "{synced:?}");
        lock(&self.federation).deliver(client)
    }
}

#[test]
fn three_devices_in_every_mode() {
    for (name, plan) in modes(3) {
        assert_equal::<Deployed>(name, &plan, &WORLD);
    }
}

#[test]
fn three_devices_that_are_opened_anew_after_every_event() {
    let world = World { n_rounds: 5, is_interrupted: true, ..WORLD };
    for (name, plan) in modes(3) {
        assert_equal::<Deployed>(name, &plan, &world);
    }
}

#[test]
fn many_devices_whose_messages_get_lost() {
    let (n_devices, n_rounds) = campaign_size((20, 6), (200, 10));
    let world = World { n_rounds, dropout: 0.2, ..WORLD };
    for (name, plan) in modes(n_devices) {
        assert_equal::<Deployed>(name, &plan, &world);
    }
}

#[test]
fn stale_contributions() {
    for is_interrupted in [false, true] {
        let world = World { n_rounds: 12, pace: Some(SLOW), dropout: 0.1, is_interrupted, ..WORLD };
        for (name, plan) in stale_modes(3) {
            assert_equal::<Deployed>(name, &plan, &world);
        }
    }
}

#[test]
fn buffered_asynchrony() {
    for is_interrupted in [false, true] {
        let world = World { is_interrupted, ..WORLD };
        for plan in asynchronous_plans(3, BUFFERED) {
            assert_equal_without_rounds::<Deployed>(&plan, Stragglers { slowdown: 2.5, ..SLOW }, &world);
        }
    }
}
