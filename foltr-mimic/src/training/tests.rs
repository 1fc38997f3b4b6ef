//! The training step against a slow and simple network in 64 bits.

mod oracle;

use foltr_rank::rng::Streams;

use super::*;
use crate::{Bag, Composition, Representation, Shape, Start};
use oracle::Oracle;

const N_TERMS: usize = 12;

fn text(composition: Composition, product: bool, dropout: f32) -> Shape {
    let representation = Representation::Text { n_terms: N_TERMS, n_dimensions: 5, composition, product };
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

/// Every query, and documents that several pairs share.
fn pairs() -> Vec<Pair> {
    (0..20).map(|i| Pair { query: i % 4, better: i % 10, worse: (i * 3 + 1) % 10 }).collect()
}

fn network(shape: Shape) -> Network {
    let term_weights = match shape.representation {
        // Of both signs: compositions differ in them.
        Representation::Text { .. } => Some((0..N_TERMS).map(|i| (i as f32 * 1.7).sin() + 0.1).collect()),
        Representation::Features { .. } => None,
    };
    let mut network =
        Network::new(shape, Start { term_weights, embeddings: None }, &Streams::new(4)).expect("a good shape");
    for (number, layer) in network.layers.iter_mut().enumerate() {
        layer.bias.iter_mut().enumerate().for_each(|(i, bias)| *bias = ((i + number) as f32).cos() * 0.1);
    }
    network
}

/// After one step from nothing the first moments of Adam are a tenth of the gradients, so the whole step is tested as
/// it runs in training.
fn check_gradients(shape: Shape, inputs: &Inputs) {
    let before = network(shape.clone());
    let mut after = before.clone();
    let mut adam = Adam::new(&before, 1e-3);
    let streams = Streams::new(9);
    let dropout = Dropout::new(shape.dropout, &streams, 0);
    let pairs = pairs();
    let loss = Step::default().run(&mut after, &mut adam, inputs, &pairs, dropout);
    let oracle = Oracle { inputs, pairs: &pairs, dropout };
    assert!((loss - oracle.loss(&oracle::Params::of(&before))).abs() < 1e-6, "the loss");
    let mut params = oracle::Params::of(&before);
    for (group, (name, values)) in before.parts().iter().enumerate() {
        let mut largest: f64 = 0.0;
        for i in 0..values.len() {
            let expected = oracle.slope(&mut params, group, i);
            let found = f64::from(adam.moments[group].first[i]) * 10.0;
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
            check_gradients(text(composition, product, dropout), &texts());
        }
    }
}

#[test]
fn gradients_on_features() {
    for (hidden, dropout) in [(vec![9], 0.0), (vec![8, 5, 6], 0.0), (vec![8, 5, 6], 0.3)] {
        let representation = Representation::Features { n_features: 3 };
        check_gradients(Shape { representation, hidden, dropout }, &features());
    }
}

#[test]
fn scores_are_those_of_the_definition() {
    let shapes = [text(Composition::Mean, true, 0.5), text(Composition::Softmax, false, 0.5)];
    let of_features = Shape::student(Representation::Features { n_features: 3 });
    for (shape, inputs) in shapes.into_iter().map(|shape| (shape, texts())).chain([(of_features, features())]) {
        let network = network(shape);
        // More than a block.
        let documents: Vec<u32> = (0..300).map(|i| i * 7 % 10).collect();
        let mut scores = vec![f32::NAN; documents.len()];
        network.score(&inputs, 2, &documents, &mut scores);
        let streams = Streams::new(0);
        let oracle = Oracle { inputs: &inputs, pairs: &[], dropout: Dropout::new(0.0, &streams, 0) };
        for (document, score) in documents.into_iter().zip(scores) {
            let expected = oracle.score(&oracle::Params::of(&network), 2, document, 0);
            assert!((f64::from(score) - expected).abs() < 1e-5, "{score}, not {expected}");
        }
    }
}
