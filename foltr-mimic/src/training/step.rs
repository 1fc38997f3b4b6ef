//! One training step: scores of a batch, its loss, all gradients, and the change of the network.
//!
//! | symbol | is | rows |
//! |---|---|---|
//! | `vectors` | queries, then documents: sums of embeddings, or features | texts |
//! | | or documents by what they have of the query's terms | rows |
//! | `from_texts` | what each vector gives the first layer | texts |
//! | `products` | query times document, element by element | rows |
//! | `units` | what each hidden layer returns, after dropout | rows |
//!
//! A text counts once however many rows have it. `d_` of each is the gradient of the mean loss; that of `units` is
//! taken before the activation. All memory is used again in the next step.

mod first_layer;

use rayon::prelude::*;

use crate::network::matrix::{View, multiply_blocks, multiply_then};
use crate::network::score::output_score;
use crate::network::vector::{gate, weighted_sum};
use crate::network::{Layer, Network, Representation};
use crate::{Inputs, Lesson, Loss};

use super::adam::{Adam, Pace};
use super::batch::Batch;
use super::dropout::Dropout;
use super::interactions::Interactions;
use super::texts::Texts;

#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    batch: Batch,
    texts: Texts,
    interactions: Interactions,
    vectors: Vec<f32>,
    d_vectors: Vec<f32>,
    from_texts: Vec<f32>,
    d_from_texts: Vec<f32>,
    products: Vec<f32>,
    d_products: Vec<f32>,
    units: Vec<Vec<f32>>,
    d_units: Vec<Vec<f32>>,
    d_outputs: Vec<f32>,
    d_layers: Vec<Layer>,
    /// 0, 1, ... and as many ones: all rows, each once.
    all: Vec<u32>,
    ones: Vec<f32>,
}

impl Step {
    /// Changes the network by one step on these lessons and returns their mean loss before it.
    pub fn run(
        &mut self,
        network: &mut Network,
        adam: &mut Adam,
        inputs: &Inputs,
        lessons: &[Lesson],
        loss: Loss,
        dropout: Dropout<'_>,
    ) -> f64 {
        self.batch.read(lessons, network.shape.representation.parts().is_of_both);
        self.reserve(network);
        self.represent(network, inputs);
        self.first_layer(network, dropout);
        self.other_layers(network, dropout);
        let loss = self.output(network, lessons, loss);
        self.backward(network, dropout.scale);
        self.first_layer_backward(network);
        self.update(network, adam, dropout.step + 1);
        loss
    }

    fn n_rows(&self) -> usize {
        self.batch.rows.len()
    }

    fn reserve(&mut self, network: &Network) {
        let parts = network.shape.representation.parts();
        let n_rows = self.n_rows();
        let n_queries = if parts.has_query { self.batch.queries.numbers.len() } else { 0 };
        let n_texts = n_queries + self.batch.documents.numbers.len();
        let n_units = network.layers[0].n_outputs();
        for vectors in [&mut self.vectors, &mut self.d_vectors] {
            vectors.resize(n_texts * parts.width, 0.0);
        }
        for values in [&mut self.from_texts, &mut self.d_from_texts] {
            values.resize(n_texts * n_units, 0.0);
        }
        let n_products = if parts.has_product { n_rows * parts.width } else { 0 };
        for products in [&mut self.products, &mut self.d_products] {
            products.resize(n_products, 0.0);
        }
        for units in [&mut self.units, &mut self.d_units] {
            units.resize(network.shape.hidden.len(), Vec::new());
            for (units, width) in units.iter_mut().zip(&network.shape.hidden) {
                units.resize(n_rows * width, 0.0);
            }
        }
        if self.d_layers.len() != network.layers.len() {
            self.d_layers = Network::zero(&network.shape).layers;
        }
        self.d_outputs.resize(n_rows, 0.0);
        self.ones.resize(n_rows, 1.0);
        self.all.clear();
        self.all.extend(0..n_rows as u32);
    }

    fn represent(&mut self, network: &Network, inputs: &Inputs) {
        match (network.shape.representation, inputs) {
            (
                Representation::Text { n_dimensions, n_terms, composition, product },
                Inputs::Text { queries, documents },
            ) => {
                let queries = self.batch.queries.numbers.iter().map(|&number| &queries[number as usize]);
                let documents = self.batch.documents.numbers.iter().map(|&number| &documents[number as usize]);
                self.texts.read(queries.chain(documents), &network.terms, composition);
                self.texts.compose(&network.terms, n_dimensions, &mut self.vectors);
                self.texts.sort_by_terms(n_terms);
                if product {
                    self.multiply_texts(n_dimensions);
                }
            }
            (Representation::Interaction { composition, usual_length, .. }, Inputs::Text { queries, documents }) => {
                let texts = (queries.as_slice(), documents.as_slice());
                self.interactions.read(&self.batch, texts, &network.terms, composition, usual_length);
                self.interactions.compose(&self.batch, &mut self.vectors);
            }
            (Representation::Features { n_features }, Inputs::Features { rows, .. }) => {
                let documents = self.batch.documents.numbers.iter();
                for (vector, &document) in self.vectors.chunks_exact_mut(n_features).zip(documents) {
                    vector.copy_from_slice(&rows[document as usize * n_features..][..n_features]);
                }
            }
            (Representation::Features { .. }, _) => panic!("a network of features was given texts"),
            _ => panic!("a network of texts was given features"),
        }
    }

    fn other_layers(&mut self, network: &Network, dropout: Dropout<'_>) {
        for number in 1..self.units.len() {
            let layer = &network.layers[number];
            let (before, after) = self.units.split_at_mut(number);
            let inputs = View::new(&before[number - 1], network.layers[number - 1].n_outputs());
            let weights = View::new(&layer.weights, layer.n_outputs());
            multiply_then(&mut after[0], inputs, weights, |row, values| {
                dropout.activate(number, row, values, &layer.bias);
            });
        }
    }

    /// Scores, their mean loss, and its gradient before the tanh.
    fn output(&mut self, network: &Network, lessons: &[Lesson], loss: Loss) -> f64 {
        let (layer, hidden) = network.layers.split_last().expect("at least the output layer");
        let units = self.units.last().expect("at least one hidden layer");
        let width = hidden.last().expect("at least one hidden layer").n_outputs();
        let scores = &mut self.d_outputs;
        scores.par_iter_mut().zip(units.par_chunks_exact(width)).for_each(|(score, units)| {
            *score = output_score(layer, units);
        });
        let mut total = 0.0;
        let share = 2.0 / scores.len() as f32;
        for (pair, lesson) in scores.as_chunks_mut::<2>().0.iter_mut().zip(lessons) {
            let (loss, slope) = loss.of(pair[0] - pair[1], lesson.margin);
            total += f64::from(loss);
            // tanh' = 1 - tanh^2.
            *pair = [slope * (1.0 - pair[0] * pair[0]) * share, -slope * (1.0 - pair[1] * pair[1]) * share];
        }
        total * f64::from(share)
    }

    /// Gradients of all layers but of the first layer's weights.
    fn backward(&mut self, network: &Network, scale: f32) {
        let last = self.units.len() - 1;
        let (units, d_units) = (&self.units, &mut self.d_units);
        let output = &network.layers[last + 1];
        let width = output.weights.len();
        let d_output = &mut self.d_layers[last + 1];
        weighted_sum(&mut d_output.weights, &units[last], &self.all, &self.d_outputs);
        d_output.bias[0] = self.d_outputs.iter().sum();
        let rows = d_units[last].par_chunks_exact_mut(width).zip(units[last].par_chunks_exact(width));
        rows.zip(&self.d_outputs).for_each(|((d_units, units), &d_output)| {
            weighted_sum(d_units, &output.weights, &[0], &[d_output]);
            gate(d_units, units, scale);
        });
        for number in (1..=last).rev() {
            let layer = &network.layers[number];
            let (before, after) = d_units.split_at_mut(number);
            let (d_inputs, d_outputs) = (&mut before[number - 1], View::new(&after[0], layer.n_outputs()));
            let (inputs, n_inputs) = (&units[number - 1], network.layers[number - 1].n_outputs());
            let weights = View::new(&layer.weights, layer.n_outputs()).transposed();
            multiply_then(d_inputs, d_outputs, weights, |number, d_inputs| {
                gate(d_inputs, row(inputs, number as u32, n_inputs), scale);
            });
            let inputs = View::new(inputs, n_inputs).transposed();
            multiply_blocks(&mut self.d_layers[number].weights, inputs, d_outputs);
        }
        for (layer, d_units) in self.d_layers.iter_mut().zip(d_units) {
            weighted_sum(&mut layer.bias, d_units, &self.all, &self.ones);
        }
    }

    fn update(&mut self, network: &mut Network, adam: &mut Adam, step: u32) {
        let Network { shape, terms, layers } = network;
        let n_before = match shape.representation {
            Representation::Text { composition, .. } => {
                self.texts.update(terms, composition, adam, &self.vectors, &self.d_vectors);
                2
            }
            Representation::Interaction { composition, .. } => {
                let (x, dx) = (&self.vectors, &self.d_vectors);
                self.interactions.update(terms, composition, adam, &self.batch, x, dx);
                1
            }
            Representation::Features { .. } => 0,
        };
        let pace = Pace::at(adam.learning_rate, step);
        let moments = adam.moments[n_before..].as_chunks_mut::<2>().0;
        for ((layer, d_layer), [of_weights, of_bias]) in layers.iter_mut().zip(&self.d_layers).zip(moments) {
            pace.update_all(&mut layer.weights, &d_layer.weights, of_weights);
            pace.update_all(&mut layer.bias, &d_layer.bias, of_bias);
        }
    }
}

#[inline]
fn row(matrix: &[f32], number: u32, width: usize) -> &[f32] {
    &matrix[number as usize * width..][..width]
}
