//! What was simulated is what is deployed: devices with SQLite publish, through a server, the releases of the simulator.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foltr_federation::protocol::{FeatureSchema, Normalisation, Plan};
use foltr_federation::{FederationPlan, Received};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{ImpressionId, Params};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::federation_run::SERVER;
use foltr_simulation::pace::Stragglers;
use foltr_simulation::{SimulatedNoise, noise_purpose};
use foltr_test::campaign_size;
use foltr_test::disk::Disk;
use rand::RngExt;

use super::federation::{Direct, Federation, Shared, Way, lock};
use super::harness::{Fault, N_FEATURES, Running, SEED, WORLD, World, assert_equal, assert_equal_without_rounds};
use super::modes::{BUFFERED, SLOW, asynchronous_plans, modes, stale_modes};
use super::simulated_people::{Numbers, Simulated, Used, spend_day};
use crate::core::{Consent, Shown, Synced};
use crate::options::Options;
use crate::shell::Shell;
use crate::store::Store;

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

/// One of the devices.
struct Of<'a> {
    deployed: &'a mut Deployed,
    client: u32,
}

impl Used for Of<'_> {
    fn rank(&mut self, features: &[f32]) -> Shown {
        let shown = self.deployed.shell(self.client).rank(features).expect("sound documents");
        self.deployed.interrupt(self.client);
        shown
    }

    fn clicked(&mut self, impression: ImpressionId, position: usize) {
        self.deployed.shell(self.client).clicked(impression, position).expect("an open list");
        self.deployed.interrupt(self.client);
    }

    fn dismiss(&mut self, impression: ImpressionId) {
        self.deployed.shell(self.client).dismiss(impression).expect("an open list");
        self.deployed.interrupt(self.client);
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
        spend_day(self.data, client, &numbers, &mut Of { deployed: self, client });
    }

    fn close_round(&mut self, joining: &[u32], arrived: &[u32]) {
        let round = lock(&self.federation).server.task(0).round;
        for &client in joining {
            self.clients[client as usize].numbers.drawn().round = round;
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
        self.clients[client as usize].numbers.drawn().begun = own_round + 1;
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
