//! The shapes of real collections: widths, candidates, grades and their shares, numbers of queries.

use serde::{Deserialize, Serialize};

/// A collection to imitate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SyntheticShape {
    /// MQ2007: 46 features, about 41 documents, three grades.
    Mq2007,
    /// MSLR-WEB10K: 136 features of very different scales, about 120 documents, five grades.
    Mslr,
    /// Yahoo set 1: 700 features, about 24 documents, five grades, most documents at least fair.
    Yahoo,
    /// Istella-S: 220 features of very different scales, about 103 documents, five grades, few relevant.
    Istella,
    /// None in particular: 12 features, about 15 documents, three grades; ready at once.
    Tiny,
}

/// Features of a document, documents of an average query, the usual numbers of training, validation and test queries (the
/// large collections are cut down to what a test can afford), and the share of documents with label 1 or more, 2 or more,
/// and so on, roughly as in the collection.
type Numbers = (usize, usize, [usize; 3], &'static [f64]);

impl SyntheticShape {
    pub const ALL: [Self; 5] = [Self::Mq2007, Self::Mslr, Self::Yahoo, Self::Istella, Self::Tiny];

    const fn numbers(self) -> Numbers {
        match self {
            Self::Mq2007 => (46, 41, [1000, 330, 330], &[0.26, 0.06]),
            Self::Mslr => (136, 120, [2000, 500, 500], &[0.48, 0.16, 0.026, 0.008]),
            Self::Yahoo => (700, 24, [2000, 500, 500], &[0.74, 0.38, 0.10, 0.02]),
            Self::Istella => (220, 103, [2000, 500, 500], &[0.114, 0.09, 0.05, 0.02]),
            Self::Tiny => (12, 15, [300, 100, 100], &[0.28, 0.09]),
        }
    }

    pub const fn n_features(self) -> usize {
        self.numbers().0
    }

    /// Documents of an average query.
    pub const fn mean_docs(self) -> usize {
        self.numbers().1
    }

    pub(super) const fn n_queries(self) -> [usize; 3] {
        self.numbers().2
    }

    pub(super) const fn shares_at_or_above(self) -> &'static [f64] {
        self.numbers().3
    }

    /// Whether features come scaled to `[0, 1]`, or raw as counts, sums and scores.
    pub(super) const fn is_unit_range(self) -> bool {
        matches!(self, Self::Mq2007 | Self::Yahoo | Self::Tiny)
    }
}
