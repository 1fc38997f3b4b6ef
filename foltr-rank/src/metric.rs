//! Measures of a ranking by its labels: one file a measure, conventions by name.
//!
//! A measure of a query without any relevant document is nothing ([`None`]); [`WithoutRelevant`] says what a mean makes
//! of it, so that no convention is silent (spec section 3).

mod average_precision;
mod dcg;
mod max_rr;
mod precision;
mod reciprocal_rank;

use serde::{Deserialize, Serialize};

pub use average_precision::{average_precision, average_precision_among};
pub use dcg::{dcg, discount, gain, ideal_dcg, linear_ndcg, ndcg};
pub use max_rr::{expected_max_rr, first_click_law, max_rr};
pub use precision::precision;
pub use reciprocal_rank::reciprocal_rank;

/// What a mean over queries makes of a query without any relevant document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WithoutRelevant {
    /// It is left out: the offline figures of the FPDGD family.
    Skip,
    /// It counts 0: the online figures, and the offline ones of `OdR18`.
    Zero,
    /// It counts 1: nothing better could have been shown.
    One,
}

impl WithoutRelevant {
    /// The value to average for a query, if any.
    #[inline]
    pub fn apply(self, value: Option<f64>) -> Option<f64> {
        match self {
            Self::Skip => value,
            Self::Zero => value.or(Some(0.0)),
            Self::One => value.or(Some(1.0)),
        }
    }
}

/// How much a later round counts in the online performance.
pub const ONLINE_DISCOUNT: f64 = 0.9995;

/// Online performance: sum over rounds r of 0.9995^r times that round's mean over clients and interactions.
///
/// Spec section 3 proves that all published numbers are discounted a round, not an interaction.
pub fn online_performance(round_means: &[f64]) -> f64 {
    let mut discount = 1.0;
    let mut sum = 0.0;
    for &mean in round_means {
        sum += discount * mean;
        discount *= ONLINE_DISCOUNT;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn online_performance_of_three_rounds() {
        // Spec vector: means .4, .5, .5.
        assert!((online_performance(&[0.4, 0.5, 0.5]) - 1.399_250_125).abs() < 1e-12);
    }

    #[test]
    fn discounts_sum_as_the_specification_prints() {
        for (n_rounds, expected) in [(200, 190.3704), (1_000, 787.0904), (10_000, 1986.5409)] {
            assert!((online_performance(&vec![1.0; n_rounds]) - expected).abs() < 5e-5);
        }
        // Four of five one-label clients always score 1 (`W24` Table 4.3).
        assert!((online_performance(&vec![0.8; 10_000]) - 1589.2328).abs() < 5e-5);
    }

    #[test]
    fn conventions_for_queries_without_relevant_documents() {
        assert_eq!(WithoutRelevant::Skip.apply(None), None);
        assert_eq!(WithoutRelevant::Zero.apply(None), Some(0.0));
        assert_eq!(WithoutRelevant::One.apply(None), Some(1.0));
        assert_eq!(WithoutRelevant::One.apply(Some(0.25)), Some(0.25));
    }
}
