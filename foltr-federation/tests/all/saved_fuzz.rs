//! States that servers store, against arbitrary bytes and damaged states.
//!
//! The bytes are those of `save`, so that nothing here knows their layout. A state that is refused leaves a server as it
//! was, in the middle of a round. One that is accepted is saved as the same bytes, and the server goes on with it: it
//! plays a round, and reads what it saves after that.

use std::sync::Arc;

use foltr_federation::aggregate::{CentredClipping, FlDetector, Krum, Radius};
use foltr_federation::asynchronous::{Buffered, Naive};
use foltr_federation::privacy::{AdaptiveClip, CentralDiscreteGaussian, CentralMode, Clip, Gaussian};
use foltr_federation::unlearn::ShardIsolation;
use foltr_federation::{
    Aggregation, AsynchronousCoordinator, Asynchrony, CloseError, Coordinator, Defence, Kind, Message, PartialSum,
    Payload, PayloadSemantics, Refused, ServerOptimiser, Setup, ShardedCoordinator, Staleness,
};
use foltr_rank::bytes::BytesError;
use foltr_rank::rng::Purpose;
use foltr_test::fuzzing::{Form, Target, label};

use crate::noise::seeded;

const N_PARAMS: usize = 2;
const N_CLIENTS: u32 = 7;

/// What all servers can do.
trait Server {
    fn save(&self) -> Vec<u8>;
    fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError>;
    /// Messages of the open round, which no state has.
    fn n_messages(&self) -> usize;
    /// A model that moves in every round.
    fn model(&self) -> Vec<f32>;
    /// Takes the first message of a round.
    fn begin(&mut self);
    /// Asserts what holds of every state, plays a round and asserts that it is over.
    fn play(&mut self);
}

/// What must hold for any bytes that a server reads.
fn check_load<S: Server>(start: impl Fn() -> S, bytes: &[u8]) -> Result<(), String> {
    let mut server = start();
    server.begin();
    let before = (server.save(), server.n_messages());
    if let Err(error) = server.load(bytes) {
        assert_eq!((server.save(), server.n_messages()), before, "{error}, and something has changed");
        return Err(label(&error));
    }
    assert_eq!(server.save(), bytes, "another state than was read");
    server.play();
    let (after, mut again) = (server.save(), start());
    again.load(&after).expect("its own bytes, a round later");
    assert_eq!(again.save(), after);
    Ok(())
}

/// States after so many rounds of each server.
fn states<S: Server>(n_servers: usize, start: impl Fn(usize) -> S, n_rounds: &[u32]) -> Vec<Vec<u8>> {
    let state = |server: usize, n_rounds: u32| {
        let mut server = start(server);
        for _ in 0..n_rounds {
            let before = server.model();
            server.play();
            assert_ne!(server.model(), before, "a round moves the model");
        }
        server.save()
    };
    (0..n_servers).flat_map(|server| n_rounds.iter().map(move |&n_rounds| state(server, n_rounds))).collect()
}

fn fuzz<S: Server>(name: &'static str, n_servers: usize, start: impl Fn(usize) -> S) {
    const N_ROUNDS: [u32; 3] = [0, 1, 4];
    let valid = states(n_servers, &start, &N_ROUNDS);
    let decode = |state: usize, bytes: &[u8]| check_load(|| start(state / N_ROUNDS.len()), bytes);
    Target { name, corpus: None, form: Form::Binary, valid, has_valid_damage: true, decode: &decode }.run(10_000);
}

/// What a client sends in a round.
fn payload(kind: Kind, client: u32, round: u32) -> Payload {
    let delta = vec![0.25 * client as f32 - 0.5, 0.125 * (round % 5) as f32];
    match kind {
        Kind::EvolutionAntithetic => Payload::Evolution { seed: client + round % 5, plus: 0.5, minus: Some(-0.25) },
        Kind::Clipped => Payload::Clipped {
            within: client.is_multiple_of(2),
            delta: delta.iter().map(|value| 0.1 * value).collect(),
        },
        _ => Payload::Step { n_interactions: 1 + client % 3, delta },
    }
}

struct Rounds {
    coordinator: Coordinator,
    n_clusters: usize,
    has_clip_norm: bool,
}

impl Rounds {
    fn new(setup: &Setup, has_clip_norm: bool) -> Self {
        let coordinator = Coordinator::new(setup.clone()).expect("a sound setup");
        Self { coordinator, n_clusters: setup.clusters.len(), has_clip_norm }
    }

    fn send(&mut self, client: u32, staleness: u32) {
        let (kind, round) = (self.coordinator.expected().kind, self.coordinator.task().round);
        let (start, payload) = (round.saturating_sub(staleness), payload(kind, client, round));
        // Of messages that are refused nothing is asked but that they are.
        let _ = self.coordinator.receive(Message { round, start, client, payload });
    }
}

impl Server for Rounds {
    fn save(&self) -> Vec<u8> {
        self.coordinator.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        self.coordinator.load(bytes)
    }

    fn n_messages(&self) -> usize {
        self.coordinator.n_messages()
    }

    fn model(&self) -> Vec<f32> {
        self.coordinator.task().global.clone()
    }

    fn begin(&mut self) {
        self.send(1, 0);
    }

    fn play(&mut self) {
        check_task(&self.coordinator, self.has_clip_norm);
        let round = self.coordinator.task().round;
        let mut partial = PartialSum::new(N_PARAMS);
        partial.add_step(&[0.5, 0.25], 1.0);
        for cluster in 0..self.n_clusters {
            self.coordinator.receive_cluster_partial(cluster, 0, &partial).expect("a sum");
        }
        // Some clients are away, others are late.
        (0..N_CLIENTS)
            .filter(|client| !(client + round % 4).is_multiple_of(4))
            .for_each(|client| self.send(client, client % 3));
        match self.coordinator.close(&mut seeded(2, Purpose::Noise, 0, 0)) {
            Err(CloseError::Empty { .. }) => assert_eq!(self.coordinator.task().round, round, "it stays open"),
            _ => assert_eq!(Some(self.coordinator.task().round), round.checked_add(1), "the next round"),
        }
        check_task(&self.coordinator, self.has_clip_norm);
        // Every other round is for a few.
        if round.is_multiple_of(2) {
            self.coordinator.open(&[0, 2, 3, 6]).expect("clients of this federation");
        }
    }
}

/// What devices would refuse in a task or a release, a server must not have.
fn check_task(coordinator: &Coordinator, has_clip_norm: bool) {
    let task = coordinator.task();
    assert!(task.global.iter().all(|value| value.is_finite()), "{task:?}");
    assert!(coordinator.ranker().iter().all(|value| value.is_finite()), "the published mean of models");
    assert!(coordinator.cluster_models().flatten().all(|value| value.is_finite()), "the models of clusters");
    assert!(task.clip_norm.is_none_or(|norm| has_clip_norm && norm.is_normal() && norm > 0.0), "{task:?}");
}

fn base() -> Setup {
    Setup::averaging(vec![0.5, -0.5], N_CLIENTS, 5)
}

/// Rules that remember, stand-ins, means of models, clip norms that move, clusters, and every kind of optimiser's memory.
/// With each, whether its clip norm moves.
fn setups() -> Vec<(Setup, bool)> {
    let adaptive = Clip::Adaptive(AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 1.0 });
    let gaussian = Gaussian::new(adaptive, 1.0, CentralMode::Clear).expect("sound");
    let exact = CentralDiscreteGaussian::new(adaptive, 1.0).expect("sound");
    let adam = ServerOptimiser::Adam { rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
    let yogi = ServerOptimiser::Yogi { rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-3 };
    let rprop =
        ServerOptimiser::Rprop { initial_step: 0.1, increase: 1.2, decrease: 0.5, min_step: 1e-6, max_step: 1.0 };
    let centred = Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 2 });
    let detector = Aggregation::FlDetector(FlDetector { window: 2 });
    let krum = Aggregation::Krum(Krum { attackers: 1, squared: false, neighbours: None });
    let mixed = Defence { stand_ins: 2, bound: Some(Radius::Median), mixing: Some(1), ..Defence::of_rule(centred) };
    let evolution = PayloadSemantics::Evolution { sigma: 0.1, antithetic: true };
    let staleness = Staleness { most: 3, exponent: 0.5 };
    vec![
        (Setup { defence: mixed, average_from: Some(2), staleness, ..base() }, false),
        (Setup { defence: Defence::of_rule(detector), optimiser: yogi, ..base() }, false),
        (Setup { defence: Defence::of_rule(krum), rule: evolution, optimiser: rprop, ..base() }, false),
        (Setup { privacy: Arc::new(gaussian), optimiser: adam, average_from: Some(2), ..base() }, true),
        (Setup { privacy: Arc::new(exact), ..base() }, true),
        (
            Setup {
                clusters: vec![vec![0.0, 1.0]; 2],
                optimiser: ServerOptimiser::Momentum { rate: 0.5, momentum: 0.9 },
                ..base()
            },
            false,
        ),
    ]
}

#[test]
fn states_of_coordinators_survive_fuzzing() {
    let setups = setups();
    fuzz("coordinator", setups.len(), |idx| Rounds::new(&setups[idx].0, setups[idx].1));
}

struct Shards(ShardedCoordinator);

impl Shards {
    fn send(&mut self, client: u32) {
        let round = self.0.of_client(client).task().round;
        let payload = payload(Kind::Step, client, round);
        let _ = self.0.receive(Message { round, start: round, client, payload });
    }
}

impl Server for Shards {
    fn save(&self) -> Vec<u8> {
        self.0.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        self.0.load(bytes)
    }

    fn n_messages(&self) -> usize {
        self.0.shards().iter().map(Coordinator::n_messages).sum()
    }

    fn model(&self) -> Vec<f32> {
        self.0.ranker()
    }

    fn begin(&mut self) {
        (0..3).for_each(|client| self.send(client));
    }

    fn play(&mut self) {
        self.0.shards().iter().for_each(|shard| check_task(shard, false));
        let round = self.0.shards()[0].task().round;
        assert!(self.0.shards().iter().all(|shard| shard.task().round == round), "shards are in the same round");
        let drawn: Vec<u32> = (0..N_CLIENTS - 1).collect();
        self.0.open(&drawn).expect("clients of this federation");
        drawn.into_iter().for_each(|client| self.send(client));
        let _ = self.0.close(&mut seeded(2, Purpose::Noise, 0, 0));
        let next = round.checked_add(1);
        assert!(self.0.shards().iter().all(|shard| Some(shard.task().round) == next), "the next round");
        assert!(self.0.ranker().iter().all(|value| value.is_finite()), "the published ranker");
    }
}

#[test]
fn states_of_shards_survive_fuzzing() {
    let centred = Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 2 });
    let setups = [base(), Setup { defence: Defence::of_rule(centred), average_from: Some(1), ..base() }];
    let isolation = ShardIsolation { shards: 2 };
    fuzz("sharded-coordinator", setups.len(), |idx| {
        Shards(ShardedCoordinator::new(&setups[idx], isolation).expect("a sound setup"))
    });
}

struct Versions {
    coordinator: AsynchronousCoordinator,
    max_staleness: u32,
}

impl Versions {
    fn send(&mut self, client: u32, staleness: u32) {
        let (kind, newest) = (self.coordinator.expected().kind, self.coordinator.task().round);
        let (start, payload) = (newest.saturating_sub(staleness), payload(kind, client, newest));
        let before = self.coordinator.save();
        match self.coordinator.receive(&Message { round: newest, start, client, payload }) {
            Ok(_) | Err(Refused::Overflow { .. }) => {}
            Err(error) => assert_eq!(self.coordinator.save(), before, "{error}, and something has changed"),
        }
    }
}

impl Server for Versions {
    fn save(&self) -> Vec<u8> {
        self.coordinator.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        self.coordinator.load(bytes)
    }

    fn n_messages(&self) -> usize {
        0
    }

    fn model(&self) -> Vec<f32> {
        self.coordinator.task().global.clone()
    }

    fn begin(&mut self) {
        self.send(1, 0);
    }

    /// As many messages as make a new version whatever is buffered, from all versions that may be started from.
    fn play(&mut self) {
        let newest = self.coordinator.task().round;
        let n_sent = self.max_staleness + 2;
        (0..n_sent).for_each(|idx| self.send(idx % N_CLIENTS, idx.min(self.max_staleness)));
        let task = self.coordinator.task();
        assert!(task.global.iter().all(|value| value.is_finite()), "{task:?}");
        assert!((newest..=newest.saturating_add(n_sent)).contains(&task.round), "{} after {newest}", task.round);
    }
}

#[test]
fn states_of_asynchronous_coordinators_survive_fuzzing() {
    // A buffer that five messages fill once, with two left.
    let buffered = Buffered { buffer: 3, staleness_exponent: 0.5, rate_limit: 2, max_staleness: 3 };
    let naive = Naive { updates_per_round: 2, max_staleness: 3 };
    let adagrad = ServerOptimiser::Adagrad { rate: 0.1, epsilon: 1e-3 };
    let evolution = PayloadSemantics::Evolution { sigma: 0.1, antithetic: true };
    let setups = [
        (base(), Asynchrony::Buffered(buffered)),
        (Setup { rule: evolution, optimiser: adagrad, ..base() }, Asynchrony::Buffered(buffered)),
        (base(), Asynchrony::Naive(naive)),
    ];
    fuzz("asynchronous-coordinator", setups.len(), |idx| {
        let (setup, asynchrony) = setups[idx].clone();
        let coordinator = AsynchronousCoordinator::new(setup, asynchrony).expect("a sound setup");
        Versions { coordinator, max_staleness: 3 }
    });
}
