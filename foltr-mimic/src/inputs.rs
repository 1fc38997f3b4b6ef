//! What does a network look at? Texts as bags of terms, or rows of features.

/// A text as terms of a vocabulary: each once, in increasing order, with the number of times it occurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bag {
    /// Numbers of the terms in the vocabulary.
    pub terms: Vec<u32>,
    /// How often each of them occurs.
    pub counts: Vec<f32>,
}

impl Bag {
    /// What is wrong with the text for a vocabulary of `n_terms`, and what would be right.
    pub(crate) fn check(&self, n_terms: usize) -> Result<(), (String, String)> {
        if self.terms.len() != self.counts.len() {
            let found = format!("{} terms and {} counts", self.terms.len(), self.counts.len());
            return Err((found, "a count for each term".into()));
        }
        if let Some(term) = self.terms.iter().find(|&&term| term as usize >= n_terms) {
            return Err((format!("the term {term}"), format!("numbers below {n_terms}")));
        }
        if !self.terms.is_sorted_by(|a, b| a < b) {
            return Err(("terms out of order".into(), "each term once, in increasing order".into()));
        }
        match self.counts.iter().find(|count| !(count.is_finite() && **count > 0.0)) {
            Some(count) => Err((format!("the count {count}"), "finite counts above 0".into())),
            None => Ok(()),
        }
    }
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
