//! `[metrics]`: what is measured, on what, and when (spec section 3).

use foltr_rank::metric::{Metric, WithoutRelevant};
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
    /// How often what is measured in rounds becomes a row.
    #[serde(skip_serializing_if = "Online::is_usual")]
    pub online: Online,
    /// Whether the final ranker's value on every test and validation query is stored, for tests over queries.
    #[serde(skip_serializing_if = "is_true")]
    pub by_query: bool,
    /// Whether what it takes to forget clients becomes rows: `unlearning-rounds`, `unlearning-interactions`,
    /// `unlearning-messages` and `unlearning-bytes`, of those who stay.
    #[serde(skip_serializing_if = "is_false")]
    pub unlearning_cost: bool,
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
            online: Online::EveryRound,
            by_query: true,
            unlearning_cost: false,
            promotion: None,
        }
    }
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
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
    pub const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

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

/// How often what is measured while rounds are trained (`online-ndcg`, `online-maxrr`, `attacker-share`) becomes a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Online {
    #[default]
    EveryRound,
    /// After so many rounds, with the mean over them; a study of many runs needs no more. Must divide the rounds.
    Every(usize),
}

impl Online {
    pub const fn rounds_a_row(self) -> usize {
        match self {
            Self::EveryRound => 1,
            Self::Every(rounds) => rounds,
        }
    }

    fn is_usual(&self) -> bool {
        *self == Self::EveryRound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
