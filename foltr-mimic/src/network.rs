//! The Rank model: a score of a query and a document by a network of ReLU layers (spec section 16.1).

pub(crate) mod compose;
mod initial;
pub(crate) mod matrix;
pub(crate) mod score;
mod shape;
pub(crate) mod vector;

pub use initial::{Start, StartError};
pub use score::Scorer;
pub use shape::{Composition, Representation, Shape, ShapeError};

use crate::Inputs;

/// A network with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub(crate) shape: Shape,
    pub(crate) terms: Terms,
    pub(crate) layers: Vec<Layer>,
}

/// What a network knows of the terms of its vocabulary: nothing, if it looks at features.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    /// A row for each term.
    pub embeddings: Vec<f32>,
    /// Learned weights, IDF at first.
    pub weights: Vec<f32>,
}

/// One dense layer: outputs = inputs times weights, plus bias.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    /// A row for each input. In the first layer those of the query come first, then document, then product.
    pub weights: Vec<f32>,
    pub bias: Vec<f32>,
}

impl Layer {
    pub fn n_outputs(&self) -> usize {
        self.bias.len()
    }
}

impl Network {
    /// Everything about it but its parameters.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of parameters.
    pub fn n_params(&self) -> usize {
        self.parts().iter().map(|(_, values)| values.len()).sum()
    }

    /// The learned weight of each term; none, if it looks at features.
    pub fn term_weights(&self) -> &[f32] {
        &self.terms.weights
    }

    /// The learned embeddings, one row a term; none, if it looks at features.
    pub fn embeddings(&self) -> &[f32] {
        &self.terms.embeddings
    }

    /// Scores documents of a query, without dropout. [`Scorer`] does the same for many queries without new memory.
    ///
    /// # Panics
    /// If the inputs do not fit ([`Shape::check_inputs`]), a number is out of range, or `out` is not as long as
    /// `documents`.
    pub fn score(&self, inputs: &Inputs, query: u32, documents: &[u32], out: &mut [f32]) {
        Scorer::new(self).score(inputs, query, documents, out);
    }

    /// All parameters with their names, in a fixed order.
    pub(crate) fn parts(&self) -> Vec<(String, &[f32])> {
        let mut parts: Vec<(String, &[f32])> = Vec::new();
        if let Representation::Text { .. } = self.shape.representation {
            parts.push(("terms.embeddings".into(), &self.terms.embeddings));
            parts.push(("terms.weights".into(), &self.terms.weights));
        }
        for (number, layer) in self.layers.iter().enumerate() {
            parts.push((format!("layers.{number}.weights"), &layer.weights));
            parts.push((format!("layers.{number}.bias"), &layer.bias));
        }
        parts
    }

    /// The same parameters, to be changed.
    pub(crate) fn parts_mut(&mut self) -> Vec<&mut Vec<f32>> {
        let mut parts = Vec::new();
        if let Representation::Text { .. } = self.shape.representation {
            parts.push(&mut self.terms.embeddings);
            parts.push(&mut self.terms.weights);
        }
        for layer in &mut self.layers {
            parts.push(&mut layer.weights);
            parts.push(&mut layer.bias);
        }
        parts
    }

    /// A network of this shape with all parameters 0.
    pub(crate) fn zero(shape: &Shape) -> Self {
        let terms = match shape.representation {
            Representation::Text { n_terms, n_dimensions, .. } => {
                Terms { embeddings: vec![0.0; n_terms * n_dimensions], weights: vec![0.0; n_terms] }
            }
            Representation::Features { .. } => Terms::default(),
        };
        let layer = |(n_in, n_out)| Layer { weights: vec![0.0; n_in * n_out], bias: vec![0.0; n_out] };
        Self { terms, layers: shape.layers().into_iter().map(layer).collect(), shape: shape.clone() }
    }
}
