//! Same seed, same bits: whatever the number of threads, and in whatever order messages arrive.

use foltr_federation::privacy::{
    AdaptiveClip, CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit,
    RandomisedResponse, SampledResponse,
};
use foltr_federation::protocol::{Contribution, DeviceId, ReleaseId};
use foltr_federation::{Coordinator, Fingerprint, Mechanism, Message, Participation, Payload, ServerOptimiser};
use foltr_rank::interleave::Interleaving;
use foltr_rank::learn::dueling::DuelSettings;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pair_rank::{PairRankSettings, statistics};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::{Additive, Clusters, Ditto, FedPer, Interpolation, Personalisation};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Params, Shape};
use foltr_simulation::SimulatedNoise;
use foltr_simulation::client_round::RoundStats;
use foltr_simulation::client_states::ClientStates;
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use rand::RngExt;

use crate::scene::{EVOLUTION, LINEAR, MOMENTUM, N_FEATURES, PDGD, even_partition, evolution, messages, on_threads};

const DUEL: DuelSettings = DuelSettings {
    learning_rate: 0.1,
    exploration: 1.0,
    n_candidates: 3,
    interleaving: Interleaving::Probabilistic,
    n_shown: 10,
    clip_radius: None,
};

const PDGD_CLIENTS: Learning = Learning::Pdgd(PDGD);

/// More than four chunks of clients, the last one not full.
fn settings(shape: Shape, learning: Learning) -> FederationSettings {
    let initial = vec![0.01; shape.n_params()];
    FederationSettings { shape, initial, learning, n_clients: 300, optimiser: MOMENTUM, ..crate::scene::settings() }
}

fn pair_rank() -> FederationSettings {
    let learning = Learning::PairRank(PairRankSettings { exploration: 0.5, n_shown: 10 });
    let initial = statistics::initial(N_FEATURES, 0.1);
    let shape = Shape::Linear { n_features: initial.len() };
    let optimiser = FederationSettings::plain_optimiser(&learning, Participation::Everyone, 300);
    FederationSettings { initial, optimiser, ..settings(shape, learning) }
}

fn all_settings() -> Vec<FederationSettings> {
    let mlp = Shape::Mlp { n_features: N_FEATURES, n_hidden: 10, activation: Activation::Logistic };
    let response = Mechanism::RandomisedResponse(RandomisedResponse::new(0.9, Reward::MaxRr, 10).expect("p > 1/n"));
    let laplace = DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive");
    let clip = Clip::Adaptive(AdaptiveClip { initial: 0.1, quantile: 0.5, rate: 0.2, count_noise: 10.0 });
    let adaptive = Gaussian::new(clip, 2.0, CentralMode::Sealed).expect("positive");
    let shares = DiscreteGaussian::new(0.1, 2.0, 200, 10).expect("sound");
    let sampled_response = SampledResponse::new(0.9, Reward::MaxRr, 10).expect("p > 1/n");
    let duchi = Duchi::new(4.0, 0.1).expect("positive");
    let priv_unit = PrivUnit::new(4.0, 0.1, N_FEATURES).expect("two coordinates");
    let additive = Additive { n_clusters: 3, memory: 0.9, own_rate: 0.5, own_decay: 0.01 };
    let plain = settings(LINEAR, PDGD_CLIENTS);
    let private = |privacy| FederationSettings { privacy, ..plain.clone() };
    let personal = |method| FederationSettings { personalisation: Some(method), ..plain.clone() };
    let clipped = Learning::Pdgd(PdgdSettings { clip_radius: Some(2.5), ..PDGD });
    vec![
        plain.clone(),
        settings(mlp, Learning::Pdgd(PdgdSettings { updates: Updates::Accumulated, ..PDGD })),
        settings(mlp, Learning::Pdgd(PdgdSettings { max_displacement: Some(3), ..PDGD })),
        FederationSettings { learning: clipped, ..private(Mechanism::DistributedLaplace(laplace)) },
        FederationSettings { privacy: response, ..settings(mlp, evolution(false)) },
        settings(LINEAR, evolution(true)),
        settings(LINEAR, Learning::Dueling(DUEL)),
        pair_rank(),
        FederationSettings { participation: Participation::Sample(100), ..plain.clone() },
        FederationSettings {
            participation: Participation::PoissonSampling(0.5),
            average_from: Some(2),
            ..private(Mechanism::Gaussian(adaptive))
        },
        FederationSettings { dropout: 0.1, ..private(Mechanism::DiscreteGaussian(shares)) },
        FederationSettings {
            participation: Participation::Sample(150),
            ..personal(Personalisation::Additive(additive))
        },
        FederationSettings { dropout: 0.3, ..personal(Personalisation::Ditto(Ditto { pull: 0.1 })) },
        personal(Personalisation::Interpolation(Interpolation { memory: 0.9 })),
        personal(Personalisation::Clusters(Clusters { n_clusters: 3, memory: 0.9 })),
        FederationSettings {
            personalisation: Some(Personalisation::FedPer(FedPer {})),
            optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
            ..settings(mlp, PDGD_CLIENTS)
        },
        private(Mechanism::Duchi(duchi)),
        private(Mechanism::PrivUnit(priv_unit)),
        FederationSettings { learning: evolution(false), ..private(Mechanism::SampledResponse(sampled_response)) },
    ]
}

fn run(settings: FederationSettings) -> (Params, Vec<RoundStats>, ClientStates) {
    let mut run = FederationRun::new(settings, even_partition()).expect("sound settings");
    let stats = (0..3).map(|_| run.round().expect("a round")).collect();
    // With clusters nobody trains the global model.
    let model = run.own_ranker(0).map_or_else(|| run.task().global.clone(), |own| own.params);
    (model, stats, run.states().clone())
}

#[test]
fn any_number_of_threads_gives_the_same_bits_and_another_seed_others() {
    for settings in all_settings() {
        let single = on_threads(1, || run(settings.clone()));
        assert!(single.0.iter().any(|&p| p != 0.01), "something was learnt");
        for n_threads in [2, 8] {
            let other = on_threads(n_threads, || run(settings.clone()));
            assert_eq!(single, other, "{n_threads} threads, {:?}", settings.learning);
        }
        let seed = settings.seed + 1_000;
        assert_ne!(single.0, run(FederationSettings { seed, ..settings }).0);
    }
}

/// The server's statistics are the first ones and the sum of what all clients send; the ranker follows from them.
#[test]
fn statistics_of_pair_rank_add_up_over_clients() {
    let settings = pair_rank();
    let mut sum: Vec<f64> = settings.initial.iter().map(|&first| f64::from(first)).collect();
    for message in messages(&settings, even_partition()).0 {
        let Payload::Step { delta, .. } = message.payload else { panic!("a step") };
        sum.iter_mut().zip(&delta).for_each(|(sum, &delta)| *sum += f64::from(delta));
    }
    let mut run = FederationRun::new(settings, even_partition()).expect("sound settings");
    run.round().expect("a round");
    for (ours, theirs) in run.task().global.iter().zip(&sum) {
        assert!((f64::from(*ours) - theirs).abs() <= 1e-6 * (1.0 + theirs.abs()), "{ours} is not {theirs}");
    }
    assert_eq!(run.ranker(), statistics::weights(&run.task().global));
    assert!(run.ranker().len() == N_FEATURES && run.ranker().iter().any(|&weight| weight != 0.0));
    // A server that averages is another method.
    let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
    assert!(FederationRun::new(FederationSettings { optimiser, ..pair_rank() }, even_partition()).is_err());
}

#[test]
fn a_round_without_enough_survivors_leaves_the_model_alone() {
    let privacy = Mechanism::DiscreteGaussian(DiscreteGaussian::new(0.1, 2.0, 299, 0).expect("sound"));
    let (params, stats, _) = run(FederationSettings { dropout: 0.5, privacy, ..settings(LINEAR, PDGD_CLIENTS) });
    assert!(params.iter().all(|&p| p == 0.01), "no sum was opened");
    assert!(stats.iter().all(|stats| stats.n_clients > 100 && stats.n_clients < 200), "half of 300 survive");
}

#[test]
fn noise_on_the_sum_has_the_deviation_of_the_label() {
    // Clients that never learn: what moves the model is the noise alone, 4 * .5 / 300 in every coordinate and round.
    let idle = Learning::Pdgd(PdgdSettings { learning_rate: 0.0, ..PDGD });
    let gaussian = Gaussian::new(Clip::Fixed(0.5), 4.0, CentralMode::Sealed).expect("positive");
    let shares = DiscreteGaussian::new(0.5, 4.0, 300, 0).expect("sound");
    for privacy in [Mechanism::Gaussian(gaussian), Mechanism::DiscreteGaussian(shares)] {
        let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
        let settings = FederationSettings { optimiser, privacy, ..settings(LINEAR, idle) };
        let mut run = FederationRun::new(settings, even_partition()).expect("sound settings");
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
fn shuffled_messages_give_the_bits_of_the_simulation() {
    for learning in [PDGD_CLIENTS, Learning::Evolution { settings: EVOLUTION, published_stream: false }] {
        let settings = settings(LINEAR, learning);
        let (mut messages, setup) = messages(&settings, even_partition());
        let mut simulated = FederationRun::new(settings, even_partition()).expect("sound");
        simulated.round().expect("a round");
        for seed in 0..3 {
            let mut stream = Streams::new(seed).open(Purpose::Data, 0, 0);
            for last in (1..messages.len()).rev() {
                messages.swap(last, stream.random_range(0..=last));
            }
            let mut coordinator = Coordinator::new(setup.clone()).expect("a sound setup");
            for message in &messages {
                // Over the wire and back: the codec keeps every bit.
                let Message { round, start, client, payload } = message.clone();
                let (plan, hash) = (Fingerprint::of(b"plan"), Fingerprint::of(b"release"));
                let start = ReleaseId { version: start, hash };
                let device = DeviceId::from_bytes([client as u8; 32]);
                let bytes = Contribution { plan, round, start, device, payload }.encode();
                let received = Contribution::decode(&bytes, &plan, coordinator.expected()).expect("sound");
                let message = received.into_message(client, coordinator.task(), &[start]).expect("the newest release");
                coordinator.receive(message).expect("an expected message");
            }
            coordinator.close(&mut SimulatedNoise::from(stream)).expect("all clients");
            assert_eq!(coordinator.task().global, simulated.task().global, "{learning:?}");
        }
    }
}
