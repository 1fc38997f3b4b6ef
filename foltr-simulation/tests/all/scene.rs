//! A small federation, in many variants, for all tests.

use std::sync::LazyLock;

use foltr_federation::aggregate::{NormClipping, Radius, TrimmedMean};
use foltr_federation::privacy::Unprotected;
use foltr_federation::unlearn::MessageCost;
use foltr_federation::{
    Aggregation, Checkpoint, Coordinator, Defence, Fingerprint, History, HistoryPolicy, Mechanism, Message,
    Participation, ServerOptimiser, Setup, Staleness, Unlearning, WorkerMomentum,
};
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::rng::{Lineage, Streams};
use foltr_rank::{Params, Shape};
use foltr_simulation::adversary::{Attack, Attackers, Knowledge, Negation, Seeds};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::{TrainingSet, Worker};
use foltr_simulation::client_states::StateStretch;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_simulation::unlearning::{Request, UnlearningError, UnlearningResult, unlearn};

pub const N_CLIENTS: u32 = 10;
pub const N_INTERACTIONS: u32 = 5;
pub const N_FEATURES: usize = 12;
pub const LINEAR: Shape = Shape::Linear { n_features: N_FEATURES };
pub const PDGD: PdgdSettings = PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 10,
    clip_radius: None,
    proximal: 0.0,
    max_displacement: None,
};
/// For clients with four interactions.
pub const EVOLUTION: EvolutionSettings =
    EvolutionSettings { sigma: 0.01, antithetic: true, reward: Reward::MaxRr, n_interactions: 4, n_shown: 10 };
pub const MOMENTUM: ServerOptimiser = ServerOptimiser::Momentum { rate: 2.0, momentum: 0.9 };

pub const fn evolution(published_stream: bool) -> Learning {
    Learning::Evolution { settings: EVOLUTION, published_stream }
}

pub fn users(preset: Preset) -> Users {
    Users::Cascade(Cascade::preset(preset, 2).expect("three grades"))
}

/// All clients draw from the same generated queries.
pub fn iid(shape: SyntheticShape, n_queries: usize, preset: Preset, n_interactions: u32) -> ClientData {
    let synthetic = Synthetic { n_train: n_queries, n_test: 1, n_validation: 0, ..Synthetic::new(shape) };
    let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
    ClientData::iid(training, users(preset), n_interactions)
}

/// Navigational users with five interactions a round.
pub fn partition() -> &'static ClientData {
    static PARTITION: LazyLock<ClientData> =
        LazyLock::new(|| iid(SyntheticShape::Tiny, 60, Preset::Navigational, N_INTERACTIONS));
    &PARTITION
}

/// The same with four.
pub fn even_partition() -> &'static ClientData {
    static PARTITION: LazyLock<ClientData> = LazyLock::new(|| iid(SyntheticShape::Tiny, 60, Preset::Navigational, 4));
    &PARTITION
}

/// FedAvg of PDGD clients.
pub fn settings() -> FederationSettings {
    FederationSettings {
        seed: 5,
        shape: LINEAR,
        initial: vec![0.01; LINEAR.n_params()],
        learning: Learning::Pdgd(PDGD),
        n_clients: N_CLIENTS,
        personalisation: None,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        staleness: Staleness::NONE,
        single_messages: false,
        absent: Vec::new(),
        lineage: Lineage::TRAINING,
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
    }
}

/// Clients that send one reward for five interactions.
pub fn single_rewards(published_stream: bool) -> FederationSettings {
    let n_interactions = N_INTERACTIONS as usize;
    let settings = EvolutionSettings { antithetic: false, n_interactions, ..EVOLUTION };
    FederationSettings { learning: Learning::Evolution { settings, published_stream }, ..self::settings() }
}

/// Every message of round 0, one by one, from a worker that knows of no adversary.
pub fn messages(settings: &FederationSettings, partition: &ClientData) -> (Vec<Message>, Setup) {
    let setup = settings.setup(partition);
    let coordinator = Coordinator::new(setup.clone()).expect("a sound setup");
    let streams = Streams::new(settings.seed);
    let round = settings.round(coordinator.task(), partition, &streams);
    let mut messages = Vec::new();
    let mut worker = Worker::new(settings.client_learner(), &streams);
    worker.run_clients(&round, 0..settings.n_clients, &mut StateStretch::none(), |sent| {
        messages.push(Message { round: 0, start: 0, client: sent.client, payload: sent.payload.clone() });
    });
    (messages, setup)
}

pub fn on_threads<T: Send>(n_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads").install(work)
}

/// Client 0 sends the opposite of its model.
pub fn marked() -> Attackers {
    let method = Attack::Negation(Negation::default());
    Attackers { attackers: 1, knowledge: Knowledge::Partial, seeds: Seeds::Own, method }
}

pub fn clipped(radius: f64) -> Defence {
    Defence { rule: Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(radius) }), ..Defence::NONE }
}

/// Trimmed mean alone.
pub fn trimmed(attackers: u32) -> Defence {
    Defence::of_rule(Aggregation::TrimmedMean(TrimmedMean { attackers }))
}

/// Federations that can be resumed, each with something else to remember.
pub fn variants() -> Vec<(&'static str, FederationSettings)> {
    const MOMENTUM: ServerOptimiser = ServerOptimiser::Momentum { rate: 0.7, momentum: 0.9 };
    const ADAM: ServerOptimiser = ServerOptimiser::Adam { rate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
    const DEVICES: Defence = Defence { momentum: Some(WorkerMomentum::Fixed { beta: 0.5 }), ..Defence::NONE };
    let with = |change: fn(&mut FederationSettings)| {
        let mut settings = settings();
        change(&mut settings);
        settings
    };
    vec![
        ("everyone", settings()),
        ("server momentum", with(|it| it.optimiser = MOMENTUM)),
        ("adam and coins", with(|it| (it.optimiser, it.participation) = (ADAM, Participation::PoissonSampling(0.5)))),
        ("sample and dropouts", with(|it| (it.participation, it.dropout) = (Participation::Sample(4), 0.3))),
        ("tail mean", with(|it| (it.average_from, it.dropout) = (Some(3), 0.1))),
        ("device momentum", with(|it| (it.defence, it.participation) = (DEVICES, Participation::PoissonSampling(0.7)))),
        ("clipping", with(|it| it.defence = clipped(0.05))),
        ("marked client", with(|it| it.attackers = Some(marked()))),
        ("many clients", with(|it| (it.n_clients, it.optimiser) = (150, MOMENTUM))),
        ("evolution", single_rewards(false)),
        ("stand-ins", with(|it| (it.defence, it.dropout) = (Defence::recommended(2), 0.4))),
        (
            "stand-ins of a sample",
            with(|it| {
                (it.defence, it.participation, it.dropout) = (trimmed(2), Participation::Sample(6), 0.3);
                it.defence.stand_ins = 2;
            }),
        ),
    ]
}

pub fn variant(name: &str) -> FederationSettings {
    variants().into_iter().find(|(own, _)| *own == name).expect("listed").1
}

pub fn new_run(settings: &FederationSettings) -> FederationRun<'static> {
    FederationRun::new(settings.clone(), partition()).expect("sound settings")
}

pub fn run(settings: &FederationSettings, n_rounds: u32) -> FederationRun<'static> {
    let mut run = new_run(settings);
    advance(&mut run, n_rounds);
    run
}

pub fn advance(run: &mut FederationRun<'_>, n_rounds: u32) {
    for _ in 0..n_rounds {
        run.round().expect("a round");
    }
}

pub fn fingerprint() -> Fingerprint {
    Fingerprint::of(b"the settings of this test")
}

/// A run that records a history, and its ranker.
pub fn trained(settings: &FederationSettings, policy: HistoryPolicy, n_rounds: u32) -> (Params, History) {
    let mut run = new_run(settings).with_history(policy, fingerprint()).expect("it can be recorded");
    advance(&mut run, n_rounds);
    let ranker = run.ranker();
    (ranker, run.into_history().expect("a history"))
}

/// Everything that can be recorded of every round.
pub const EVERYTHING: HistoryPolicy =
    HistoryPolicy { updates_every: Some(1), checkpoints_every: Some(1), ledger: true, retention: None };

pub fn checkpoints(every: u32) -> HistoryPolicy {
    HistoryPolicy { checkpoints_every: Some(every), ..HistoryPolicy::default() }
}

pub fn updates(every: u32) -> HistoryPolicy {
    HistoryPolicy { updates_every: Some(every), ..HistoryPolicy::default() }
}

/// As much as these settings allow.
pub fn policy_of(settings: &FederationSettings) -> HistoryPolicy {
    match settings.learning {
        Learning::Evolution { .. } => checkpoints(1),
        _ => EVERYTHING,
    }
}

pub fn forget(
    method: Unlearning,
    settings: &FederationSettings,
    history: &History,
    leavers: &[u32],
) -> Result<UnlearningResult, UnlearningError> {
    unlearn(&request(&method, settings, history, leavers))
}

/// A request to clients whose messages hide nothing, or need not be accounted for.
pub fn request<'r>(
    method: &'r Unlearning,
    settings: &'r FederationSettings,
    history: &'r History,
    leavers: &'r [u32],
) -> Request<'static, 'r> {
    Request { method, settings, partition: partition(), history, leavers, cost: MessageCost::UNPROTECTED }
}

/// A run that never had some clients.
pub fn without(settings: &FederationSettings, absent: &[u32], n_rounds: u32) -> Params {
    run(&FederationSettings { absent: absent.to_vec(), ..settings.clone() }, n_rounds).ranker()
}

pub fn latest(history: &History) -> &Checkpoint {
    history.latest().expect("a newest state")
}

/// Whether four consecutive numbers of `values` are somewhere in the bytes.
pub fn contains_window(bytes: &[u8], values: &[f32]) -> bool {
    values.windows(4).any(|window| {
        // Zeros are everywhere, and nobody's.
        let pattern: Vec<u8> = window.iter().flat_map(|value| value.to_le_bytes()).collect();
        window.iter().any(|&value| value != 0.0) && bytes.windows(pattern.len()).any(|bytes| bytes == pattern)
    })
}

pub fn updates_of(history: &History, client: u32) -> Vec<Vec<f32>> {
    history.records().filter_map(|record| record.update(client)).map(<[f32]>::to_vec).collect()
}
