//! What does a network look at? Texts as bags of terms, or rows of features.

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
