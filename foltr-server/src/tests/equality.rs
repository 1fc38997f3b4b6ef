//! What was simulated is what is deployed: devices reach a server by HTTP, and its releases are those of the simulator, bit
//! for bit, in every mode and on both databases.
//!
//! Every part is the one that is deployed: the device's core, requests over TCP, the server and its store. Only the random
//! numbers are those of the simulation.

mod device;
#[allow(dead_code, reason = "only the simulator's own tests break devices on purpose")]
#[path = "../../../foltr-simulation/tests/all/equality/harness.rs"]
mod harness;
#[path = "../../../foltr-simulation/tests/all/equality/modes.rs"]
mod modes;
mod server;
#[path = "../../../foltr-client/src/tests/simulated_people.rs"]
mod simulated_people;

use std::marker::PhantomData;

use foltr_client::{Consent, FeatureSchema, Normalisation, Randomness, Shown, Synced};
use foltr_federation::asynchronous::Buffered;
use foltr_federation::protocol::Plan;
use foltr_federation::{FederationPlan, Participation, Received};
use foltr_rank::Params;
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::noise_purpose;
use foltr_simulation::pace::Stragglers;
use foltr_test::campaign_size;
use rand::RngExt;

use device::Device;
use harness::{
    Fault, INITIAL, N_FEATURES, Running, SEED, WORLD, World, assert_equal, assert_equal_without_rounds,
    first_difference,
};
use modes::{BUFFERED, SLOW, asynchronous_plans, evolution, modes, pdgd, stale_modes, trimmed};
use server::{InMemory, OnPostgres, OnSqlite, OneUlpOff, Served};
use simulated_people::spend_day;

/// Devices, and a server that they reach by HTTP.
struct Deployed<S> {
    world: World,
    data: &'static ClientData,
    plan: Plan,
    server: Served,
    devices: Vec<Device>,
    /// Of the devices, in seconds.
    time: u64,
    on: PhantomData<S>,
}

impl<S: InMemory> Deployed<S> {
    /// After so long a time that no wait is left.
    fn sync(&mut self, client: u32) -> Result<Synced, String> {
        self.time += 50_000;
        self.devices[client as usize].sync(self.time)
    }

    /// The process ends, and another one goes on with the store.
    fn interrupt(&mut self) {
        if self.world.is_interrupted {
            self.server.restart();
        }
    }

    /// A device has the release that is stored, byte for byte.
    fn assert_release(&self, client: u32, version: u32) {
        let stored = self.server.release(self.plan.shard_of(client), version);
        assert_eq!(self.devices[client as usize].release(), Some(stored.as_slice()), "release {version}");
    }
}

impl<S: InMemory> Running for Deployed<S> {
    fn start(federation: &FederationPlan, world: &World, data: &'static ClientData) -> Self {
        let features = FeatureSchema::numbered(N_FEATURES, Normalisation::None);
        let plan = Plan::new(federation.clone(), &features, true).expect("it can be deployed");
        let purpose = noise_purpose(plan.expected().expect("a sound plan").kind);
        let mut initial = vec![INITIAL; plan.shape().n_params()];
        S::change(&mut initial);
        let server = Served::start::<S>(&plan, &initial, &features);
        let invitation = server.invitation();
        let n_clients = federation.n_clients as u32;
        let mut devices: Vec<Device> = (0..n_clients).map(|client| Device::new(&features, purpose, client)).collect();
        let mut order: Vec<usize> = (0..devices.len()).collect();
        if world.fault == Fault::FoldOrder {
            // Contributions are folded in the order of enrolment.
            order.reverse();
        }
        let time = super::world::START;
        for client in order {
            devices[client].join(&invitation, Consent::NoPromise, time).expect("it joins");
            server.knows(devices[client].id());
        }
        server.tick();
        Self { world: *world, data, plan, server, devices, time, on: PhantomData }
    }

    fn newest(&self) -> Vec<Params> {
        self.server.newest()
    }

    fn ranker(&self) -> Params {
        self.server.ranker()
    }

    fn n_releases(&self) -> u32 {
        self.server.n_releases()
    }

    fn play(&mut self, client: u32, version: u32, round: u32) {
        let numbers = self.devices[client as usize].numbers.clone();
        numbers.begin(round);
        // Without rounds a device may have begun before others have led to newer releases.
        let is_newest = version + 1 == self.n_releases();
        self.devices[client as usize].cached_task = (!is_newest).then(|| self.server.task_of(version));
        self.sync(client).expect("the release is there");
        self.devices[client as usize].cached_task = None;
        self.assert_release(client, version);
        let mut person = self.devices[client as usize].used(self.time);
        spend_day(self.data, client, &numbers, &mut person);
    }

    fn close_round(&mut self, joining: &[u32], arrived: &[u32]) {
        let round = self.server.round();
        let mut order: Vec<u32> = joining.to_vec();
        let mut drawn = Streams::new(SEED).open(Purpose::Data, 1, round);
        for last in (1..order.len()).rev() {
            order.swap(last, drawn.random_range(0..=last));
        }
        for client in order {
            let device = &mut self.devices[client as usize];
            device.numbers.drawn().round = round;
            device.loses_contributions = !arrived.contains(&client);
            let synced = self.sync(client);
            if arrived.contains(&client) {
                assert_eq!(synced, Ok(Synced::Contributed { round }));
            } else {
                assert!(synced.is_err(), "{synced:?}");
            }
            self.devices[client as usize].loses_contributions = false;
            self.interrupt();
        }
        self.server.close(round, arrived.is_empty());
        self.interrupt();
    }

    fn deliver(&mut self, client: u32, own_round: u32) -> Option<Received> {
        // The next round begins as soon as the message is made.
        self.devices[client as usize].numbers.drawn().begun = own_round + 1;
        let n_before = self.n_releases();
        let synced = self.sync(client).expect("an answer");
        self.server.tick();
        self.interrupt();
        match synced {
            Synced::Contributed { .. } if self.n_releases() > n_before => Some(Received::NewVersion),
            Synced::Contributed { .. } => Some(Received::Buffered),
            // It was too stale.
            Synced::UpToDate => None,
            other => panic!("{other:?}"),
        }
    }
}

/// Rounds of a mode: all of them in the campaign.
fn n_rounds() -> u32 {
    campaign_size(6, WORLD.n_rounds)
}

/// A defence draws cohorts by lottery.
fn defended_cohort() -> FederationPlan {
    FederationPlan { participation: Participation::Sample(4), defence: Some(trimmed()), ..pdgd(6) }
}

fn every_mode<S: InMemory>() {
    let world = World { n_rounds: n_rounds(), ..WORLD };
    for (name, plan) in modes(3) {
        assert_equal::<Deployed<S>>(name, &plan, &world);
    }
    assert_equal::<Deployed<S>>("a defended cohort", &defended_cohort(), &world);
}

fn stale_contributions<S: InMemory>() {
    let n_rounds = campaign_size(8, 20);
    for is_interrupted in [false, true] {
        let world = World { n_rounds, pace: Some(SLOW), dropout: 0.1, is_interrupted, ..WORLD };
        for (name, plan) in stale_modes(3) {
            assert_equal::<Deployed<S>>(name, &plan, &world);
        }
    }
}

fn without_rounds<S: InMemory>() {
    // A device sends again what a full buffer refuses, where the simulator drops it.
    let buffered = Buffered { rate_limit: BUFFERED.buffer, ..BUFFERED };
    for is_interrupted in [false, true] {
        let world = World { is_interrupted, n_rounds: campaign_size(10, 20), ..WORLD };
        for plan in asynchronous_plans(3, buffered) {
            assert_equal_without_rounds::<Deployed<S>>(&plan, Stragglers { slowdown: 2.5, ..SLOW }, &world);
        }
    }
}

#[test]
fn three_devices_in_every_mode_on_sqlite() {
    every_mode::<OnSqlite>();
}

#[test]
fn three_devices_in_every_mode_on_postgres() {
    if foltr_test::postgres::Cluster::shared().is_some() {
        every_mode::<OnPostgres>();
    }
}

#[test]
fn stale_contributions_on_sqlite() {
    stale_contributions::<OnSqlite>();
}

#[test]
fn stale_contributions_on_postgres() {
    if foltr_test::postgres::Cluster::shared().is_some() {
        stale_contributions::<OnPostgres>();
    }
}

#[test]
fn buffered_asynchrony_on_sqlite() {
    without_rounds::<OnSqlite>();
}

#[test]
fn buffered_asynchrony_on_postgres() {
    if foltr_test::postgres::Cluster::shared().is_some() {
        without_rounds::<OnPostgres>();
    }
}

#[test]
fn messages_that_get_lost() {
    let world = World { n_rounds: n_rounds(), dropout: 0.3, is_interrupted: true, ..WORLD };
    for (name, plan) in modes(3) {
        assert_equal::<Deployed<OnSqlite>>(name, &plan, &world);
    }
    assert_equal::<Deployed<OnSqlite>>("a defended cohort", &defended_cohort(), &world);
}

/// One bit of one parameter, and one exchange of summands.
#[test]
fn the_smallest_difference_is_seen() {
    let world = World { n_rounds: 3, ..WORLD };
    assert_eq!(first_difference::<Deployed<OneUlpOff>>(&pdgd(3), &world), Some(0));
    // Sums of so few rewards are exact often enough: more of them are folded.
    let (plan, world) = (evolution(60), World { n_rounds: 4, ..WORLD });
    assert_equal::<Deployed<OnSqlite>>("in the right order", &plan, &world);
    let seen = first_difference::<Deployed<OnSqlite>>(&plan, &World { fault: Fault::FoldOrder, ..world });
    assert!(seen.is_some(), "devices were enrolled in another order");
}
