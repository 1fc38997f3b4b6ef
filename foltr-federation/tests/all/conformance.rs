//! What every member of a list must do.

use crate::noise::seeded;
use foltr_federation::aggregate::{
    Bulyan, CentredClipping, Counted, FlTrust, Krum, Mean, Median, MultiKrum, Neighbours, NormClipping, Radius,
    TrimmedMean,
};
use foltr_federation::history::Header;
use foltr_federation::privacy::{Circumstances, MechanismContext};
use foltr_federation::unlearn::Need;
use foltr_federation::{
    Aggregation, Assurance, Combined, Contributions, Coordinator, Defence, EmptyRound, Expected, Fingerprint, History,
    HistoryPolicy, Kind, Mechanism, Message, Payload, Privacy, RoundTask, ServerOptimiser, Setup, UnlearnError,
    Unlearning,
};
use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Streams};
use proptest::prelude::*;

use crate::vectors::assert_close;
use crate::wire::over_the_wire;

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

fn mechanisms(n_params: usize) -> Vec<Mechanism> {
    let context = MechanismContext {
        reward: Reward::ClickDcg,
        list_length: 10,
        n_rounds: 10,
        circumstances: Circumstances::complete(n_params, 4),
    };
    Privacy::examples().iter().map(|privacy| privacy.mechanism(&context).expect("a sound example")).collect()
}

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
    assert_eq!(Privacy::examples().iter().map(name).collect::<Vec<_>>(), names(Privacy::LIST));
    assert_eq!(Aggregation::examples().iter().map(name).collect::<Vec<_>>(), names(Aggregation::LIST));
    assert_eq!(Unlearning::examples().iter().map(name).collect::<Vec<_>>(), names(Unlearning::LIST));
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
    Privacy::examples().iter().for_each(check_keys);
    Aggregation::examples().iter().for_each(check_keys);
    Unlearning::examples().iter().for_each(check_keys);
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
                let mut stream = seeded(1, Purpose::Noise, client, 3);
                mechanism.protect(update, &task, &mut stream, &mut payload);
                let message = Message { round: 3, start: 3, client, payload: payload.clone() };
                assert_eq!(over_the_wire(&message, &expected), Ok(message), "{mechanism:?}");
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
            mechanism.protect(update, &task, &mut seeded(1, Purpose::Noise, client, 0), &mut payload);
            payload
        };
        assert_eq!(sent(0), sent(0), "{}", mechanism.name());
        // The noise of a central Gaussian is not the device's.
        let is_random = !matches!(
            mechanism,
            Mechanism::Unprotected(_) | Mechanism::Gaussian(_) | Mechanism::CentralDiscreteGaussian(_)
        );
        assert_eq!((1..100).any(|client| sent(0) != sent(client)), is_random, "{}", mechanism.name());
    }
}

/// A round of multiples of 1/64, whose shifts are exact: `n` rows for clients in this order.
fn round_of(order: &[u32], shift: f32) -> Contributions {
    let mut round = Contributions::new(3);
    for &client in order {
        let mut row = [0.0; 3];
        fill_standard_normal(&mut Streams::new(5).open(Purpose::Data, client, 0), &mut row);
        round.push(client, 1.0, &row.map(|value| (value * 64.0).round() / 64.0 + shift));
    }
    round
}

fn combine(rule: &Aggregation, round: &Contributions) -> Result<Combined, EmptyRound> {
    let mut combined = Combined::default();
    rule.start().aggregate(&[0.0; 3], round, &mut combined).map(|()| combined)
}

#[test]
fn every_rule_refuses_an_empty_round() {
    for rule in Aggregation::examples() {
        rule.check().expect("good parameters");
        assert_eq!(combine(&rule, &Contributions::new(3)), Err(EmptyRound), "{rule:?}");
    }
}

#[test]
fn no_rule_depends_on_the_order_of_clients() {
    let (sorted, shuffled) = ([0, 1, 2, 3, 4, 5, 6, 7, 8], [4, 7, 0, 8, 2, 6, 5, 1, 3]);
    for rule in Aggregation::examples() {
        let [sorted, shuffled] = [sorted, shuffled].map(|order| combine(&rule, &round_of(&order, 0.0)).expect("nine"));
        assert_close(&shuffled.step, &sorted.step, 1e-6, &name(&rule));
    }
}

#[test]
fn rules_are_translation_equivariant_unless_they_look_at_lengths() {
    for rule in Aggregation::examples() {
        let order = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        let [at_rest, shifted] = [0.0, 2.0].map(|shift| combine(&rule, &round_of(&order, shift)).expect("nine").step);
        let moved: Vec<f64> = at_rest.iter().zip(&shifted).map(|(a, b)| b - a).collect();
        // These compare with 0: by length, by the distance from a centre that begins there, or by an angle.
        if matches!(name(&rule).as_str(), "norm-clipping" | "centred-clipping" | "fltrust") {
            assert!(moved.iter().any(|value| (value - 2.0).abs() > 1e-3), "{rule:?} moves by {moved:?}");
        } else {
            assert_close(&moved, &[2.0; 3], 1e-6, &name(&rule));
        }
    }
}

#[test]
fn shares_say_what_is_in_a_step() {
    for rule in Aggregation::examples() {
        let round = round_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 0.0);
        let combined = combine(&rule, &round).expect("nine");
        let by_coordinate = matches!(name(&rule).as_str(), "trimmed-mean" | "median" | "bulyan");
        assert_eq!(combined.shares.len(), if by_coordinate { 0 } else { 9 }, "{rule:?}");
        assert!(combined.shares.iter().all(|&share| share >= 0.0), "{rule:?}");
        assert!(combined.shares.iter().sum::<f64>() <= 1.0 + 1e-9, "{rule:?}");
        // FLTrust also makes contributions equally long.
        if !by_coordinate && name(&rule) != "fltrust" {
            let mut step = vec![0.0; 3];
            for (row, share) in round.rows().zip(&combined.shares) {
                step.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value) * share);
            }
            assert_close(&combined.step, &step, 1e-6, &name(&rule));
        }
    }
}

#[test]
fn where_one_rule_is_another() {
    let step = |rule: Aggregation, round: &Contributions| combine(&rule, round).expect("enough").step;
    for n in 3..20_u32 {
        let round = round_of(&(0..n).collect::<Vec<_>>(), 0.0);
        let krum = Krum { attackers: 0, squared: false, neighbours: None };
        let mean = step(Aggregation::Mean(Mean {}), &round);
        let radius = Radius::Fixed(1e6);
        for (rule, what) in [
            (Aggregation::MultiKrum(MultiKrum(krum)), "Multi-Krum without attackers is the mean"),
            (Aggregation::TrimmedMean(TrimmedMean { attackers: 0 }), "nothing trimmed"),
            (Aggregation::NormClipping(NormClipping { radius }), "nothing clipped"),
            (Aggregation::CentredClipping(CentredClipping { radius, iterations: 2 }), "nothing clipped"),
        ] {
            assert_close(&step(rule, &round), &mean, 1e-6, what);
        }
        let chosen = step(Aggregation::Krum(krum), &round);
        let is_chosen = |row: &[f32]| row.iter().zip(&chosen).all(|(&a, &b)| f64::from(a) == b);
        assert!(round.rows().any(is_chosen), "Krum chooses one of its inputs");
        let trimmed = step(Aggregation::TrimmedMean(TrimmedMean { attackers: (n - 1) / 2 }), &round);
        assert_eq!(trimmed, step(Aggregation::Median(Median {}), &round), "all but one or two trimmed");
    }
}

/// All rules that expect attackers, and the others, with strange parameters.
fn strange_rules(attackers: u32, neighbours: Option<Neighbours>) -> Vec<Aggregation> {
    let krum = Krum { attackers, squared: neighbours.is_some(), neighbours };
    let mut rules = Aggregation::examples();
    rules.extend([
        Aggregation::Krum(krum),
        Aggregation::MultiKrum(MultiKrum(krum)),
        Aggregation::TrimmedMean(TrimmedMean { attackers }),
        Aggregation::Bulyan(Bulyan { attackers }),
        Aggregation::FlTrust(FlTrust { trusted: attackers }),
        Aggregation::NormClipping(NormClipping { radius: Radius::Median }),
        Aggregation::CentredClipping(CentredClipping { radius: Radius::Fixed(1e-3), iterations: 5 }),
    ]);
    rules
}

fn any_value() -> impl Strategy<Value = f32> {
    let strange = vec![0.0, -0.0, 1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 1e30, -1e20];
    prop_oneof![prop::sample::select(strange).boxed(), (-2.0_f32..2.0).boxed()]
}

proptest! {
    #[test]
    fn no_rule_panics_or_loses_its_numbers(
        n_params in 1_usize..5,
        sizes in prop::collection::vec(0_usize..20, 1..6),
        attackers in prop_oneof![0_u32..22, Just(u32::MAX)],
        neighbours in prop_oneof![
            (0_u32..22).prop_map(|n| Some(Neighbours::Fixed(n))),
            Just(Some(Neighbours::Counted(Counted::All))),
            Just(None),
        ],
        values in prop::collection::vec(any_value(), 5 * 20 * 4),
    ) {
        let mut values = values.into_iter().cycle();
        let mut rounds = Vec::new();
        for &n in &sizes {
            let mut round = Contributions::new(n_params);
            for client in 0..n as u32 {
                let row: Vec<f32> = values.by_ref().take(n_params).collect();
                round.push(client, f64::from(client + 1), &row);
            }
            let global: Vec<f32> = values.by_ref().take(n_params).collect();
            rounds.push((global, round));
        }
        for rule in strange_rules(attackers, neighbours) {
            for mixing in [None, Some(attackers), Some(1)] {
                let mut running = Defence { mixing, ..Defence::of_rule(rule) }.start();
                for (global, round) in &rounds {
                    let mut combined = Combined::default();
                    match running.aggregate(global, round, &mut combined) {
                        Ok(()) => check_combined(&rule, mixing, round, &combined),
                        Err(EmptyRound) => prop_assert!(round.is_empty(), "{:?}", rule),
                    }
                }
            }
        }
    }
}

/// Numbers stay numbers, and within what was sent where a rule only takes means.
fn check_combined(rule: &Aggregation, mixing: Option<u32>, round: &Contributions, combined: &Combined) {
    assert_eq!(combined.step.len(), round.n_params());
    assert!(combined.shares.is_empty() || (mixing.is_none() && combined.shares.len() == round.len()), "{rule:?}");
    // Clipping and FLTrust also shorten.
    let shortens = matches!(name(rule).as_str(), "norm-clipping" | "centred-clipping" | "fltrust");
    for (i, &step) in combined.step.iter().enumerate() {
        assert!(step.is_finite(), "{rule:?}: {step}");
        let column = || round.rows().map(|row| f64::from(row[i]));
        let (low, high) = (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
        let slack = 1e-6 * low.abs().max(high.abs());
        assert!(shortens || (low - slack..=high + slack).contains(&step), "{rule:?}: {step} in {low}..{high}");
    }
}

/// A history of a run that has just begun, with its first state.
fn empty_history(policy: HistoryPolicy) -> History {
    let setup = Setup::averaging(vec![0.0; 2], 3, 1);
    let (optimiser, settings) = (setup.optimiser, Fingerprint::of(b"settings"));
    let mut history = History::new(Header { policy, n_clients: 3, optimiser, settings, initial: vec![0.0; 2] });
    let state = Coordinator::new(setup).expect("a sound setup").checkpoint();
    history.add_checkpoint(state, &mut Streams::new(1).open(Purpose::Noise, 0, 0));
    history
}

#[test]
fn every_unlearning_method_says_what_it_needs_and_gives() {
    let everything =
        HistoryPolicy { updates_every: Some(5), checkpoints_every: Some(5), ledger: true, retention: None };
    for (method, (name, _)) in Unlearning::examples().into_iter().zip(Unlearning::LIST) {
        assert_eq!((method.name(), method.check()), (*name, Ok(())));
        let stored = empty_history(everything);
        assert_eq!(method.check_request(&stored, &[1]), Ok(()), "{name}");
        assert_eq!(method.check_request(&stored, &[]), Err(UnlearnError::Nobody), "{name}");
        assert_eq!(method.check_request(&stored, &[0, 1, 2]), Err(UnlearnError::Everybody), "{name}");
        let nobody = method.check_request(&stored, &[3]).expect_err("no such client").to_string();
        assert_eq!(nobody, "client 3 is not one of the 3 of this federation, counted from 0");
        let nothing = method.check_request(&empty_history(HistoryPolicy::default()), &[1]);
        match method.needs().first() {
            Some(&need) => assert_eq!(nothing, Err(UnlearnError::Need { method: method.name(), need })),
            None => assert_eq!(nothing, Ok(())),
        }
        match method.guarantee() {
            Assurance::Heuristic { why } => assert!(!why.is_empty(), "{name}"),
            Assurance::Certified { epsilon, delta } => assert!(epsilon > 0.0 && delta > 0.0, "{name}"),
            Assurance::Exact => assert!(["retrain", "shard-isolation"].contains(name), "{name}"),
        }
    }
}

#[test]
fn stored_rounds_serve_wider_intervals() {
    let policy = HistoryPolicy { updates_every: Some(5), checkpoints_every: Some(4), ..HistoryPolicy::default() };
    let met = |need: Need| need.is_met(&policy);
    assert!([5, 10, 20].into_iter().all(|every| met(Need::Updates { every })));
    assert!(![1, 4, 6].into_iter().any(|every| met(Need::Updates { every })));
    assert!(met(Need::Checkpoints { every: Some(8) }) && !met(Need::Checkpoints { every: Some(6) }));
    assert!(met(Need::Checkpoints { every: None }) && !met(Need::Ledger));
    assert_eq!(Need::Updates { every: 10 }.to_string(), "the updates of rounds 1, 11, 21, ...");
}

#[test]
fn bad_parameters_of_unlearning_are_named() {
    for (text, name) in [
        (r#"{"kind":"fed-eraser","interval":0,"steps":1}"#, "interval"),
        (r#"{"kind":"fed-eraser","interval":5,"steps":0}"#, "steps"),
        (r#"{"kind":"shard-isolation","shards":0}"#, "shards"),
        (r#"{"kind":"noisy-rollback","clip_norm":0,"epsilon":1,"delta":1e-5,"max_noise":1}"#, "clip_norm"),
        (r#"{"kind":"noisy-rollback","clip_norm":1,"epsilon":1,"delta":0,"max_noise":1}"#, "delta"),
        (r#"{"kind":"noisy-rollback","clip_norm":1,"epsilon":1,"delta":1e-5,"max_noise":-1}"#, "max_noise"),
        (r#"{"kind":"certificate","epsilon":-1,"delta":1e-5}"#, "epsilon"),
    ] {
        let method: Unlearning = serde_json::from_str(text).expect(text);
        assert_eq!(method.check().map_err(|bad| bad.name), Err(name));
    }
}
