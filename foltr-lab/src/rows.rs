//! Rows: what a run reports while it runs.

use std::fmt;

use foltr_rank::Params;

use crate::spec::{Metric, Split};

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetricName {
    /// A metric of the deterministic ranking of held-out queries.
    Offline(Split, Metric),
    /// Mean nDCG of the lists shown to users during a round, at the cut-off.
    OnlineNdcg(usize),
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline(split, metric) => write!(f, "{}-{metric}", split.name()),
            Self::OnlineNdcg(cutoff) => write!(f, "online-ndcg@{cutoff}"),
        }
    }
}

/// One number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Fold of the data, from 1.
    pub fold: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Offline: the ranker after this many rounds. Online: the round in which lists were shown, from 1.
    pub round: usize,
    /// What was measured.
    pub metric: MetricName,
    /// Its value.
    pub value: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundProgress {
    /// Rounds done.
    pub round: usize,
    /// Rounds to do.
    pub n_rounds: usize,
    /// The newest value of the first metric, if there is one yet.
    pub value: Option<f64>,
}

/// What remains of a run besides its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The final ranker.
    pub params: Params,
    /// Interactions that were simulated.
    pub n_interactions: u64,
    /// Time spent training, without evaluation.
    pub training_seconds: f64,
    /// Whether the run was stopped before its last round.
    pub interrupted: bool,
}
