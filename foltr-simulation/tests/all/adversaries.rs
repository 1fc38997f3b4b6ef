//! All attacks in whole rounds: no honest message is ever touched, garbage is refused, and the same seed gives the same
//! bits.

use std::sync::{Arc, Mutex};

use foltr_federation::Participation;
use foltr_federation::privacy::Unprotected;
use foltr_federation::{
    Coordinator, Defence, Mechanism, Message, Mode, Payload, PayloadSemantics, ServerOptimiser, Setup,
};
use foltr_rank::learn::evolution::{EvolutionSettings, Reward, fill_direction};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::rng::{Stream, Streams};
use foltr_rank::{Params, Shape};
use foltr_simulation::adversary::{Adversary, Attack, Attackers, Knowledge, Own, Promotion, Seeds, Seen, SignFlip};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::{ClientLearner, Round, TrainingSet, Worker};
use foltr_simulation::client_states::StateStretch;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use rand::RngExt;
use serde_json::json;

const SEED: u64 = 5;
const N_CLIENTS: u32 = 10;
const N_ATTACKERS: u32 = 3;
const PDGD: Learning = Learning::Pdgd(PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 10,
    clip_radius: None,
    proximal: 0.0,
});
const EVOLUTION: Learning = Learning::Evolution {
    settings: EvolutionSettings {
        sigma: 0.01,
        antithetic: true,
        reward: Reward::MaxRr,
        n_interactions: 4,
        n_shown: 10,
    },
    published_stream: false,
};

fn training() -> TrainingSet {
    let synthetic = Synthetic { n_train: 60, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
    TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10)
}

fn users(preset: Preset) -> Users {
    Users::Cascade(Cascade::preset(preset, 2).expect("three grades"))
}

/// All clients click in one way.
fn partition(preset: Preset) -> ClientData {
    ClientData::iid(training(), users(preset), 4)
}

fn shape(partition: &ClientData) -> Shape {
    Shape::Linear { n_features: partition.sets()[0].data().n_features() }
}

/// A rule that needs every message.
fn trimmed_mean() -> Defence {
    let rule = serde_json::from_value(json!({"kind": "trimmed-mean", "attackers": 2})).expect("a rule");
    Defence { rule, ..Defence::NONE }
}

fn settings(partition: &ClientData, learning: Learning, attackers: impl Into<Option<Attackers>>) -> FederationSettings {
    let shape = shape(partition);
    FederationSettings {
        seed: SEED,
        shape,
        initial: vec![0.01; shape.n_params()],
        learning,
        n_clients: N_CLIENTS,
        personalisation: None,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        absent: Vec::new(),
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: trimmed_mean(),
        attackers: attackers.into(),
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
    }
}

/// Every attack of the list, with the parameters that a file need not name.
fn attacks() -> Vec<(&'static str, Attack)> {
    let read = |&(name, _): &(&'static str, _)| {
        let text = match name {
            "promotion" => json!({"kind": name, "feature": 1, "boost": 3.0}),
            _ => json!({"kind": name}),
        };
        (name, serde_json::from_value(text).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    Attack::LIST.iter().map(read).collect()
}

fn attackers(method: Attack, knowledge: Knowledge) -> Attackers {
    Attackers { attackers: N_ATTACKERS, knowledge, seeds: Seeds::Own, method }
}

/// What an adversary saw and sent in the last round.
#[derive(Clone, Debug, Default, PartialEq)]
struct Record {
    honest: Option<Vec<f32>>,
    before: Vec<f32>,
    sent: Vec<f32>,
}

/// Watches another adversary.
#[derive(Debug)]
struct Watched {
    inner: Option<Box<dyn Adversary>>,
    record: Arc<Mutex<Record>>,
}

fn flat(rows: foltr_simulation::adversary::Rows<'_>) -> Vec<f32> {
    rows.iter().flatten().copied().collect()
}

impl Adversary for Watched {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, stream: &mut Stream) {
        let mut record = self.record.lock().expect("nobody panicked");
        (record.honest, record.before) = (seen.honest.map(flat), flat(own.rows()));
        if let Some(inner) = &mut self.inner {
            inner.corrupt(seen, own, stream);
        }
        record.sent = flat(own.rows());
    }
}

/// Writes whatever no server may take, wherever it can.
#[derive(Debug)]
struct Vandal;

impl Adversary for Vandal {
    fn corrupt(&mut self, _seen: &Seen<'_>, own: &mut Own<'_>, stream: &mut Stream) {
        for row in own.rows_mut() {
            let garbage = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::from_bits(stream.random())];
            row.iter_mut().for_each(|value| *value = garbage[stream.random_range(0..garbage.len())]);
            row[..3].copy_from_slice(&garbage[..3]);
        }
    }
}

/// What all clients would send in round 0 if nobody lied, by a worker that knows of no adversary.
fn honest_messages(settings: &FederationSettings, partition: &ClientData) -> (Vec<Message>, Coordinator) {
    let rule = match settings.learning {
        Learning::Pdgd(_) => PayloadSemantics::Averaging,
        Learning::Evolution { settings, .. } => {
            PayloadSemantics::Evolution { sigma: f64::from(settings.sigma), antithetic: settings.antithetic }
        }
    };
    let learner: Box<dyn ClientLearner> = match settings.learning {
        Learning::Pdgd(pdgd) => Box::new(foltr_rank::learn::pdgd::Pdgd::new(settings.shape, pdgd)),
        Learning::Evolution { settings: evolution, .. } => {
            Box::new(foltr_rank::learn::evolution::Evolution::new(settings.shape, evolution))
        }
    };
    let setup = Setup {
        initial: settings.initial.clone(),
        n_clients: N_CLIENTS,
        n_interactions: 4,
        rule,
        defence: settings.defence,
        optimiser: settings.optimiser,
        mode: Mode::Clear,
        clip_norm: None,
    };
    let coordinator = Coordinator::new(setup).expect("a sound setup");
    let streams = Streams::new(SEED);
    let round = Round {
        task: coordinator.task(),
        clusters: &[],
        partition,
        privacy: &settings.privacy,
        sums_only: false,
        rule,
        streams: &streams,
    };
    let mut messages = Vec::new();
    Worker::new(learner, &streams).run_clients(&round, 0..N_CLIENTS, &mut StateStretch::none(), |sent| {
        messages.push(Message { round: 0, client: sent.client, payload: sent.payload.clone() });
    });
    (messages, coordinator)
}

/// The model after a round of these messages.
fn closed(mut coordinator: Coordinator, messages: impl IntoIterator<Item = Message>) -> Params {
    messages.into_iter().for_each(|message| coordinator.receive(message).expect("a sound message"));
    coordinator.close().expect("enough clients");
    coordinator.task().global.clone()
}

/// Steps as they are in messages.
fn deltas(messages: &[Message]) -> Vec<f32> {
    let delta = |message: &Message| match &message.payload {
        Payload::Step { delta, .. } => delta.clone(),
        other => panic!("{:?} is no step", other.kind()),
    };
    messages.iter().flat_map(delta).collect()
}

/// A round under an adversary of one's own: what was seen and sent, and the run.
fn one_round<'a>(
    settings: &FederationSettings,
    partition: &'a ClientData,
    inner: Option<Box<dyn Adversary>>,
) -> (Record, FederationRun<'a>) {
    let record = Arc::new(Mutex::new(Record::default()));
    let run = FederationRun::new(settings.clone(), partition).expect("sound settings");
    let mut run = run.with_adversary(Box::new(Watched { inner, record: Arc::clone(&record) }));
    run.round().expect("a round");
    let record = record.lock().expect("nobody panicked").clone();
    (record, run)
}

#[test]
fn no_attack_touches_an_honest_message() {
    let partition = partition(Preset::Navigational);
    for (name, method) in attacks() {
        for knowledge in [Knowledge::Full, Knowledge::Partial] {
            let attackers = attackers(method, knowledge);
            let settings = settings(&partition, PDGD, attackers);
            let (record, run) = one_round(&settings, &partition, attackers.start());
            let (mut messages, coordinator) = honest_messages(&settings, &partition);
            let (own, honest) = messages.split_at_mut(N_ATTACKERS as usize);
            assert_eq!(record.before, deltas(own), "{name}: attackers begin with their honest work");
            let full = (knowledge == Knowledge::Full).then(|| deltas(honest));
            assert_eq!(record.honest, full, "{name}: honest messages, or none");
            assert!(record.sent.iter().all(|value| value.is_finite()), "{name}");
            assert_eq!((record.sent.len(), run.n_refused()), (record.before.len(), 0), "{name}");
            // The server's model follows from the attackers' messages and those that honest clients sent.
            let n_params = settings.initial.len();
            for (message, delta) in own.iter_mut().zip(record.sent.chunks_exact(n_params)) {
                message.payload = Payload::Step { n_interactions: 4, delta: delta.to_vec() };
            }
            assert_eq!(run.task().global, closed(coordinator, messages), "{name}");
        }
    }
}

#[test]
fn a_vandal_is_refused_and_the_round_goes_on() {
    let partition = partition(Preset::Navigational);
    for learning in [PDGD, EVOLUTION] {
        // With four attackers to reckon with, more are needed than the seven that come.
        let default = Defence { momentum: None, ..Defence::recommended(4) };
        for defence in [trimmed_mean(), default, Defence::NONE] {
            let vandals = attackers(Attack::SignFlip(SignFlip::default()), Knowledge::Full);
            let settings = FederationSettings { defence, ..settings(&partition, learning, vandals) };
            let (_, mut run) = one_round(&settings, &partition, Some(Box::new(Vandal)));
            let (messages, coordinator) = honest_messages(&settings, &partition);
            let honest = messages.into_iter().skip(N_ATTACKERS as usize);
            assert_eq!(run.task().global, closed(coordinator, honest), "as if the attackers were not there");
            assert_eq!(run.n_refused(), u64::from(N_ATTACKERS));
            for _ in 0..3 {
                run.round().expect("a round");
            }
            assert_eq!((run.task().round, run.n_refused()), (4, u64::from(4 * N_ATTACKERS)));
            assert!(run.task().global.iter().all(|value| value.is_finite()));
        }
    }
}

#[test]
fn partial_knowledge_is_no_knowledge_of_honest_messages() {
    let ways = [Preset::Navigational, Preset::Informational];
    for (name, method) in attacks() {
        let records = ways.map(|preset| {
            // Attackers click alike in both; only the others differ.
            let partition = partition(preset).with_clicks_of(N_ATTACKERS, N_CLIENTS, users(Preset::Perfect));
            [Knowledge::Partial, Knowledge::Full].map(|knowledge| {
                let attackers = attackers(method, knowledge);
                one_round(&settings(&partition, PDGD, attackers), &partition, attackers.start()).0
            })
        });
        let [[partial, full], [other_partial, other_full]] = &records;
        assert_eq!(partial, other_partial, "{name}");
        assert_ne!(full.honest, other_full.honest, "{name}: the honest messages did differ");
    }
}

/// Some rounds with many clients.
fn model(settings: &FederationSettings, partition: &ClientData, n_threads: usize) -> Params {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
    pool.install(|| {
        let mut run = FederationRun::new(settings.clone(), partition).expect("sound settings");
        for _ in 0..3 {
            run.round().expect("a round");
        }
        run.task().global.clone()
    })
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let partition = partition(Preset::Navigational);
    for learning in [PDGD, EVOLUTION] {
        for (name, method) in attacks() {
            let seeds = Seeds::Free { candidates: 4 };
            let many = Attackers { attackers: 40, seeds, ..attackers(method, Knowledge::Full) };
            let settings = FederationSettings { n_clients: 150, ..settings(&partition, learning, many) };
            let once = model(&settings, &partition, 1);
            assert_eq!(once, model(&settings, &partition, 2), "{name}");
            assert!(once.iter().all(|value| value.is_finite()), "{name}");
            let other = FederationSettings { seed: SEED + 1, ..settings.clone() };
            assert_ne!(once, model(&other, &partition, 1), "{name}");
            let honest = FederationSettings { attackers: None, ..settings };
            let changes_nothing = once == model(&honest, &partition, 1);
            // Clicks are poisoned in the partition, and Fang's search may find nothing that Krum would pick.
            assert!(!changes_nothing || ["click-poisoning", "fang-krum"].contains(&name), "{name} is no attack");
        }
    }
}

#[test]
fn a_flipped_reward_message_is_a_swap() {
    let partition = partition(Preset::Navigational);
    let flip = attackers(Attack::SignFlip(SignFlip { scale: 1.0 }), Knowledge::Partial);
    let settings = settings(&partition, EVOLUTION, flip);
    let (record, run) = one_round(&settings, &partition, flip.start());
    let (mut messages, coordinator) = honest_messages(&settings, &partition);
    let mut direction = vec![0.0; settings.initial.len()];
    for (message, read) in messages.iter_mut().zip(record.before.chunks_exact(settings.initial.len())) {
        let Payload::Evolution { seed, plus, minus: Some(minus) } = message.payload else { panic!("two rewards") };
        fill_direction(seed, &mut direction);
        let coefficient = (f64::from(plus) - f64::from(minus)) / 0.02;
        for (&value, &read) in direction.iter().zip(read) {
            assert!((f64::from(value) * coefficient - f64::from(read)).abs() < 1e-4, "what the server reads");
        }
        message.payload = Payload::Evolution { seed, plus: minus, minus: Some(plus) };
    }
    assert_eq!(run.task().global, closed(coordinator, messages));
}

#[test]
fn promoted_documents_rise() {
    let honest = partition(Preset::Perfect);
    let data = honest.sets()[0].data().clone();
    let promotion = Promotion { feature: 3, quantile: 0.9, query_feature: Some(1), boost: 2.0 };
    let targets = promotion.targets(&data);
    let relabel = |set: &TrainingSet| TrainingSet::new(targets.relabel(set.data()), 10);
    let poisoned = honest.clone().with_labels_of(N_ATTACKERS, N_CLIENTS, relabel);
    let score = |query: usize, model: &[f32]| {
        let view = data.query(query);
        let product = |doc| view.row(doc).iter().zip(model).map(|(x, w)| x * w).sum::<f32>();
        (0..view.n_docs()).map(product).collect::<Vec<_>>()
    };
    let place = |partition: &ClientData, attackers: Option<Attackers>| {
        let settings = FederationSettings { defence: Defence::NONE, ..settings(partition, PDGD, attackers) };
        let mut run = FederationRun::new(settings, partition).expect("sound settings");
        for _ in 0..60 {
            run.round().expect("a round");
        }
        let model = run.ranker();
        let scores: Vec<f32> = (0..data.n_queries()).flat_map(|query| score(query, &model)).collect();
        targets.ranked(&data, &scores).expect("some targets").place
    };
    let attackers = attackers(Attack::Promotion(promotion), Knowledge::Partial);
    let (without, with) = (place(&honest, None), place(&poisoned, Some(attackers)));
    // Measured: .66 instead of .77.
    assert!(with < without - 0.05, "place {with} of promoted documents, {without} without attackers");
}

#[test]
fn bad_parameters_stop_a_run() {
    let partition = partition(Preset::Navigational);
    let bad = attackers(Attack::SignFlip(SignFlip { scale: f64::NAN }), Knowledge::Full);
    let refused = FederationRun::new(settings(&partition, PDGD, bad), &partition).err().expect("no number");
    assert_eq!(refused.to_string(), "scale = NaN must be finite");
}
