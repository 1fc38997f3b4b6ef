//! The first layer: its sums are those of its parts, query, document and product, and a text counts once.

use std::ops::Range;

use rayon::prelude::*;

use crate::network::matrix::{View, multiply_blocks, multiply_then};
use crate::network::vector::{add, add_product, weighted_sum};
use crate::network::{Network, Parts};

use super::super::batch::Groups;
use super::super::dropout::Dropout;
use super::{Step, row};

/// Where the weights of query, document and product are.
fn weights_of_parts(parts: Parts, n_units: usize) -> [Range<usize>; 3] {
    let size = |has_part: bool| if has_part { parts.width * n_units } else { 0 };
    let document = size(parts.has_query);
    let product = document + parts.width * n_units;
    [0..document, document..product, product..product + size(parts.has_product)]
}

impl Step {
    /// Numbers of `vectors` and of `from_texts` that belong to queries.
    fn n_of_queries(&self, network: &Network, width: usize) -> usize {
        if network.shape.representation.parts().has_query { self.batch.queries.numbers.len() * width } else { 0 }
    }

    pub(super) fn multiply_texts(&mut self, width: usize) {
        let (queries, documents) = self.vectors.split_at(self.batch.queries.numbers.len() * width);
        let rows = &self.batch.rows;
        self.products.par_chunks_exact_mut(width).zip(rows).for_each(|(product, &[query, document])| {
            product.fill(0.0);
            add_product(product, row(queries, query, width), row(documents, document, width));
        });
    }

    pub(super) fn first_layer(&mut self, network: &Network, dropout: Dropout<'_>) {
        let (parts, layer) = (network.shape.representation.parts(), &network.layers[0]);
        let (width, n_units) = (parts.width, layer.n_outputs());
        let [of_query, of_document, of_product] =
            weights_of_parts(parts, n_units).map(|range| View::new(&layer.weights[range], n_units));
        let (n_vectors, n_from) = (self.n_of_queries(network, width), self.n_of_queries(network, n_units));
        let (queries, documents) = self.vectors.split_at(n_vectors);
        let (from_queries, from_documents) = self.from_texts.split_at_mut(n_from);
        if parts.has_query {
            multiply_blocks(from_queries, View::new(queries, width), of_query);
        }
        multiply_blocks(from_documents, View::new(documents, width), of_document);
        let rows = &self.batch.rows;
        let finish = |number: usize, values: &mut [f32]| {
            let [query, document] = rows[number];
            if parts.has_query {
                add(values, row(from_queries, query, n_units));
            }
            add(values, row(from_documents, document, n_units));
            dropout.activate(0, number, values, &layer.bias);
        };
        if parts.has_product {
            multiply_then(&mut self.units[0], View::new(&self.products, width), of_product, finish);
        } else {
            self.units[0].par_chunks_exact_mut(n_units).enumerate().for_each(|(number, values)| {
                values.fill(0.0);
                finish(number, values);
            });
        }
    }

    /// Gradients of the first layer's weights and, of texts, of their vectors.
    pub(super) fn first_layer_backward(&mut self, network: &Network) {
        let (parts, layer) = (network.shape.representation.parts(), &network.layers[0]);
        let (width, n_units) = (parts.width, layer.n_outputs());
        let (n_vectors, n_from) = (self.n_of_queries(network, width), self.n_of_queries(network, n_units));
        let (batch, d_units, ones) = (&self.batch, &self.d_units[0], &self.ones);
        let (d_from_queries, d_from_documents) = self.d_from_texts.split_at_mut(n_from);
        for (sums, rows_of) in
            [(&mut *d_from_queries, &batch.rows_of_query), (d_from_documents, &batch.rows_of_document)]
        {
            sums.par_chunks_exact_mut(n_units).enumerate().for_each(|(position, sum)| {
                let rows = rows_of.of(position);
                weighted_sum(sum, d_units, rows, &ones[..rows.len()]);
            });
        }
        let [of_query, of_document, of_product] = weights_of_parts(parts, n_units);
        let (queries, documents) = self.vectors.split_at(n_vectors);
        let (d_from_queries, d_from_documents) = self.d_from_texts.split_at(n_from);
        let (d_queries, d_documents) = self.d_vectors.split_at_mut(n_vectors);
        let d_weights = &mut self.d_layers[0].weights;
        let mut of_part = |range: Range<usize>, inputs: &[f32], d_inputs: &mut [f32], d_outputs: &[f32]| {
            let (inputs, d_outputs) = (View::new(inputs, width), View::new(d_outputs, n_units));
            multiply_blocks(&mut d_weights[range.clone()], inputs.transposed(), d_outputs);
            if parts.has_query || parts.is_of_both {
                let weights = View::new(&layer.weights[range], n_units).transposed();
                multiply_blocks(d_inputs, d_outputs, weights);
            }
        };
        of_part(of_document, documents, d_documents, d_from_documents);
        if parts.has_query {
            of_part(of_query, queries, d_queries, d_from_queries);
        }
        if parts.has_product {
            of_part(of_product, &self.products, &mut self.d_products, d_units);
            let d_products = &self.d_products;
            let of_factor = |d_vectors: &mut [f32], rows_of: &Groups, others: &[f32], other: usize| {
                d_vectors.par_chunks_exact_mut(width).enumerate().for_each(|(position, d_vector)| {
                    for &number in rows_of.of(position) {
                        let factor = row(others, batch.rows[number as usize][other], width);
                        add_product(d_vector, row(d_products, number, width), factor);
                    }
                });
            };
            of_factor(d_queries, &batch.rows_of_query, documents, 1);
            of_factor(d_documents, &batch.rows_of_document, queries, 0);
        }
    }
}
