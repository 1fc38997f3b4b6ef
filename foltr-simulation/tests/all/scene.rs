//! A small federation, in many variants, for tests of what is kept, resumed and forgotten.

use foltr_federation::Participation;
use foltr_federation::aggregate::{NormClipping, Radius};
use foltr_federation::history::Erasure;
use foltr_federation::privacy::Unprotected;
use foltr_federation::{
    Aggregation, Checkpoint, Defence, Fingerprint, History, HistoryPolicy, Mechanism, ServerOptimiser, Unlearning,
    WorkerMomentum,
};
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::{Params, Shape};
use foltr_simulation::adversary::{Attack, Attackers, Knowledge, Negation, Seeds};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_simulation::unlearning::{Request, Unlearned, UnlearningError, unlearn};

pub const N_CLIENTS: u32 = 10;
pub const N_INTERACTIONS: u32 = 5;
pub const PDGD: Learning = Learning::Pdgd(PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 10,
    clip_radius: None,
    proximal: 0.0,
});

/// All clients draw from the same queries.
pub fn partition() -> ClientData {
    let synthetic = Synthetic { n_train: 60, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
    let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
    let users = Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades"));
    ClientData::iid(training, users, N_INTERACTIONS)
}

/// FedAvg of PDGD clients.
pub fn settings(partition: &ClientData) -> FederationSettings {
    let shape = Shape::Linear { n_features: partition.sets()[0].data().n_features() };
    FederationSettings {
        seed: 5,
        shape,
        initial: vec![0.01; shape.n_params()],
        learning: PDGD,
        n_clients: N_CLIENTS,
        personalisation: None,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        absent: Vec::new(),
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
    }
}

pub const EVOLUTION: Learning = Learning::Evolution {
    settings: EvolutionSettings {
        sigma: 0.01,
        antithetic: false,
        reward: Reward::MaxRr,
        n_interactions: N_INTERACTIONS as usize,
        n_shown: 10,
    },
    published_stream: false,
};

/// Client 0 sends the opposite of its model.
pub fn marked() -> Attackers {
    let method = Attack::Negation(Negation::default());
    Attackers { attackers: 1, knowledge: Knowledge::Partial, seeds: Seeds::Own, method }
}

/// Updates clipped to a norm.
pub fn clipped(radius: f64) -> Defence {
    Defence { rule: Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(radius) }), ..Defence::NONE }
}

/// Federations that can be resumed, each with something else to remember.
pub fn variants(partition: &ClientData) -> Vec<(&'static str, FederationSettings)> {
    let plain = settings(partition);
    let momentum = ServerOptimiser::Momentum { rate: 0.7, momentum: 0.9 };
    let adam = ServerOptimiser::Adam { rate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
    let devices = Defence { momentum: Some(WorkerMomentum::Fixed { beta: 0.5 }), ..Defence::NONE };
    vec![
        ("everyone", plain.clone()),
        ("server momentum", FederationSettings { optimiser: momentum, ..plain.clone() }),
        (
            "adam and coins",
            FederationSettings { optimiser: adam, participation: Participation::PoissonSampling(0.5), ..plain.clone() },
        ),
        (
            "sample and dropouts",
            FederationSettings { participation: Participation::Sample(4), dropout: 0.3, ..plain.clone() },
        ),
        ("tail mean", FederationSettings { average_from: Some(3), dropout: 0.1, ..plain.clone() }),
        (
            "device momentum",
            FederationSettings {
                defence: devices,
                participation: Participation::PoissonSampling(0.7),
                ..plain.clone()
            },
        ),
        ("clipping", FederationSettings { defence: clipped(0.05), ..plain.clone() }),
        ("marked client", FederationSettings { attackers: Some(marked()), ..plain.clone() }),
        ("many clients", FederationSettings { n_clients: 150, optimiser: momentum, ..plain.clone() }),
        ("evolution", FederationSettings { learning: EVOLUTION, ..plain }),
    ]
}

pub fn run<'a>(settings: &FederationSettings, partition: &'a ClientData, n_rounds: u32) -> FederationRun<'a> {
    let mut run = FederationRun::new(settings.clone(), partition).expect("sound settings");
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

/// A run that keeps a history, and its ranker.
pub fn trained(
    settings: &FederationSettings,
    partition: &ClientData,
    keeping: HistoryPolicy,
    n_rounds: u32,
) -> (Params, History) {
    let run = FederationRun::new(settings.clone(), partition).expect("sound settings");
    let mut run = run.with_history(keeping, fingerprint()).expect("it can be kept");
    advance(&mut run, n_rounds);
    let ranker = run.ranker();
    (ranker, run.into_history().expect("a history"))
}

/// Everything that can be kept of every round.
pub const EVERYTHING: HistoryPolicy =
    HistoryPolicy { updates_every: Some(1), checkpoints_every: Some(1), ledger: true, retention: None };

/// As much as these settings allow.
pub fn keeping(settings: &FederationSettings) -> HistoryPolicy {
    match settings.learning {
        Learning::Pdgd(_) => EVERYTHING,
        Learning::Evolution { .. } => HistoryPolicy { checkpoints_every: Some(1), ..HistoryPolicy::default() },
    }
}

/// Forgets clients.
pub fn forget(
    method: Unlearning,
    settings: &FederationSettings,
    partition: &ClientData,
    history: &History,
    leavers: &[u32],
) -> Result<Unlearned, UnlearningError> {
    unlearn(&method, &Request { settings, partition, history, leavers })
}

/// A run that never had some clients.
pub fn without(settings: &FederationSettings, partition: &ClientData, absent: &[u32], n_rounds: u32) -> Params {
    run(&FederationSettings { absent: absent.to_vec(), ..settings.clone() }, partition, n_rounds).ranker()
}

pub fn latest(history: &History) -> &Checkpoint {
    history.latest().expect("a newest state")
}

pub fn erasures(history: &History) -> Vec<&Erasure> {
    history.erasures().collect()
}

/// Whether four consecutive numbers of `values` are somewhere in the bytes.
pub fn contains_window(bytes: &[u8], values: &[f32]) -> bool {
    values.windows(4).any(|window| {
        // Zeros are everywhere, and nobody's.
        let wanted: Vec<u8> = window.iter().flat_map(|value| value.to_le_bytes()).collect();
        window.iter().any(|&value| value != 0.0) && bytes.windows(wanted.len()).any(|bytes| bytes == wanted)
    })
}

/// All updates of a client that are kept.
pub fn updates_of(history: &History, client: u32) -> Vec<Vec<f32>> {
    history.records().filter_map(|record| record.update(client)).map(<[f32]>::to_vec).collect()
}
