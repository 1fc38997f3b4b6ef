//! The training step against a slow and simple network in 64 bits.

mod oracle;

use foltr_rank::rng::Streams;
use serde_json::Value;

use super::*;
use crate::{Bag, Candidates, Composition, InitialTerms, Loss, Pair, Representation, Scorer, Shape, Supervision};
use oracle::Oracle;

const N_TERMS: usize = 12;

fn text(composition: Composition, product: bool, dropout: f32) -> Shape {
    let representation = Representation::Text { n_terms: N_TERMS, n_dimensions: 5, composition, product };
    Shape { representation, hidden: vec![7, 6], dropout }
}

fn interaction(composition: Composition, dropout: f32) -> Shape {
    let representation =
        Representation::Interaction { n_terms: N_TERMS, n_dimensions: 5, composition, usual_length: 7 };
    Shape { representation, hidden: vec![7, 6], dropout }
}

/// Texts of all lengths, the empty one included; the last term is in none.
fn texts() -> Inputs {
    let bag = |seed: usize| {
        let terms: Vec<u32> =
            (0..N_TERMS as u32 - 1).filter(|&term| (term as usize * 7 + seed * 5) % 11 < seed % 8).collect();
        let counts = terms.iter().map(|&term| 1.0 + ((term as usize + seed) % 3) as f32).collect();
        Bag { terms, counts }
    };
    Inputs::Text { queries: (0..4).map(|i| bag(i + 2)).collect(), documents: (0..10).map(bag).collect() }
}

fn features() -> Inputs {
    Inputs::Features { n_features: 3, rows: (0..30).map(|i| ((i * 17) % 13) as f32 / 6.0 - 1.0).collect() }
}

/// Every query, and documents that several pairs share, not all as often better as worse: that would cancel.
fn lessons() -> Vec<Lesson> {
    let pair = |i: u32| Pair { query: i % 4, better: i % 10, worse: (i * i + 1) % 10 };
    (0..20).map(|i| Lesson { pair: pair(i), margin: (i % 7) as f32 / 6.0 }).collect()
}

fn network(shape: Shape) -> Network {
    let weights = match shape.representation {
        // Of both signs: compositions differ in them.
        Representation::Text { .. } | Representation::Interaction { .. } => {
            Some((0..N_TERMS).map(|i| (i as f32 * 1.7).sin() + 0.1).collect())
        }
        Representation::Features { .. } => None,
    };
    let initial = InitialTerms { weights, embeddings: None };
    let mut network = Network::new(shape, initial, &Streams::new(4)).expect("a good shape");
    for (number, layer) in network.layers.iter_mut().enumerate() {
        layer.bias.iter_mut().enumerate().for_each(|(i, bias)| *bias = ((i + number) as f32).cos() * 0.1);
    }
    network
}

/// After one step from nothing the first moments of Adam are a tenth of the gradients, so the whole step is tested as
/// it runs in training.
fn check_gradients(shape: Shape, inputs: &Inputs, loss: Loss) {
    let before = network(shape.clone());
    let mut after = before.clone();
    let mut adam = Adam::new(&before, 1e-3);
    let streams = Streams::new(9);
    let dropout = Dropout::new(shape.dropout, &streams, 0);
    let lessons = lessons();
    let found = Step::default().run(&mut after, &mut adam, inputs, &lessons, loss, dropout);
    let oracle = Oracle { inputs, lessons: &lessons, loss, dropout };
    assert!((found - oracle.loss(&oracle::Params::of(&before))).abs() < 1e-6, "the loss");
    let mut params = oracle::Params::of(&before);
    let n_fixed = shape.n_fixed();
    assert_eq!(before.parts()[..n_fixed], after.parts()[..n_fixed]);
    for (group, (values, (name, _))) in before.parts().into_iter().zip(shape.tensors()).enumerate().skip(n_fixed) {
        let mut largest: f64 = 0.0;
        for i in 0..values.len() {
            let expected = oracle.slope(&mut params, group, i);
            let found = f64::from(adam.moments[group - n_fixed].first[i]) * 10.0;
            assert!((found - expected).abs() < 2e-6 + 2e-5 * expected.abs(), "{name} {i}: {found}, not {expected}");
            largest = largest.max(expected.abs());
        }
        assert!(largest > 1e-4, "{name} has no gradient to check");
    }
}

#[test]
fn gradients_of_every_composition() {
    for composition in [Composition::Sum, Composition::Softmax, Composition::Mean] {
        for (product, dropout) in [(false, 0.0), (true, 0.0), (false, 0.3), (true, 0.3)] {
            check_gradients(text(composition, product, dropout), &texts(), Loss::Hinge);
        }
    }
}

#[test]
fn gradients_of_interactions() {
    for composition in [Composition::Sum, Composition::Softmax, Composition::Mean] {
        for dropout in [0.0, 0.3] {
            check_gradients(interaction(composition, dropout), &texts(), Loss::Hinge);
        }
    }
}

#[test]
fn gradients_on_features() {
    for (hidden, dropout) in [(vec![9], 0.0), (vec![8, 5, 6], 0.0), (vec![8, 5, 6], 0.3)] {
        let representation = Representation::Features { n_features: 3 };
        check_gradients(Shape { representation, hidden, dropout }, &features(), Loss::Hinge);
    }
}

#[test]
fn gradients_of_soft_targets() {
    for loss in [Loss::SquaredMargin, Loss::CrossEntropy { temperature: 0.25 }, Loss::CrossEntropy { temperature: 2.0 }]
    {
        for shape in shapes() {
            check_gradients(shape, &texts(), loss);
        }
    }
}

#[test]
fn scores_are_those_of_the_definition() {
    let shapes = [
        text(Composition::Mean, true, 0.5),
        text(Composition::Softmax, false, 0.5),
        interaction(Composition::Mean, 0.5),
        interaction(Composition::Sum, 0.5),
    ];
    let of_features = NetworkSettings::student().feature_shape(3);
    for (shape, inputs) in shapes.into_iter().map(|shape| (shape, texts())).chain([(of_features, features())]) {
        let network = network(shape);
        // More than a block.
        let documents: Vec<u32> = (0..300).map(|i| i * 7 % 10).collect();
        let mut scores = vec![f32::NAN; documents.len()];
        Scorer::new(&network).score(&inputs, 2, &documents, &mut scores);
        let streams = Streams::new(0);
        let dropout = Dropout::new(0.0, &streams, 0);
        let oracle = Oracle { inputs: &inputs, lessons: &[], loss: Loss::Hinge, dropout };
        for (document, score) in documents.into_iter().zip(scores) {
            let expected = oracle.score(&oracle::Params::of(&network), 2, document, 0);
            assert!((f64::from(score) - expected).abs() < 1e-5, "{score}, not {expected}");
        }
    }
}

/// Both structures of texts.
fn shapes() -> [Shape; 2] {
    [text(Composition::Mean, true, 0.2), interaction(Composition::Mean, 0.2)]
}

/// Something to learn: documents with larger numbers are better.
fn task() -> (Inputs, PairSource, Training) {
    task_of(text(Composition::Mean, true, 0.2))
}

fn task_of(shape: Shape) -> (Inputs, PairSource, Training) {
    let pairs = (0..40).map(|i| (i % 4, i % 10, (i * 7 + 3) % 10)).filter(|(_, a, b)| a != b);
    let pairs = pairs.map(|(query, a, b)| Pair { query, better: a.max(b), worse: a.min(b) });
    let source = Supervision::Pairs(pairs.collect()).pairs().expect("pairs");
    let settings =
        NetworkSettings { batch: 300, steps: 12, validate_every: 3, patience: 2, ..NetworkSettings::student() };
    let training = Training::new(network(shape), settings, 1).expect("good settings");
    (texts(), source, training)
}

#[test]
fn the_loss_falls() {
    for shape in shapes() {
        let (inputs, source, mut training) = task_of(shape);
        let before = training.advance(&inputs, &source, 5);
        training.advance(&inputs, &source, 300);
        let after = training.advance(&inputs, &source, 5);
        assert!(after < 0.5 * before, "{before} to {after}");
    }
}

#[test]
fn a_resumed_training_has_the_bits_of_one_that_never_stopped() {
    let validate = |network: &Network| -f64::from((network.terms.weights[0] - 0.097).abs());
    let keep_on = |_: &Progress| ControlFlow::Continue(());
    for (shape, n_before) in shapes().into_iter().flat_map(|shape| (1..12).map(move |n| (shape.clone(), n))) {
        let (inputs, source, mut whole) = task_of(shape.clone());
        let ending = whole.run(&inputs, &source, validate, keep_on);
        let (_, _, mut training) = task_of(shape);
        let stop = |progress: &Progress| match progress.step {
            step if step == n_before => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        training.run(&inputs, &source, validate, stop);
        let bytes = training.to_bytes();
        let mut resumed = Training::from_bytes(&bytes).expect("our own bytes");
        assert!(resumed.to_bytes() == bytes, "the same state is the same bytes");
        assert_eq!(resumed.run(&inputs, &source, validate, keep_on), ending);
        assert!(resumed.to_bytes() == whole.to_bytes(), "stopped after {n_before} steps");
    }
}

#[test]
fn threads_do_not_matter() {
    let bytes_with = |n_threads, shape: &Shape| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("a pool");
        pool.install(|| {
            let (inputs, source, mut training) = task_of(shape.clone());
            training.advance(&inputs, &source, 5);
            training.to_bytes()
        })
    };
    for shape in shapes() {
        let one = bytes_with(1, &shape);
        assert!([2, 3, 5].into_iter().all(|n_threads| bytes_with(n_threads, &shape) == one));
    }
}

#[test]
fn patience_ends_training_and_the_best_network_is_returned() {
    let (inputs, source, mut training) = task();
    // Better, worse, not a number: the second is the last that counts as a validation without improvement.
    let mut values = [1.0, 0.5, f64::NAN].into_iter();
    let mut networks = Vec::new();
    let validate = |network: &Network| {
        networks.push(network.clone());
        values.next().expect("patience ended before")
    };
    let mut steps = Vec::new();
    let report = |progress: &Progress| {
        steps.push((progress.step, progress.validation.is_some()));
        ControlFlow::Continue(())
    };
    assert_eq!(training.run(&inputs, &source, validate, report), Ending::Patience);
    assert_eq!(steps, (1..=9).map(|step| (step, step % 3 == 0)).collect::<Vec<_>>());
    assert_eq!(training.best(), Some((&networks[0], 1.0)));
    // It has ended: running it again changes nothing.
    let bytes = training.to_bytes();
    let again = training.run(&inputs, &source, |_| unreachable!(), |_| unreachable!());
    assert_eq!((again, training.to_bytes() == bytes), (Ending::Patience, true));
    assert_eq!(training.into_best(), networks[0]);
}

#[test]
fn the_last_step_is_validated() {
    let (inputs, source, training) = task();
    let settings = NetworkSettings { steps: 4, ..training.settings.clone() };
    let mut training = Training::new(training.into_best(), settings, 1).expect("good settings");
    let mut n_validations = 0;
    let validate = |_: &Network| {
        n_validations += 1;
        f64::from(n_validations)
    };
    assert_eq!(training.run(&inputs, &source, validate, |_| ControlFlow::Continue(())), Ending::Steps);
    assert_eq!(training.best(), Some((&training.network, 2.0)));
}

#[test]
fn a_setting_out_of_range_is_refused() {
    let settings = NetworkSettings { batch: 0, ..NetworkSettings::student() };
    let error = Training::new(network(text(Composition::Sum, false, 0.0)), settings, 1).expect_err("refused");
    assert_eq!(error.to_string(), "`batch` is 0; expected 1 to 2^23");
}

#[test]
fn losses_are_those_of_the_specification() {
    let text = include_str!("../../tests/vectors/mimic_vectors.json");
    let vectors: Value = serde_json::from_str(text).expect("JSON");
    let cases = vectors["hinge"].as_array().expect("cases");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let number = |key: &str| case[key].as_f64().expect("a number") as f32;
        let (label_1, label_2, s1, s2) = (number("label_1"), number("label_2"), number("s1"), number("s2"));
        if label_1 == label_2 {
            // No gradient: such a pair is never drawn.
            let candidates = Candidates { query: 0, documents: vec![0, 1], scores: vec![label_1, label_2] };
            assert!(Supervision::Scores(vec![candidates]).pairs().expect("scores").is_empty());
            continue;
        }
        let is_first_better = label_1 > label_2;
        let difference = if is_first_better { s1 - s2 } else { s2 - s1 };
        let (loss, gradient) = Loss::Hinge.of(difference, 1.0);
        let of_first = if is_first_better { gradient } else { -gradient };
        assert!((loss - number("loss")).abs() < 1e-6);
        assert_eq!((of_first, -of_first), (number("grad_s1"), number("grad_s2")));
    }
}
