//! What does a network look at? Texts as bags of terms, or rows of features.

/// A text as terms of a vocabulary: each once, in increasing order, with the number of times it occurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bag {
    /// Numbers of the terms in the vocabulary.
    pub terms: Vec<u32>,
    /// How often each of them occurs.
    pub counts: Vec<f32>,
}

/// All queries and documents that training, labelling and evaluation speak of, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// Texts.
    Text {
        /// Every query: of judgements, of weak and of public training.
        queries: Vec<Bag>,
        /// Every document of the collection.
        documents: Vec<Bag>,
    },
    /// Pairs of a query and a document, described by features: a document belongs to one query and is one row.
    Features {
        /// Features a row.
        n_features: usize,
        /// All rows, one after the other, without padding.
        rows: Vec<f32>,
    },
}
