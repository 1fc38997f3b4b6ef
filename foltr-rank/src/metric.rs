//! Measures of a ranking by its labels: one line a measure in the list below, conventions by name.
//!
//! A measure of a query without any relevant document is nothing ([`None`]); [`WithoutRelevant`] says what a mean makes
//! of it, so that no convention is silent (spec section 3).

mod binary;
mod dcg;
mod err;
mod max_rr;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use binary::{average_precision_among, precision};
pub use dcg::{dcg, discount, gain, ideal_dcg, ndcg};
pub use max_rr::{expected_max_rr, first_click_law, max_rr};

/// The highest label that a document can have: gains 2^label - 1 stay exact.
pub const MAX_LABEL: u8 = 31;

/// One measure of labels in ranked order.
trait LabelMetric {
    /// What the Python package ir-measures calls it, without the cut-off; nothing where it has no such measure.
    const IR_MEASURES: Option<&'static str> = None;
    /// The highest label for which it is defined.
    const LARGEST_LABEL: u8 = MAX_LABEL;

    /// What the query's documents allow at best, or how many of them are relevant; 0 if there is nothing to measure.
    fn best(labels: &[u8], _k: usize) -> f64 {
        labels.iter().filter(|&&label| label > 0).count() as f64
    }

    /// The value of a ranking, of which the first `k` labels count.
    fn value(ranked: &[u8], k: usize, best: f64) -> f64;
}

/// Defines [`Metric`], its list and its delegation from one line a measure.
macro_rules! metrics {
    (
        at_cutoff { $($name:literal: $metric:ident($measure:ty), $about:literal;)* }
        of_whole_ranking { $($whole_name:literal: $whole:ident($whole_measure:ty), $whole_about:literal;)* }
    ) => {
        /// A metric of a ranking, in the words of experiment files, such as `ndcg@10` or `map`. The names of ir-measures
        /// are understood as well.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum Metric {
            $(#[doc = $about] $metric(usize),)*
            $(#[doc = $whole_about] $whole,)*
            /// By clicks instead of labels: expected reciprocal rank of the first click of the users (spec section 2.3).
            ExpectedMaxRr,
        }

        impl Metric {
            /// Every metric: its name in an experiment file, and what it is.
            pub const LIST: &[(&str, &str)] = &[
                $((concat!($name, "@K"), $about),)*
                $(($whole_name, $whole_about),)*
                ("expected-maxrr", "Expected reciprocal rank of the first click of the experiment's users"),
            ];

            /// All with this cut-off, or all without one.
            fn all(cutoff: Option<usize>) -> Vec<Self> {
                match cutoff {
                    Some(k) => vec![$(Self::$metric(k)),*],
                    None => vec![$(Self::$whole,)* Self::ExpectedMaxRr],
                }
            }

            /// Our name and that of ir-measures, without the cut-off.
            const fn names(self) -> (&'static str, Option<&'static str>) {
                match self {
                    $(Self::$metric(_) => ($name, <$measure as LabelMetric>::IR_MEASURES),)*
                    $(Self::$whole => ($whole_name, <$whole_measure as LabelMetric>::IR_MEASURES),)*
                    Self::ExpectedMaxRr => ("expected-maxrr", None),
                }
            }

            /// The highest label for which the metric is defined.
            pub const fn largest_label(self) -> u8 {
                match self {
                    $(Self::$metric(_) => <$measure as LabelMetric>::LARGEST_LABEL,)*
                    $(Self::$whole => <$whole_measure as LabelMetric>::LARGEST_LABEL,)*
                    Self::ExpectedMaxRr => MAX_LABEL,
                }
            }

            /// How many of the best documents it looks at; those that a user is shown for [`Self::ExpectedMaxRr`].
            pub const fn depth(self) -> usize {
                match self {
                    $(Self::$metric(k) => k,)*
                    $(Self::$whole => usize::MAX,)*
                    Self::ExpectedMaxRr => crate::MAX_SHOWN,
                }
            }

            /// What the labels of a query allow at best, for [`Self::value`]; 0 if nothing can be measured.
            pub fn best(self, labels: &[u8]) -> f64 {
                match self {
                    $(Self::$metric(k) => <$measure as LabelMetric>::best(labels, k),)*
                    $(Self::$whole => <$whole_measure as LabelMetric>::best(labels, usize::MAX),)*
                    Self::ExpectedMaxRr => 0.0,
                }
            }

            /// The value of labels in ranked order, given the [`Self::best`] of the query; nothing where no document is
            /// relevant, and for [`Self::ExpectedMaxRr`], which labels alone do not tell.
            #[inline]
            pub fn value(self, ranked: &[u8], best: f64) -> Option<f64> {
                (best > 0.0).then(|| match self {
                    $(Self::$metric(k) => <$measure as LabelMetric>::value(ranked, k, best),)*
                    $(Self::$whole => <$whole_measure as LabelMetric>::value(ranked, usize::MAX, best),)*
                    Self::ExpectedMaxRr => f64::NAN,
                })
            }
        }
    };
}

metrics! {
    at_cutoff {
        "ndcg": Ndcg(dcg::Ndcg), "Discounted cumulative gain of the first K, divided by the best possible";
        "ndcg-linear": NdcgLinear(dcg::LinearNdcg), "The same with the label itself as gain, as trec_eval has it";
        "dcg": Dcg(dcg::Dcg), "Discounted cumulative gain of the first K";
        "mrr": Mrr(binary::ReciprocalRank), "Reciprocal rank of the first relevant document, 0 below K";
        "p": Precision(binary::Precision), "Share of relevant documents among the first K";
        "recall": Recall(binary::Recall), "Share of the relevant documents that is among the first K";
        "err": Err(err::ExpectedReciprocalRank), "Expected reciprocal rank of the document that satisfies a user";
    }
    of_whole_ranking {
        "map": AveragePrecision(binary::AveragePrecision),
            "Mean over relevant documents of the precision at their rank";
        "bpref": Bpref(binary::BinaryPreference),
            "Mean over relevant documents of the share of irrelevant ones that stand below";
    }
}

impl Metric {
    /// What the Python package ir-measures calls this metric; nothing where it has no such metric.
    pub fn ir_measures_name(self) -> Option<String> {
        self.names().1.map(|name| self.with_cutoff(name))
    }

    fn with_cutoff(self, name: &str) -> String {
        let has_cutoff = !Self::all(None).contains(&self);
        if has_cutoff { format!("{name}@{}", self.depth()) } else { name.into() }
    }
}

/// A metric that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown metric `{0}`, expected one of {names} (K from 1, such as ndcg@10), or a name of ir-measures for one of these, \
     such as `nDCG@10` or `AP`",
    names = metric_names()
)]
pub struct UnknownMetric(String);

fn metric_names() -> String {
    Metric::LIST.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric(text.into());
        let (name, cutoff) = match text.split_once('@') {
            Some((name, k)) => (name, Some(k.parse().ok().filter(|&k| k > 0).ok_or_else(unknown)?)),
            None => (text, None),
        };
        let is_named = |metric: &Self| metric.names().0 == name || metric.names().1 == Some(name);
        Self::all(cutoff).into_iter().find(is_named).ok_or_else(unknown)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_cutoff(self.names().0))
    }
}

impl TryFrom<String> for Metric {
    type Error = UnknownMetric;

    fn try_from(text: String) -> Result<Self, UnknownMetric> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": format!("{} (K from 1), or its name in ir-measures", metric_names()),
            "examples": ["ndcg@10", "mrr@10", "p@5", "map", "expected-maxrr"],
        })
    }
}

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
    fn metrics_are_read_as_they_are_written() {
        for text in [
            "ndcg@10",
            "ndcg-linear@10",
            "dcg@5",
            "mrr@1",
            "p@3",
            "recall@20",
            "err@10",
            "map",
            "bpref",
            "expected-maxrr",
        ] {
            assert_eq!(text.parse::<Metric>().expect(text).to_string(), text);
        }
        for text in [
            "ndcg", "ndcg@0", "ndcg@ten", "map@10", "recall", "bpref@10", "ERR", "nDCG", "RR", "P", "AP@10", "Ndcg@10",
            "",
        ] {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_of_ir_measures_are_read_as_well() {
        let names = [
            ("nDCG(dcg='exp-log2')@10", "ndcg@10"),
            ("nDCG@5", "ndcg-linear@5"),
            ("RR@10", "mrr@10"),
            ("P@3", "p@3"),
            ("R@10", "recall@10"),
            ("ERR@20", "err@20"),
            ("AP", "map"),
            ("Bpref", "bpref"),
        ];
        for (theirs, ours) in names {
            let metric: Metric = theirs.parse().expect(theirs);
            assert_eq!((metric.to_string().as_str(), metric.ir_measures_name().as_deref()), (ours, Some(theirs)));
        }
        assert_eq!((Metric::Dcg(10).ir_measures_name(), Metric::ExpectedMaxRr.ir_measures_name()), (None, None));
    }

    #[test]
    fn values_by_hand() {
        // Labels as ranked, all documents of the query; 1/log2(3) = .6309.
        let third = 1.0 / 3_f64.log2();
        let value = |metric: &str, ranked: &[u8]| {
            let metric: Metric = metric.parse().expect(metric);
            metric.value(ranked, metric.best(ranked))
        };
        for (metric, ranked, expected) in [
            ("ndcg@10", &[1, 0, 2][..], 2.5 / (3.0 + third)),
            ("ndcg@2", &[0, 0, 4], 0.0),
            ("ndcg-linear@10", &[1, 0, 2], 2.0 / (2.0 + third)),
            ("ndcg-linear@2", &[0, 0, 2], 0.0),
            ("dcg@2", &[1, 2, 2], 1.0 + 3.0 * third),
            ("mrr@10", &[0, 0, 1, 2], 1.0 / 3.0),
            ("mrr@2", &[0, 0, 1], 0.0),
            ("p@4", &[2, 0, 1, 0, 1], 0.5),
            ("p@4", &[1], 0.25),
            ("recall@2", &[1, 0, 2, 4], 1.0 / 3.0),
            ("recall@9", &[1, 0, 2, 4], 1.0),
            // The first satisfies with 3/16, the second with 15/16.
            ("err@10", &[2, 4], 3.0 / 16.0 + 13.0 / 16.0 * 15.0 / 16.0 / 2.0),
            ("err@1", &[0, 4], 0.0),
            ("map", &[1, 0, 2, 0], (1.0 + 2.0 / 3.0) / 2.0),
            // Two relevant, three irrelevant: one of at most two above the first, two of at most two above the second.
            ("bpref", &[0, 1, 0, 0, 2], 0.5 / 2.0),
            // One irrelevant: it stands above one of three.
            ("bpref", &[3, 2, 0, 1], 2.0 / 3.0),
            ("bpref", &[1, 1], 1.0),
        ] {
            let ours = value(metric, ranked).expect("a relevant document");
            assert!((ours - expected).abs() < 1e-12, "{metric}: {ours} instead of {expected}");
            assert_eq!(value(metric, &[0, 0]), None, "{metric}");
        }
        assert_eq!(average_precision_among([1, 0, 2, 0], 4), Some((1.0 + 2.0 / 3.0) / 4.0));
        assert_eq!(average_precision_among([0, 0], 1), Some(0.0));
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
