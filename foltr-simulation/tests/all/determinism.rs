//! Same seed, same bits: whatever the number of threads, and in whatever order messages arrive.

use foltr_federation::Participation;
use foltr_federation::privacy::{
    AdaptiveClip, CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit,
    RandomisedResponse, SampledResponse, Unprotected,
};
use foltr_federation::{Coordinator, Defence, Mechanism, Message, Mode, PayloadSemantics, ServerOptimiser, Setup};
use foltr_rank::learn::evolution::{Evolution, EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::personal::{Additive, Clusters, Ditto, FedPer, Interpolation, Personalisation};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Params, Shape};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::{ClientLearner, Round, RoundStats, TrainingSet, Worker};
use foltr_simulation::client_states::{ClientStates, StateStretch};
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use rand::RngExt;

const N_CLIENTS: u32 = 300;
const PDGD: PdgdSettings =
    PdgdSettings { learning_rate: 0.1, updates: Updates::Immediate, n_shown: 10, clip_radius: None, proximal: 0.0 };
const EVOLUTION: EvolutionSettings =
    EvolutionSettings { sigma: 0.01, antithetic: true, reward: Reward::MaxRr, n_interactions: 4, n_shown: 10 };

fn partition() -> ClientData {
    let synthetic = Synthetic { n_train: 60, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
    let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
    ClientData::iid(training, Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades")), 4)
}

fn n_features(partition: &ClientData) -> usize {
    partition.sets()[0].data().n_features()
}

fn settings(shape: Shape, learning: Learning, privacy: Mechanism) -> FederationSettings {
    FederationSettings {
        seed: 5,
        shape,
        initial: vec![0.01; shape.n_params()],
        learning,
        n_clients: N_CLIENTS,
        personalisation: None,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        absent: Vec::new(),
        privacy,
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::Momentum { rate: 2.0, momentum: 0.9 },
    }
}

fn all_settings(n_features: usize) -> Vec<FederationSettings> {
    let linear = Shape::Linear { n_features };
    let mlp = Shape::Mlp { n_features, n_hidden: 10, activation: Activation::Logistic };
    let none = || Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr });
    let response = || Mechanism::RandomisedResponse(RandomisedResponse::new(0.9, Reward::MaxRr, 10).expect("p > 1/n"));
    let laplace =
        Mechanism::DistributedLaplace(DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive"));
    let evolution = |published_stream| Learning::Evolution { settings: EVOLUTION, published_stream };
    let sampled = settings(linear, Learning::Pdgd(PDGD), none());
    let pdgd = Learning::Pdgd(PDGD);
    let additive = Personalisation::Additive(Additive { n_clusters: 3, memory: 0.9, own_rate: 0.5, own_decay: 0.01 });
    let clip = Clip::Adaptive(AdaptiveClip { initial: 0.1, quantile: 0.5, rate: 0.2, count_noise: 10.0 });
    let adaptive = Mechanism::Gaussian(Gaussian::new(clip, 2.0, CentralMode::Sealed).expect("positive"));
    let shares = Mechanism::DiscreteGaussian(DiscreteGaussian::new(0.1, 2.0, 200, 10).expect("sound"));
    let sampled_response = Mechanism::SampledResponse(SampledResponse::new(0.9, Reward::MaxRr, 10).expect("p > 1/n"));
    vec![
        settings(linear, Learning::Pdgd(PDGD), none()),
        settings(mlp, Learning::Pdgd(PdgdSettings { updates: Updates::Accumulated, ..PDGD }), none()),
        settings(linear, Learning::Pdgd(PdgdSettings { clip_radius: Some(2.5), ..PDGD }), laplace),
        settings(mlp, evolution(false), response()),
        settings(linear, evolution(true), none()),
        FederationSettings { participation: Participation::Sample(100), ..sampled.clone() },
        FederationSettings {
            participation: Participation::PoissonSampling(0.5),
            average_from: Some(2),
            ..settings(linear, pdgd, adaptive)
        },
        FederationSettings { dropout: 0.1, ..settings(linear, pdgd, shares) },
        FederationSettings {
            personalisation: Some(additive),
            participation: Participation::Sample(150),
            ..sampled.clone()
        },
        FederationSettings {
            personalisation: Some(Personalisation::Ditto(Ditto { pull: 0.1 })),
            dropout: 0.3,
            ..sampled.clone()
        },
        FederationSettings {
            personalisation: Some(Personalisation::Interpolation(Interpolation { memory: 0.9 })),
            ..sampled.clone()
        },
        FederationSettings {
            personalisation: Some(Personalisation::Clusters(Clusters { n_clusters: 3, memory: 0.9 })),
            ..sampled.clone()
        },
        FederationSettings {
            personalisation: Some(Personalisation::FedPer(FedPer {})),
            optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
            ..settings(mlp, pdgd, none())
        },
        settings(linear, pdgd, Mechanism::Duchi(Duchi::new(4.0, 0.1).expect("positive"))),
        settings(linear, pdgd, Mechanism::PrivUnit(PrivUnit::new(4.0, 0.1, n_features).expect("two coordinates"))),
        settings(linear, evolution(false), sampled_response),
    ]
}

fn run(
    settings: FederationSettings,
    partition: &ClientData,
    n_threads: usize,
) -> (Params, Vec<RoundStats>, ClientStates) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
    pool.install(|| {
        let mut run = FederationRun::new(settings, partition).expect("sound settings");
        let tallies = (0..3).map(|_| run.round().expect("a round")).collect();
        // With clusters nobody trains the global model.
        let model = run.own_ranker(0).map_or_else(|| run.task().global.clone(), |own| own.params);
        (model, tallies, run.states().clone())
    })
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let partition = partition();
    for settings in all_settings(n_features(&partition)) {
        let (params, tallies, own) = run(settings.clone(), &partition, 1);
        assert!(params.iter().any(|&p| p != 0.01), "something was learnt");
        for n_threads in [2, 8] {
            let other = run(settings.clone(), &partition, n_threads);
            assert_eq!(
                (&params, &tallies, &own),
                (&other.0, &other.1, &other.2),
                "{n_threads} threads, {:?}",
                settings.learning
            );
        }
    }
}

#[test]
fn a_round_without_enough_survivors_leaves_the_model_alone() {
    let partition = partition();
    let linear = Shape::Linear { n_features: n_features(&partition) };
    let shares = Mechanism::DiscreteGaussian(DiscreteGaussian::new(0.1, 2.0, 299, 0).expect("sound"));
    let settings = FederationSettings { dropout: 0.5, ..settings(linear, Learning::Pdgd(PDGD), shares) };
    let (params, tallies, _) = run(settings, &partition, 2);
    assert!(params.iter().all(|&p| p == 0.01), "no sum was opened");
    assert!(tallies.iter().all(|tally| tally.n_clients > 100 && tally.n_clients < 200), "half of 300 survive");
}

#[test]
fn rounds_that_nobody_reaches_are_passed_over() {
    let partition = partition();
    let linear = Shape::Linear { n_features: n_features(&partition) };
    let none = Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr });
    let settings = settings(linear, Learning::Pdgd(PDGD), none);
    let mut run =
        FederationRun::new(FederationSettings { n_clients: 2, dropout: 0.9, ..settings }, &partition).expect("sound");
    let came: Vec<u64> = (0..40).map(|_| run.round().expect("a round").n_clients).collect();
    // Both are lost with probability .81: 40 rounds without either kind do not happen (chance 2e-4 at most).
    assert!(came.contains(&0) && came.iter().any(|&n| n > 0), "{came:?}");
    assert_eq!(run.task().round, 40);
}

#[test]
fn noise_on_the_sum_has_the_deviation_of_the_label() {
    // Clients that never learn: what moves the model is the noise alone, 4 * .5 / 300 in every coordinate and round.
    let partition = partition();
    let linear = Shape::Linear { n_features: n_features(&partition) };
    let idle = Learning::Pdgd(PdgdSettings { learning_rate: 0.0, ..PDGD });
    let gaussian = Gaussian::new(Clip::Fixed(0.5), 4.0, CentralMode::Sealed).expect("positive");
    let shares = DiscreteGaussian::new(0.5, 4.0, N_CLIENTS, 0).expect("sound");
    for privacy in [Mechanism::Gaussian(gaussian), Mechanism::DiscreteGaussian(shares)] {
        let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
        let settings = FederationSettings { optimiser, ..settings(linear, idle, privacy) };
        let mut run = FederationRun::new(settings, &partition).expect("sound settings");
        let (mut squares, mut n) = (0.0, 0.0);
        for _ in 0..30 {
            let before = run.task().global.clone();
            run.round().expect("a round");
            let moves = run.task().global.iter().zip(&before).map(|(after, before)| f64::from(after - before));
            squares += moves.map(|x| x * x).sum::<f64>();
            n += before.len() as f64;
        }
        let ratio = squares / n / (4.0_f64 * 0.5 / 300.0).powi(2);
        // Five standard errors of a variance of n normal numbers.
        assert!((ratio - 1.0).abs() < 5.0 * (2.0_f64 / n).sqrt(), "{ratio}");
    }
}

#[test]
fn another_seed_gives_another_model() {
    let partition = partition();
    for settings in all_settings(n_features(&partition)) {
        let other = FederationSettings { seed: settings.seed + 1_000, ..settings.clone() };
        assert_ne!(run(settings, &partition, 2).0, run(other, &partition, 2).0);
    }
}

/// Every message of round 0, one by one.
fn messages(
    partition: &ClientData,
    shape: Shape,
    learner: Box<dyn ClientLearner>,
    rule: PayloadSemantics,
) -> (Vec<Message>, Setup) {
    let optimiser = ServerOptimiser::Momentum { rate: 2.0, momentum: 0.9 };
    let setup = Setup {
        initial: vec![0.01; shape.n_params()],
        n_clients: N_CLIENTS,
        n_interactions: 4,
        rule,
        defence: Defence::NONE,
        optimiser,
        mode: Mode::Clear,
        clip_norm: None,
    };
    let coordinator = Coordinator::new(setup.clone()).expect("a sound setup");
    let streams = Streams::new(5);
    let privacy = Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr });
    let round = Round {
        task: coordinator.task(),
        clusters: &[],
        partition,
        privacy: &privacy,
        sums_only: false,
        rule,
        streams: &streams,
    };
    let mut messages = Vec::new();
    Worker::new(learner, &streams).run_clients(&round, 0..N_CLIENTS, &mut StateStretch::none(), |sent| {
        messages.push(Message { round: 0, client: sent.client, payload: sent.payload.clone() });
    });
    (messages, setup)
}

#[test]
fn shuffled_messages_give_the_bits_of_the_simulation() {
    let partition = partition();
    let shape = Shape::Linear { n_features: n_features(&partition) };
    let cases: [(Box<dyn ClientLearner>, _, _); 2] = [
        (Box::new(Pdgd::new(shape, PDGD)), PayloadSemantics::Averaging, Learning::Pdgd(PDGD)),
        (
            Box::new(Evolution::new(shape, EVOLUTION)),
            PayloadSemantics::Evolution { sigma: f64::from(EVOLUTION.sigma), antithetic: true },
            Learning::Evolution { settings: EVOLUTION, published_stream: false },
        ),
    ];
    for (learner, rule, learning) in cases {
        let (mut messages, setup) = messages(&partition, shape, learner, rule);
        let privacy = Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr });
        let mut simulated = FederationRun::new(settings(shape, learning, privacy), &partition).expect("sound");
        simulated.round().expect("a round");
        for seed in 0..3 {
            let mut stream = Streams::new(seed).open(Purpose::Data, 0, 0);
            for last in (1..messages.len()).rev() {
                messages.swap(last, stream.random_range(0..=last));
            }
            let mut coordinator = Coordinator::new(setup.clone()).expect("a sound setup");
            for message in &messages {
                // Over the wire and back: the codec keeps every bit.
                let mut bytes = Vec::new();
                foltr_federation::encode(message, &mut bytes);
                let message = foltr_federation::decode(&bytes, coordinator.expected()).expect("a sound message");
                coordinator.receive(message).expect("an expected message");
            }
            coordinator.close().expect("all clients");
            assert_eq!(coordinator.task().global, simulated.task().global, "{learning:?}");
        }
    }
}
