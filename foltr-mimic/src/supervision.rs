//! What does a network learn from? Scores of candidates, by whomever they are, or preferences between two documents.

mod source;

pub use source::{PairSource, SupervisionError};

/// The candidates of one query with the scores of the supervision: judgements, BM25 or a teacher.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// Number of the query.
    pub query: u32,
    /// Numbers of the documents.
    pub documents: Vec<u32>,
    /// Score of each of them: larger is better.
    pub scores: Vec<f32>,
}

/// One document should be above another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Number of the query.
    pub query: u32,
    /// The document that should be above.
    pub better: u32,
    /// The document that should be below.
    pub worse: u32,
}

/// What a network learns from.
#[derive(Clone, Debug, PartialEq)]
pub enum Supervision {
    /// Scores of candidates.
    Scores(Vec<Candidates>),
    /// Preferences.
    Pairs(Vec<Pair>),
}
