//! The Rank model: a score of a query and a document by a network of ReLU layers (spec section 16.1).

pub(crate) mod compose;
mod initial;
pub(crate) mod kernels;
pub(crate) mod matrix;
pub(crate) mod score;
mod shape;
pub(crate) mod vector;

pub use initial::InitialTerms;
pub use score::Scorer;
pub use shape::{Composition, Representation, Shape};
pub(crate) use shape::{MAX_SIZE, Parts, is_valid_hidden};

/// A text as terms of a vocabulary: each once, in increasing order, with the number of times it occurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bag {
    pub terms: Vec<u32>,
    pub counts: Vec<f32>,
}

/// All queries and documents that training, labelling and evaluation speak of, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// Queries of judgements, of weak and of public training, and the documents of the collection.
    Text { queries: Vec<Bag>, documents: Vec<Bag> },
    /// Pairs of a query and a document, described by features: a document belongs to one query and is one row. Rows have
    /// no padding.
    Features { n_features: usize, rows: Vec<f32> },
}

impl Inputs {
    /// Terms of a document on average, rounded; 1 without documents.
    pub fn mean_length(&self) -> usize {
        let Self::Text { documents, .. } = self else { return 1 };
        let total: f64 = documents.iter().flat_map(|document| &document.counts).map(|&count| f64::from(count)).sum();
        (total / documents.len().max(1) as f64).round().max(1.0) as usize
    }
}

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
    /// All parameters in the order of [`Shape::tensors`].
    pub(crate) fn parts(&self) -> Vec<&[f32]> {
        let terms: [&[f32]; 2] = [&self.terms.embeddings, &self.terms.weights];
        let of_terms = if self.shape.representation.terms().is_some() { 2 } else { 0 };
        let layers = self.layers.iter().flat_map(|layer| [layer.weights.as_slice(), &layer.bias]);
        terms.into_iter().take(of_terms).chain(layers).collect()
    }

    pub(crate) fn from_parts(shape: Shape, parts: Vec<Vec<f32>>) -> Self {
        let sizes = shape.tensors().into_iter().map(|(_, dimensions)| dimensions.iter().product::<usize>());
        assert!(parts.iter().map(Vec::len).eq(sizes), "parameters of {shape:?}");
        let mut parts = parts.into_iter();
        let mut next = || parts.next().unwrap_or_default();
        let terms = match shape.representation.terms() {
            Some(_) => Terms { embeddings: next(), weights: next() },
            None => Terms::default(),
        };
        let layers = shape.layers().iter().map(|_| Layer { weights: next(), bias: next() }).collect();
        Self { shape, terms, layers }
    }

    pub(crate) fn zero(shape: &Shape) -> Self {
        let zeros = |(_, dimensions): (String, Vec<usize>)| vec![0.0; dimensions.iter().product()];
        Self::from_parts(shape.clone(), shape.tensors().into_iter().map(zeros).collect())
    }
}
