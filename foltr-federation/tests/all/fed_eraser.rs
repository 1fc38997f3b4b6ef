//! FedEraser: golden vectors, and what must hold for any stored and fresh updates (spec sections 15 and 20).

use crate::noise::seeded;
use foltr_federation::history::Header;
use foltr_federation::unlearn::{FedEraser, Variant, calibrate};
use foltr_federation::{
    Contributions, Coordinator, Fingerprint, History, HistoryPolicy, ServerOptimiser, Setup, UnlearnError,
};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Shape};
use proptest::prelude::*;
use serde_json::Value;

use crate::vectors::{assert_close, floats, items, numbers, vectors};

const RATE: ServerOptimiser = ServerOptimiser::LearningRate { rate: 1.0 };

fn cases() -> Value {
    vectors(include_str!("../vectors/federaser_vectors.json"))
}

fn rows(value: &Value) -> Vec<Vec<f32>> {
    items(value).iter().map(floats).collect()
}

fn length(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

fn contributions(rows: &[Vec<f32>], first: u32) -> Contributions {
    let mut all = Contributions::new(rows.first().map_or(0, Vec::len));
    (first..).zip(rows).for_each(|(client, row)| all.push(client, 1.0, row));
    all
}

/// Updates and states of every so many rounds.
fn stored(every: u32) -> HistoryPolicy {
    HistoryPolicy { updates_every: Some(every), checkpoints_every: Some(every), ..HistoryPolicy::default() }
}

/// A history of FedAvg in which these updates came, round after round, from clients 0, 1, ...
fn history(initial: &[f64], policy: HistoryPolicy, updates: &[Vec<Vec<f32>>]) -> History {
    let n_clients = updates[0].len() as u32;
    let setup = Setup::averaging(initial.iter().map(|&value| value as f32).collect(), n_clients, 1);
    let mut coordinator = Coordinator::new(setup).expect("a sound setup");
    let settings = Fingerprint::default();
    let mut history = History::new(Header { policy, n_clients, optimiser: RATE, settings, initial: initial.to_vec() });
    let salts = &mut Streams::new(1).open(Purpose::Noise, 0, 0);
    for (round, rows) in (0..).zip(updates) {
        if policy.stores_checkpoint(round) {
            history.add_checkpoint(coordinator.checkpoint(), salts);
        }
        let model = coordinator.task().global.clone();
        let sent = contributions(rows, 0);
        (0..).zip(rows).for_each(|(client, row)| coordinator.receive_step(client, round, 1, row).expect("a step"));
        coordinator.close(&mut seeded(1, Purpose::Noise, 0, round)).expect("clients");
        history.close(round, &model, sent.clients(), &sent, salts);
    }
    history.add_checkpoint(coordinator.checkpoint(), salts);
    history
}

#[test]
fn golden_calibrations() {
    for case in cases()["calibration"].as_array().expect("cases") {
        let stored = floats(&case["stored"]);
        let mut fresh = floats(&case["fresh"]);
        calibrate(length(&stored), &mut fresh);
        let ours: Vec<f64> = fresh.into_iter().map(f64::from).collect();
        assert_close(&ours, &numbers(&case["result"]), 1e-6, "FedEraser");
    }
}

#[test]
fn a_golden_round() {
    let case = &cases()["round"];
    // Client 0 leaves; the three of the vectors stay.
    let mut updates = vec![vec![50.0, -50.0]];
    updates.extend(rows(&case["stored"]));
    let history = history(&numbers(&case["global_model"]), stored(1), &[updates]);
    let eraser = FedEraser { interval: 1, steps: 3, variant: Variant::Thesis };
    let mut erasing = eraser.start(&history, &[0], Shape::Linear { n_features: 2 }).expect("all is stored");
    let asked = erasing.asked().expect("one round");
    assert_eq!((asked.clients, asked.steps, asked.round), (&[1, 2, 3][..], 3, 0));
    let mut fresh = contributions(&rows(&case["fresh"]), 1);
    erasing.close(&mut fresh);
    assert_close(erasing.master(), &numbers(&case["result"]), 1e-6, "FedEraser");
    for (row, want) in fresh.rows().zip(case["calibrated"].as_array().expect("rows")) {
        assert_close(&row.iter().map(|&value| value.into()).collect::<Vec<_>>(), &numbers(want), 1e-6, "FedEraser");
    }
    assert_eq!(erasing.asked(), None);
}

#[test]
fn stored_rounds_are_counted_as_in_the_thesis() {
    let case = &cases()["stored_rounds"];
    let [n_rounds, interval, last] = ["T", "dt", "last"].map(|name| case[name].as_u64().expect("a number") as u32);
    let updates = vec![vec![vec![1.0], vec![1.0]]; n_rounds as usize];
    let history = history(&[0.0], stored(5), &updates);
    let eraser = FedEraser { interval, steps: 1, variant: Variant::Thesis };
    let mut erasing = eraser.start(&history, &[0], Shape::Linear { n_features: 1 }).expect("served from 5");
    let mut rounds = Vec::new();
    while let Some(asked) = erasing.asked() {
        // Counted from 1 in the thesis.
        rounds.push(asked.round + 1);
        erasing.close(&mut contributions(&[vec![0.5]], 1));
    }
    let first: Vec<u32> = numbers(&case["first"]).into_iter().map(|round| round as u32).collect();
    assert_eq!(rounds[..first.len()], first);
    assert_eq!((rounds.len() as u64, rounds.last()), (case["count"].as_u64().expect("a count"), Some(&last)));
    // Every calibrated step has the stored length 1.
    assert_close(erasing.master(), &[rounds.len() as f64], 1e-9, "FedEraser");
}

#[test]
fn a_part_of_an_interval_at_the_end_is_left_out() {
    let history = history(&[0.0], stored(1), &vec![vec![vec![1.0], vec![1.0]]; 12]);
    let rounds = |interval| {
        let eraser = FedEraser { interval, steps: 1, variant: Variant::Thesis };
        eraser.start(&history, &[0], Shape::Linear { n_features: 1 }).map(|erasing| erasing.n_rounds())
    };
    assert_eq!((rounds(5), rounds(12)), (Ok(2), Ok(1)));
    assert_eq!(rounds(13), Err(UnlearnError::TooShort { n_rounds: 12, interval: 13 }));
}

#[test]
fn the_released_code_by_hand() {
    // Two parameters, two who stay (1, 2), one who leaves (0), interval 1, three rounds.
    let round = |scale: f32| vec![vec![9.0, 9.0], vec![scale, 0.0], vec![0.0, scale]];
    let history = history(&[1.0, 1.0], stored(1), &[round(1.0), round(2.0), round(3.0)]);
    // Means of all three: (10/3, 10/3), (11/3, 11/3), (4, 4); models 1, 13/3, 8, 12 in both coordinates.
    let eraser = FedEraser { interval: 1, steps: 2, variant: Variant::Released };
    let mut erasing = eraser.start(&history, &[0], Shape::Linear { n_features: 2 }).expect("all is stored");
    assert_eq!(erasing.asked().map(|asked| asked.steps), Some(0), "the first round takes no work");
    erasing.close(&mut Contributions::new(2));
    assert_close(erasing.master(), &[1.5, 1.5], 1e-12, "FedEraser");
    // Round 1: stored client models (13/3 + 2, 13/3) and (13/3, 13/3 + 2): mean 16/3 each; next global 8: apart 8/3
    // each.
    erasing.close(&mut contributions(&[vec![2.0, 0.0], vec![4.0, 0.0]], 1));
    assert_close(erasing.master(), &[1.5 + 8.0 / 3.0 * 2_f64.sqrt(), 1.5], 1e-6, "FedEraser");
    // Round 2: 8 + 1.5 each; the last global is 12: apart 2.5 each. Without direction nothing moves.
    let before = erasing.master().to_vec();
    erasing.close(&mut contributions(&[vec![1.0, 1.0], vec![-1.0, -1.0]], 1));
    assert_eq!((erasing.master(), erasing.asked()), (before.as_slice(), None));
}

#[test]
fn the_released_code_calibrates_layer_by_layer() {
    // One feature, one unit: W1, b1, w2 are three layers of one number.
    let shape = Shape::Mlp { n_features: 1, n_hidden: 1, activation: Activation::Relu };
    let round = vec![vec![3.0, 3.0, 3.0], vec![1.0, -1.0, 0.0]];
    let history = history(&[0.0; 3], stored(1), &[round.clone(), round]);
    let eraser = FedEraser { interval: 1, steps: 1, variant: Variant::Released };
    let mut erasing = eraser.start(&history, &[0], shape).expect("all is stored");
    erasing.close(&mut Contributions::new(3));
    assert_close(erasing.master(), &[1.0, -1.0, 0.0], 1e-12, "FedEraser");
    // Model before round 1: (2, 1, 1.5), after it (4, 2, 3). Client 1: (3, 0, 1.5). Apart 1, 2 and 1.5.
    erasing.close(&mut contributions(&[vec![0.1, -7.0, 0.01]], 1));
    assert_close(erasing.master(), &[2.0, -3.0, 1.5], 1e-6, "FedEraser");
}

#[test]
fn what_was_dropped_is_named() {
    let policy = HistoryPolicy { retention: Some(2), ..stored(1) };
    let history = history(&[0.0], policy, &vec![vec![vec![1.0], vec![1.0]]; 6]);
    let eraser = FedEraser { interval: 1, steps: 1, variant: Variant::Thesis };
    let refused = eraser.start(&history, &[0], Shape::Linear { n_features: 1 }).map(|_| ());
    assert_eq!(refused, Err(UnlearnError::Dropped { method: "fed-eraser", round: 0 }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_calibrated_update_has_the_stored_length_and_the_fresh_direction(
        stored in prop::array::uniform4(-10.0_f32..10.0),
        fresh in prop::array::uniform4(-10.0_f32..10.0),
    ) {
        let mut update = fresh;
        calibrate(length(&stored), &mut update);
        let (wanted, own) = (length(&stored), length(&fresh));
        prop_assume!(own > 1e-3);
        prop_assert!((length(&update) - wanted).abs() <= 1e-5 * wanted.max(1.0));
        let product: f64 = update.iter().zip(&fresh).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        let whole = wanted * own;
        prop_assert!((product - whole).abs() <= 1e-4 * whole.max(1.0), "{} of {}", product, whole);
    }

    #[test]
    fn zeros_contribute_zero(other in prop::array::uniform4(-10.0_f32..10.0)) {
        let mut fresh = [0.0; 4];
        calibrate(length(&other), &mut fresh);
        prop_assert_eq!(fresh, [0.0; 4]);
        let mut fresh = other;
        calibrate(0.0, &mut fresh);
        prop_assert!(fresh.iter().all(|&value| value == 0.0));
    }
}
