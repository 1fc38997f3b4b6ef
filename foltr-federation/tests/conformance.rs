//! What every member of a list must do.

use foltr_federation::aggregate::Mean;
use foltr_federation::privacy::{
    CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit, RandomisedResponse,
    SampledResponse, Unprotected,
};
use foltr_federation::{
    Aggregation, Aggregator, Contribution, Expected, Kind, LocalPrivacy, Message, Payload, Privacy, RoundTask,
    ServerOptimiser, TooFewClients, decode, encode,
};
use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::{Purpose, Streams};

/// One of each, with its name; the lengths are compared with the lists.
fn optimisers() -> Vec<ServerOptimiser> {
    vec![
        ServerOptimiser::LearningRate { rate: 0.1 },
        ServerOptimiser::Momentum { rate: 0.02, momentum: 0.9 },
        ServerOptimiser::Adam { rate: 0.05, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
        ServerOptimiser::Yogi { rate: 0.05, beta1: 0.9, beta2: 0.99, epsilon: 1e-3 },
        ServerOptimiser::Adagrad { rate: 0.5, epsilon: 1e-3 },
        ServerOptimiser::Rprop { initial_step: 0.1, increase: 1.2, decrease: 0.5, min_step: 1e-6, max_step: 50.0 },
    ]
}

/// Mechanisms for models of `n_params` parameters.
fn mechanisms(n_params: usize) -> Vec<Privacy> {
    let gaussian = Gaussian::new(Clip::Fixed(0.3), 2.0, CentralMode::Clear).expect("positive");
    let sampled = SampledResponse::new(0.9, Reward::ClickDcg, 10).expect("p > 1/1024");
    let response = RandomisedResponse::new(0.9, Reward::ClickDcg, 10).expect("p > 1/1024");
    let laplace = DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive");
    vec![
        Privacy::Unprotected(Unprotected { reward: Reward::ClickDcg }),
        Privacy::RandomisedResponse(response),
        Privacy::DistributedLaplace(laplace),
        Privacy::Gaussian(gaussian),
        Privacy::DiscreteGaussian(DiscreteGaussian::new(0.3, 2.0, 2, 0).expect("sound")),
        Privacy::Duchi(Duchi::new(1.0, 0.1).expect("positive")),
        Privacy::PrivUnit(PrivUnit::new(1.0, 0.1, n_params).expect("two coordinates or more")),
        Privacy::SampledResponse(sampled),
    ]
}

fn rules() -> Vec<Aggregation> {
    vec![Aggregation::Mean(Mean {})]
}

/// The name under which a configuration is written.
fn name(config: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(config).expect("a configuration");
    value["kind"].as_str().expect("a kind").to_owned()
}

fn names(list: &[(&str, &str)]) -> Vec<String> {
    list.iter().map(|(name, _)| (*name).to_owned()).collect()
}

#[test]
fn the_lists_are_complete() {
    assert_eq!(optimisers().iter().map(name).collect::<Vec<_>>(), names(ServerOptimiser::LIST));
    assert_eq!(mechanisms(4).iter().map(name).collect::<Vec<_>>(), names(Privacy::LIST));
    assert_eq!(rules().iter().map(name).collect::<Vec<_>>(), names(Aggregation::LIST));
}

/// A configuration is read back as it was written, and refused with one key too many.
fn check_keys<T>(config: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let mut value = serde_json::to_value(config).expect("a configuration");
    assert_eq!(serde_json::from_value::<T>(value.clone()).ok().as_ref(), Some(config));
    value["typo"] = 1.into();
    let error = serde_json::from_value::<T>(value).expect_err("an unknown key").to_string();
    assert!(error.contains("typo"), "{config:?}: {error}");
}

#[test]
fn every_configuration_refuses_unknown_keys() {
    optimisers().iter().for_each(check_keys);
    mechanisms(4).iter().for_each(check_keys);
    rules().iter().for_each(check_keys);
}

#[test]
fn every_optimiser_climbs_a_quadratic_hill() {
    // f(x) = -sum_i a_i (x_i - top_i)^2 / 2, with the gradient a_i (top_i - x_i).
    let (steepness, top) = ([1.0, 0.2, 3.0], [1.0, -2.0, 0.5]);
    let height = |x: &[f64]| -> f64 { (0..3).map(|i| -steepness[i] * (x[i] - top[i]) * (x[i] - top[i]) / 2.0).sum() };
    for optimiser in optimisers() {
        optimiser.check().expect("good parameters");
        let (mut state, mut params) = (optimiser.start(3), vec![0.0; 3]);
        let mut heights = vec![height(&params)];
        for _ in 0..1000 {
            let gradient: Vec<f64> = (0..3).map(|i| steepness[i] * (top[i] - params[i])).collect();
            optimiser.climb(&mut state, &mut params, &gradient);
            heights.push(height(&params));
        }
        assert!(heights[1] > heights[0], "{optimiser:?} starts downhill");
        assert!(heights[1000] > -1e-3, "{optimiser:?} only reaches {}", heights[1000]);
        assert!(params.iter().zip(top).all(|(x, top)| (x - top).abs() < 0.05), "{optimiser:?} stops at {params:?}");
    }
}

#[test]
fn every_optimiser_rests_on_a_zero_step_at_the_start() {
    for optimiser in optimisers() {
        let mut params = vec![1.0, -1.0];
        optimiser.climb(&mut optimiser.start(2), &mut params, &[0.0, 0.0]);
        assert_eq!(params, [1.0, -1.0], "{optimiser:?}");
    }
}

#[test]
fn every_mechanism_sends_what_the_decoder_takes() {
    let task = RoundTask { round: 3, global: vec![0.0; 4], n_clients: 50, n_interactions: 4, clip_norm: None };
    let step = Update::Step { delta: &[0.5, 0.0, -0.25, 1e-30], n_interactions: 4 };
    let updates = [
        (step, Kind::Step),
        (step, Kind::Clipped),
        (step, Kind::Share),
        (Update::Evolution { seed: 9, plus: &[0, 1, 1023, 512], minus: &[] }, Kind::Evolution),
        (Update::Evolution { seed: 9, plus: &[0, 1023], minus: &[3, 0] }, Kind::EvolutionAntithetic),
    ];
    for mechanism in mechanisms(4) {
        let mut payload = Payload::default();
        let mut n_accepted = 0;
        for (update, kind) in updates.into_iter().filter(|(_, kind)| mechanism.accepts(*kind)) {
            let expected = Expected { n_params: 4, kind, max_interactions: 4 };
            for client in 0..50 {
                let mut stream = Streams::new(1).open(Purpose::Noise, client, 3);
                mechanism.protect(update, &task, &mut stream, &mut payload);
                let message = Message { round: 3, client, payload: payload.clone() };
                let mut bytes = Vec::new();
                encode(&message, &mut bytes);
                assert_eq!(decode(&bytes, &expected), Ok(message), "{mechanism:?}");
            }
            n_accepted += 1;
        }
        assert!(n_accepted > 0, "{mechanism:?} accepts nothing");
    }
}

#[test]
fn every_mechanism_depends_on_its_stream_alone() {
    let task = RoundTask { round: 0, global: vec![0.0; 64], n_clients: 2, n_interactions: 64, clip_norm: None };
    let (delta, outcomes) = ([0.0; 64], [1; 64]);
    for mechanism in mechanisms(64) {
        let update = if mechanism.accepts(Kind::Evolution) && !mechanism.accepts(Kind::Step) {
            Update::Evolution { seed: 1, plus: &outcomes, minus: &[] }
        } else {
            Update::Step { delta: &delta, n_interactions: 64 }
        };
        let sent = |client| {
            let mut payload = Payload::default();
            mechanism.protect(update, &task, &mut Streams::new(1).open(Purpose::Noise, client, 0), &mut payload);
            payload
        };
        assert_eq!(sent(0), sent(0), "{}", name(&mechanism));
        // The noise of a central Gaussian is not the device's.
        let is_random = !matches!(mechanism, Privacy::Unprotected(_) | Privacy::Gaussian(_));
        assert_eq!((1..100).any(|client| sent(0) != sent(client)), is_random, "{}", name(&mechanism));
    }
}

#[test]
fn every_rule_is_translation_equivariant_and_refuses_an_empty_round() {
    for mut rule in rules() {
        let round = |shift: f32| -> Vec<Contribution> {
            let client = |client: u16| {
                let at = f32::from(client);
                Contribution { client: client.into(), weight: 1.0, delta: vec![at + shift, 0.5 * at * at + shift] }
            };
            (0..9).map(client).collect()
        };
        let (at_rest, shifted) = (rule.aggregate(&round(0.0)), rule.aggregate(&round(2.0)));
        let (at_rest, shifted) = (at_rest.expect("nine clients"), shifted.expect("nine clients"));
        at_rest.iter().zip(&shifted).for_each(|(a, b)| assert!((b - a - 2.0).abs() < 1e-9, "{rule:?}"));
        assert!(matches!(rule.aggregate(&[]), Err(TooFewClients { got: 0, .. })), "{rule:?}");
    }
}
