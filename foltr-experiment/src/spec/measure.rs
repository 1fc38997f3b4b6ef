//! `[metrics]`: what is measured, on what, and when (spec section 3).

use std::fmt;
use std::str::FromStr;

use foltr_rank::metric::WithoutRelevant;
use foltr_simulation::adversary::Promotion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured, on what, and when.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measures {
    /// Documents shown to a user.
    pub list_length: usize,
    /// Cut-off of the online nDCG of shown lists.
    pub cutoff: usize,
    /// What a query without any relevant document counts offline.
    pub queries_without_relevant: WithoutRelevant,
    /// Metrics of the deterministic ranking of held-out queries.
    pub offline: Vec<Metric>,
    /// Which queries are held out for that.
    pub evaluate_on: Vec<Split>,
    /// After which rounds.
    pub evaluate: Evaluate,
    /// Documents whose rank is measured: those that an attack with the same parameters promotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
}

impl Default for Measures {
    /// What the FPDGD papers report: nDCG@10 on the test queries in every round.
    fn default() -> Self {
        Self {
            list_length: 10,
            cutoff: 10,
            queries_without_relevant: WithoutRelevant::Skip,
            offline: vec![Metric::Ndcg(10)],
            evaluate_on: vec![Split::Test],
            evaluate: Evaluate::EveryRound,
            promotion: None,
        }
    }
}

/// A part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Queries that clients draw from.
    Train,
    /// Queries for model selection.
    Validation,
    /// Queries for the reported values.
    Test,
}

impl Split {
    /// All splits, for lists.
    pub const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// The name in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// After which rounds the ranker is evaluated offline. The first and the final ranker always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evaluate {
    /// After each, and before the first.
    EveryRound,
    /// After each round whose number is a multiple of this.
    Every(usize),
    /// This many times while the number of rounds doubles, evenly spread: with 2 after rounds 1, 2, 3, 4, 6, 8, 12, ...
    Logarithmic(usize),
    /// Only before the first round and after the last.
    FirstAndLast,
}

impl Evaluate {
    /// Whether the ranker after `round` rounds of `n_rounds` is evaluated.
    pub const fn at(self, round: usize, n_rounds: usize) -> bool {
        match self {
            _ if round == 0 || round == n_rounds => true,
            Self::EveryRound => true,
            Self::Every(step) => round.is_multiple_of(step),
            Self::Logarithmic(times) => {
                // Whole numbers only: every machine must evaluate after the same rounds.
                let octave = 1 << round.ilog2();
                let step = if times < octave { octave / times } else { 1 };
                (round - octave).is_multiple_of(step)
            }
            Self::FirstAndLast => false,
        }
    }

    /// How many rankers of a run with `n_rounds` rounds are evaluated.
    pub fn count(self, n_rounds: usize) -> usize {
        (0..=n_rounds).filter(|&round| self.at(round, n_rounds)).count()
    }
}

/// A metric of a ranking, in the words of experiment files: `ndcg@10`, `ndcg-linear@10`, `dcg@5`, `mrr@10`, `p@10`,
/// `map`, `expected-maxrr`. The names of ir-measures are understood as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// Discounted cumulative gain at a cut-off, divided by the best possible.
    Ndcg(usize),
    /// The same with the label itself as gain, as trec_eval has it.
    NdcgLinear(usize),
    /// Discounted cumulative gain at a cut-off.
    Dcg(usize),
    /// Reciprocal rank of the first relevant document, within a cut-off.
    Mrr(usize),
    /// Share of relevant documents above a cut-off.
    Precision(usize),
    /// Mean over the relevant documents of the precision at their rank.
    AveragePrecision,
    /// Expected reciprocal rank of the first click of the experiment's users (spec section 2.3).
    ExpectedMaxRr,
}

/// Names of the Python package ir-measures, without cut-offs.
mod ir_measures {
    pub const NDCG: &str = "nDCG(dcg='exp-log2')";
    pub const NDCG_LINEAR: &str = "nDCG";
    pub const RR: &str = "RR";
    pub const P: &str = "P";
    pub const AP: &str = "AP";
}

impl Metric {
    /// What the Python package ir-measures calls this metric; nothing where it has no such metric.
    pub fn ir_measures_name(self) -> Option<String> {
        match self {
            Self::Ndcg(cutoff) => Some(format!("{}@{cutoff}", ir_measures::NDCG)),
            Self::NdcgLinear(cutoff) => Some(format!("{}@{cutoff}", ir_measures::NDCG_LINEAR)),
            Self::Mrr(cutoff) => Some(format!("{}@{cutoff}", ir_measures::RR)),
            Self::Precision(cutoff) => Some(format!("{}@{cutoff}", ir_measures::P)),
            Self::AveragePrecision => Some(ir_measures::AP.into()),
            Self::Dcg(_) | Self::ExpectedMaxRr => None,
        }
    }
}

impl JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "ndcg@K, ndcg-linear@K, dcg@K, mrr@K, p@K (K from 1), map or expected-maxrr; or its name in ir-measures",
            "examples": ["ndcg@10", "mrr@10", "p@5", "map", "expected-maxrr"],
        })
    }
}

/// A metric that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown metric `{0}`, expected one of `ndcg@K`, `ndcg-linear@K`, `dcg@K`, `mrr@K`, `p@K` (K from 1, such as \
     ndcg@10), `map`, `expected-maxrr`, or a name of ir-measures for one of these, such as `nDCG@10` or `AP`"
)]
pub struct UnknownMetric(String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric(text.into());
        let Some((name, cutoff)) = text.split_once('@') else {
            return match text {
                "map" | ir_measures::AP => Ok(Self::AveragePrecision),
                "expected-maxrr" => Ok(Self::ExpectedMaxRr),
                _ => Err(unknown()),
            };
        };
        let cutoff = cutoff.parse().ok().filter(|&cutoff| cutoff > 0).ok_or_else(unknown)?;
        match name {
            "ndcg" | ir_measures::NDCG => Ok(Self::Ndcg(cutoff)),
            "ndcg-linear" | ir_measures::NDCG_LINEAR => Ok(Self::NdcgLinear(cutoff)),
            "dcg" => Ok(Self::Dcg(cutoff)),
            "mrr" | ir_measures::RR => Ok(Self::Mrr(cutoff)),
            "p" | ir_measures::P => Ok(Self::Precision(cutoff)),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ndcg(cutoff) => write!(f, "ndcg@{cutoff}"),
            Self::NdcgLinear(cutoff) => write!(f, "ndcg-linear@{cutoff}"),
            Self::Dcg(cutoff) => write!(f, "dcg@{cutoff}"),
            Self::Mrr(cutoff) => write!(f, "mrr@{cutoff}"),
            Self::Precision(cutoff) => write!(f, "p@{cutoff}"),
            Self::AveragePrecision => f.write_str("map"),
            Self::ExpectedMaxRr => f.write_str("expected-maxrr"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_as_they_are_written() {
        for text in ["ndcg@10", "ndcg-linear@10", "dcg@5", "mrr@1", "p@3", "map", "expected-maxrr"] {
            assert_eq!(text.parse::<Metric>().expect(text).to_string(), text);
        }
        for text in ["ndcg", "ndcg@0", "ndcg@ten", "map@10", "recall@10", "nDCG", "RR", "P", "AP@10", "Ndcg@10", ""] {
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
            ("AP", "map"),
        ];
        for (theirs, ours) in names {
            let metric: Metric = theirs.parse().expect(theirs);
            assert_eq!((metric.to_string().as_str(), metric.ir_measures_name().as_deref()), (ours, Some(theirs)));
        }
        assert_eq!((Metric::Dcg(10).ir_measures_name(), Metric::ExpectedMaxRr.ir_measures_name()), (None, None));
    }

    #[test]
    fn every_third_round_and_the_last() {
        let rounds: Vec<usize> = (0..=7).filter(|&round| Evaluate::Every(3).at(round, 7)).collect();
        assert_eq!(rounds, [0, 3, 6, 7]);
        let ends: Vec<usize> = (0..=7).filter(|&round| Evaluate::FirstAndLast.at(round, 7)).collect();
        assert_eq!(ends, [0, 7]);
    }

    #[test]
    fn logarithmic_rounds_thin_out_by_the_same_factor() {
        let rounds = |times| (0..=40).filter(|&round| Evaluate::Logarithmic(times).at(round, 40)).collect::<Vec<_>>();
        assert_eq!(rounds(1), [0, 1, 2, 4, 8, 16, 32, 40]);
        assert_eq!(rounds(2), [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40]);
        assert_eq!(Evaluate::Logarithmic(2).count(40), 12);
    }
}
