//! A simulation and a federation that really runs, side by side: the same people click, and releases are compared bit for bit.
//!
//! Tests of other crates include this file, so that their devices are compared with the same simulations.

use std::sync::LazyLock;

use foltr_federation::participation::survivors;
use foltr_federation::unlearn::ShardIsolation;
use foltr_federation::{Asynchrony, FederationPlan, Fingerprint, HistoryPolicy, Received};
use foltr_rank::Params;
use foltr_rank::rng::{Lineage, Streams};
use foltr_simulation::asynchronous_run::AsynchronousRun;
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};
use foltr_simulation::pace::{Speeds, Stragglers};
use foltr_simulation::sharded_run::ShardedRun;

pub const SEED: u64 = 5;
/// Of every parameter.
pub const INITIAL: f32 = 0.01;
pub const N_FEATURES: usize = 12;

/// What clients have: navigational users with four interactions a round, who draw from the same generated queries.
fn client_data() -> &'static ClientData {
    static DATA: LazyLock<ClientData> = LazyLock::new(|| {
        let synthetic = Synthetic { n_train: 60, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
        let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
        let users = Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades"));
        ClientData::iid(training, users, 4)
    });
    &DATA
}

/// A federation that really runs, of devices of some kind.
pub trait Running {
    fn start(plan: &FederationPlan, world: &World, data: &'static ClientData) -> Self;

    /// Of every shard.
    fn newest(&self) -> Vec<Params>;

    fn ranker(&self) -> Params;

    fn n_releases(&self) -> u32;

    /// A person's day: queries, lists and clicks, from a release, with the random numbers of this round.
    fn play(&mut self, client: u32, version: u32, round: u32);

    /// Devices make their messages; those that arrive do so in any order, and the round is closed.
    fn close_round(&mut self, joining: &[u32], arrived: &[u32]);

    /// A message reaches a server without rounds; nothing if it is refused.
    fn deliver(&mut self, client: u32, own_round: u32) -> Option<Received>;
}

/// Something that a deployment could get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Contributions are folded in another order than that of the clients' numbers.
    FoldOrder,
    /// Devices do not scale what is stale.
    StalenessScale,
    /// The server does not scale stale rewards.
    ServerScale,
    /// Rewards of the two sides of a perturbation are exchanged.
    Sign,
    /// The memory of a device whose message is lost does not move on.
    Momentum,
}

/// What only a simulation knows.
#[derive(Clone, Copy, Debug)]
pub struct World {
    pub n_rounds: u32,
    pub dropout: f64,
    pub pace: Option<Stragglers>,
    pub fault: Fault,
    /// Whether devices and the server are saved and loaded after every event.
    pub is_interrupted: bool,
}

pub const WORLD: World = World { n_rounds: 20, dropout: 0.0, pace: None, fault: Fault::None, is_interrupted: false };

fn settings_of(plan: &FederationPlan, world: &World) -> FederationSettings {
    let shape = plan.ranker.expect("a ranker").shape(N_FEATURES);
    let privacy = plan.mechanism(shape.n_params()).expect("a sound mechanism");
    let learning = plan.learner.client(plan.list_length, plan.n_interactions, privacy.clip_radius());
    let setup = plan.setup(vec![INITIAL; shape.n_params()], true).expect("a sound plan");
    FederationSettings {
        seed: SEED,
        shape,
        initial: setup.initial,
        learning: learning.expect("clients"),
        n_clients: setup.n_clients,
        personalisation: plan.personalisation,
        participation: plan.participation,
        dropout: world.dropout,
        staleness: setup.staleness,
        average_from: setup.average_from,
        privacy,
        defence: setup.defence,
        optimiser: setup.optimiser,
        single_messages: false,
        absent: Vec::new(),
        lineage: Lineage::TRAINING,
        attackers: None,
    }
}

/// The simulator's side: one federation, or shards.
struct Simulated<'a> {
    whole: Vec<FederationRun<'a>>,
    shards: Option<ShardedRun<'a>>,
}

impl<'a> Simulated<'a> {
    fn new(plan: &FederationPlan, world: &World, data: &'a ClientData) -> Self {
        let settings = settings_of(plan, world);
        if let Some(shards) = plan.shards {
            let policy =
                HistoryPolicy { updates_every: None, checkpoints_every: Some(4), ledger: false, retention: None };
            let shards =
                ShardedRun::new(settings, ShardIsolation { shards }, data, policy, Fingerprint::of(b"settings"));
            return Self { whole: Vec::new(), shards: Some(shards.expect("sound settings")) };
        }
        let run = FederationRun::new(settings, data).expect("sound settings");
        let run = if let Some(pace) = world.pace { run.with_pace(pace) } else { run };
        Self { whole: vec![run], shards: None }
    }

    fn round(&mut self) {
        for run in &mut self.whole {
            run.round().expect("a round");
        }
        if let Some(run) = &mut self.shards {
            run.round().expect("a round");
        }
    }

    /// The newest model, of every shard.
    fn newest(&self) -> Vec<Params> {
        let runs = self.shards.as_ref().map_or(&*self.whole, |run| run.shards());
        runs.iter().map(|run| run.task().global.clone()).collect()
    }

    fn ranker(&self) -> Params {
        self.shards.as_ref().map_or_else(|| self.whole[0].ranker(), ShardedRun::ranker)
    }
}

/// The first round after which the two differ, if they do.
pub fn first_difference<R: Running>(plan: &FederationPlan, world: &World) -> Option<u32> {
    let data = client_data();
    let mut simulated = Simulated::new(plan, world, data);
    let streams = Streams::new(SEED);
    let speeds = Speeds::new(world.pace.unwrap_or_default(), plan.n_clients as u32, &streams);
    let mut deployed = R::start(plan, world, data);
    let mut busy_until: Vec<Option<u32>> = vec![None; plan.n_clients];
    // Who has started, when, and which round it joins.
    let mut under_way: Vec<(u32, u32)> = Vec::new();
    let staleness = plan.staleness.unwrap_or_default();
    for round in 0..world.n_rounds {
        for client in plan.participation.draw(&streams, round, plan.n_clients as u32) {
            if busy_until[client as usize].is_some_and(|until| until >= round) {
                continue;
            }
            let late = if staleness.most > 0 { speeds.rounds_late(client, round) } else { 0 };
            busy_until[client as usize] = Some(round + late);
            deployed.play(client, round, round);
            if late <= staleness.most {
                under_way.push((client, round + late));
            }
        }
        let mut joining: Vec<u32> = under_way.extract_if(.., |(_, joins)| *joins == round).map(|(it, _)| it).collect();
        joining.sort_unstable();
        let arrived = survivors(joining.clone(), world.dropout, &streams, round);
        deployed.close_round(&joining, &arrived);
        simulated.round();
        if deployed.newest() != simulated.newest() || deployed.ranker() != simulated.ranker() {
            return Some(round);
        }
    }
    assert_ne!(simulated.ranker(), vec![INITIAL; deployed.ranker().len()], "something was learnt");
    None
}

pub fn assert_equal<R: Running>(what: &str, plan: &FederationPlan, world: &World) {
    assert_eq!(first_difference::<R>(plan, world), None, "{what}: the round after which releases differ");
}

/// The same without rounds: messages reach the server in the order in which the simulator's did.
pub fn assert_equal_without_rounds<R: Running>(plan: &FederationPlan, pace: Stragglers, world: &World) {
    let asynchrony: Asynchrony = plan.asynchrony.expect("no rounds");
    let data = client_data();
    let settings = settings_of(plan, world);
    let mut simulated = AsynchronousRun::new(settings, asynchrony, pace, data).expect("sound").with_record();
    for _ in 0..world.n_rounds {
        simulated.round().expect("a round");
    }
    let record = simulated.record().expect("it was asked for");
    let (mut deployed, mut most_stale) = (R::start(plan, world, data), 0);
    let mut expected = record.versions.iter();
    for delivery in &record.deliveries {
        most_stale = most_stale.max(deployed.n_releases() - 1 - delivery.version);
        deployed.play(delivery.client, delivery.version, delivery.own_round);
        // What is too stale is refused in both.
        if let Some(Received::NewVersion) = deployed.deliver(delivery.client, delivery.own_round) {
            assert_eq!(deployed.newest().first(), expected.next(), "version {}", deployed.n_releases() - 1);
        }
    }
    assert!(most_stale > 0 && deployed.n_releases() > 5, "{most_stale} and {}", deployed.n_releases());
    assert_eq!(expected.next(), None, "the simulator has published more");
}
