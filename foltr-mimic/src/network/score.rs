//! Scores of many documents, a block at a time, in memory that is used again.

use crate::{Bag, Inputs};

use super::kernels::Meeting;
use super::matrix::{View, multiply};
use super::shape::{Parts, Representation};
use super::vector::{add, add_product, dot, rectify, weighted_sum};
use super::{Layer, Network};

const BLOCK: usize = 128;

/// Scores documents with a network. One thread has one.
#[derive(Clone, Debug)]
pub struct Scorer<'a> {
    network: &'a Network,
    /// The query as a vector, and what it gives the first layer.
    query: Vec<f32>,
    from_query: Vec<f32>,
    /// Documents as vectors, then their products with the query.
    documents: Vec<f32>,
    products: Vec<f32>,
    /// Two layers: the one that is read and the one that is written.
    units: [Vec<f32>; 2],
    /// Coefficients of the query's terms, and of those of a document.
    of_query: Vec<f32>,
    coefficients: Vec<f32>,
    /// What each term of the query gives for one document, and 0, 1, ...: all of them.
    rows: Vec<f32>,
    all: Vec<u32>,
    meeting: Meeting,
}

impl<'a> Scorer<'a> {
    pub fn new(network: &'a Network) -> Self {
        let Parts { width, has_query, has_product, .. } = network.shape.representation.parts();
        let n_units = network.shape.hidden.iter().copied().max().unwrap_or(0);
        Self {
            network,
            query: vec![0.0; if has_query { width } else { 0 }],
            from_query: vec![0.0; network.layers[0].n_outputs()],
            documents: vec![0.0; BLOCK * width],
            products: vec![0.0; if has_product { BLOCK * width } else { 0 }],
            units: [vec![0.0; BLOCK * n_units], vec![0.0; BLOCK * n_units]],
            of_query: Vec::new(),
            coefficients: Vec::new(),
            rows: Vec::new(),
            all: Vec::new(),
            meeting: Meeting::default(),
        }
    }

    /// Scores documents of a query, without dropout.
    ///
    /// # Panics
    /// If the inputs do not fit the network, a number is out of range, or `out` is not as long as `documents`.
    pub fn score(&mut self, inputs: &Inputs, query: u32, documents: &[u32], out: &mut [f32]) {
        assert_eq!(documents.len(), out.len(), "a score for each document");
        if let Inputs::Text { queries, .. } = inputs {
            self.read_query(&queries[query as usize]);
        }
        for (documents, out) in documents.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            self.read_documents(inputs, query, documents);
            self.first_layer(documents.len());
            self.other_layers(out);
        }
    }

    fn read_query(&mut self, query: &Bag) {
        let Network { shape, terms, layers } = self.network;
        shape.representation.composition().coefficients(query, &terms.weights, &mut self.of_query);
        if self.query.is_empty() {
            return;
        }
        weighted_sum(&mut self.query, &terms.embeddings, &query.terms, &self.of_query);
        let weights = &layers[0].weights[..self.query.len() * self.from_query.len()];
        let (row, weights) = (View::new(&self.query, self.query.len()), View::new(weights, self.from_query.len()));
        multiply(&mut self.from_query, false, row, weights);
    }

    fn read_documents(&mut self, inputs: &Inputs, query: u32, documents: &[u32]) {
        let width = self.documents.len() / BLOCK;
        let Network { shape, terms, .. } = self.network;
        let vectors = documents.iter().map(|&document| document as usize).zip(self.documents.chunks_exact_mut(width));
        match (inputs, shape.representation) {
            (Inputs::Features { rows, .. }, _) => {
                vectors.for_each(|(document, vector)| vector.copy_from_slice(&rows[document * width..][..width]));
            }
            (Inputs::Text { queries, documents }, Representation::Interaction { usual_length, .. }) => {
                let asked = &queries[query as usize].terms;
                self.rows.resize(asked.len() * width, 0.0);
                self.all.clear();
                self.all.extend(0..asked.len() as u32);
                for (document, vector) in vectors {
                    self.meeting.read(terms, asked, &documents[document], usual_length, &mut self.rows);
                    weighted_sum(vector, &self.rows, &self.all, &self.of_query);
                }
            }
            (Inputs::Text { documents, .. }, representation) => {
                let composition = representation.composition();
                for (document, vector) in vectors {
                    let document = &documents[document];
                    composition.coefficients(document, &terms.weights, &mut self.coefficients);
                    weighted_sum(vector, &terms.embeddings, &document.terms, &self.coefficients);
                }
            }
        }
        if !self.products.is_empty() {
            for (product, vector) in self.products.chunks_exact_mut(width).zip(self.documents.chunks_exact(width)) {
                product.fill(0.0);
                add_product(product, vector, &self.query);
            }
        }
    }

    fn first_layer(&mut self, n: usize) {
        let layer = &self.network.layers[0];
        let n_units = layer.n_outputs();
        let n_query = self.query.len() * n_units;
        let width = self.documents.len() / BLOCK;
        let (of_document, of_product) = layer.weights[n_query..].split_at(width * n_units);
        let out = &mut self.units[0][..n * n_units];
        let documents = View::new(&self.documents[..n * width], width);
        multiply(out, false, documents, View::new(of_document, n_units));
        if !self.products.is_empty() {
            let products = View::new(&self.products[..n * width], width);
            multiply(out, true, products, View::new(of_product, n_units));
        }
        for row in out.chunks_exact_mut(n_units) {
            if n_query > 0 {
                add(row, &self.from_query);
            }
            rectify(row, &layer.bias);
        }
    }

    fn other_layers(&mut self, out: &mut [f32]) {
        let [read, write] = &mut self.units;
        let (output, hidden) = self.network.layers.split_last().expect("at least the output layer");
        let mut n_inputs = hidden[0].n_outputs();
        for layer in &hidden[1..] {
            let rows = &mut write[..out.len() * layer.n_outputs()];
            let inputs = View::new(&read[..out.len() * n_inputs], n_inputs);
            multiply(rows, false, inputs, View::new(&layer.weights, layer.n_outputs()));
            rows.chunks_exact_mut(layer.n_outputs()).for_each(|row| rectify(row, &layer.bias));
            n_inputs = layer.n_outputs();
            std::mem::swap(read, write);
        }
        for (score, row) in out.iter_mut().zip(read.chunks_exact(n_inputs)) {
            *score = output_score(output, row);
        }
    }
}

/// The output of the network from the units of its last hidden layer.
pub(crate) fn output_score(layer: &Layer, units: &[f32]) -> f32 {
    (dot(units, &layer.weights) + layer.bias[0]).tanh()
}
