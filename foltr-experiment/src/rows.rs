//! Rows: what a run reports while it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foltr_federation::{Assurance, History, Unlearning};
use foltr_rank::{Params, Shape};
use foltr_simulation::unlearning::Cost;
use serde::{Deserialize, Serialize};

use crate::spec::{Metric, Split, UnlearningRequest};

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetricName {
    /// A metric of the deterministic ranking of held-out queries.
    Offline(Split, Metric),
    /// A metric of the rankers that clients use, each on its own client's labels: the mean over clients.
    Own(Split, Metric),
    /// The same for the tenth of the clients that is served worst.
    WorstDecile(Split, Metric),
    /// Share of the clients whose own ranker is worth less to them than the global ranker of the same run.
    WorseOff(Split, Metric),
    /// Mean nDCG of the lists shown to users during a round, at the cut-off.
    OnlineNdcg(usize),
    /// Mean MaxRR of the clicks on the lists shown to users during a round, before any privatisation (spec section 4).
    OnlineMaxRr,
    /// Simulated time at the end of a round, in rounds of a usual client.
    SimulatedTime,
    /// How much of a round's step came from attackers.
    AttackerShare,
    /// A metric of the ranker while clients are being forgotten; rounds are those of unlearning, 0 is before it.
    Unlearning(Split, Metric),
    /// Mean nDCG of the lists shown to users during a round of unlearning.
    UnlearningOnline(usize),
    /// Where documents stand that attackers promote, as a share of their lists: 0 is the top.
    PromotionRank,
    /// A measure of one ranker of mimic learning on test queries, such as `student-clear/ndcg@20`.
    Ranker(RankerMeasure),
}

/// `ranker/measure`. Equal names are stored once for the whole program, so that names are copied like numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RankerMeasure(&'static str);

impl RankerMeasure {
    /// None if one of the two is missing.
    pub fn new(name: &str) -> Option<Self> {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        name.split_once('/').filter(|(ranker, measure)| !ranker.is_empty() && !measure.is_empty())?;
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Some(Self(known));
        }
        let new: &'static str = Box::leak(name.into());
        names.insert(new);
        Some(Self(new))
    }
}

impl MetricName {
    /// The split on which rankers are judged; none for what is measured while they learn.
    pub const fn split(&self) -> Option<Split> {
        match *self {
            Self::Offline(split, _)
            | Self::Own(split, _)
            | Self::WorstDecile(split, _)
            | Self::WorseOff(split, _)
            | Self::Unlearning(split, _) => Some(split),
            Self::Ranker(_) => Some(Split::Test),
            Self::OnlineNdcg(_) | Self::UnlearningOnline(_) | Self::OnlineMaxRr | Self::SimulatedTime => None,
            Self::AttackerShare | Self::PromotionRank => None,
        }
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline(split, metric) => write!(f, "{}-{metric}", split.name()),
            Self::Own(split, metric) => write!(f, "own-{}-{metric}", split.name()),
            Self::WorstDecile(split, metric) => write!(f, "worst-decile-{}-{metric}", split.name()),
            Self::WorseOff(split, metric) => write!(f, "worse-off-{}-{metric}", split.name()),
            Self::Unlearning(split, metric) => write!(f, "unlearning-{}-{metric}", split.name()),
            Self::UnlearningOnline(cutoff) => write!(f, "unlearning-online-ndcg@{cutoff}"),
            Self::OnlineNdcg(cutoff) => write!(f, "online-ndcg@{cutoff}"),
            Self::OnlineMaxRr => f.write_str("online-maxrr"),
            Self::SimulatedTime => f.write_str("simulated-time"),
            Self::AttackerShare => f.write_str("attacker-share"),
            Self::PromotionRank => f.write_str("promotion-rank"),
            Self::Ranker(name) => f.write_str(name.0),
        }
    }
}

/// A name that no metric has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no metric of a result folder, such as test-ndcg@10, online-ndcg@10, online-maxrr or simulated-time")]
pub struct UnknownName(String);

impl FromStr for MetricName {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let read = || {
            match text {
                "online-maxrr" => return Some(Self::OnlineMaxRr),
                "simulated-time" => return Some(Self::SimulatedTime),
                "attacker-share" => return Some(Self::AttackerShare),
                "promotion-rank" => return Some(Self::PromotionRank),
                _ => {}
            }
            if text.contains('/') {
                return RankerMeasure::new(text).map(Self::Ranker);
            }
            if let Some(cutoff) = text.strip_prefix("unlearning-online-ndcg@") {
                return Some(Self::UnlearningOnline(cutoff.parse().ok()?));
            }
            let (first, metric) = text.split_once('-')?;
            if first == "online" {
                return Some(Self::OnlineNdcg(metric.strip_prefix("ndcg@")?.parse().ok()?));
            }
            let of_rankers = |text: &str| {
                let (first, metric) = text.split_once('-')?;
                let split = Split::ALL.into_iter().find(|split| split.name() == first)?;
                Some((split, metric.parse().ok()?))
            };
            let of_clients = |prefix: &str| text.strip_prefix(prefix).and_then(of_rankers);
            if let Some((split, metric)) = of_clients("own-") {
                return Some(Self::Own(split, metric));
            }
            if let Some((split, metric)) = of_clients("unlearning-") {
                return Some(Self::Unlearning(split, metric));
            }
            if let Some((split, metric)) = of_clients("worst-decile-") {
                return Some(Self::WorstDecile(split, metric));
            }
            if let Some((split, metric)) = of_clients("worse-off-") {
                return Some(Self::WorseOff(split, metric));
            }
            of_rankers(text).map(|(split, metric)| Self::Offline(split, metric))
        };
        read().ok_or_else(|| UnknownName(text.into()))
    }
}

/// One number of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Offline: the ranker after this many rounds. Online: the round in which lists were shown, from 1.
    pub round: usize,
    /// What was measured.
    pub metric: MetricName,
    /// Its value.
    pub value: f64,
}

/// What the ranker that a client uses is worth to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientValue {
    /// Its number.
    pub client: u32,
    /// Whose labels it is judged by.
    pub group: u32,
    /// What was measured.
    pub metric: MetricName,
    /// Its value.
    pub value: f64,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundProgress {
    /// Rounds or steps that were done since the last time.
    pub n_new: usize,
    /// The newest value, for people.
    pub message: Option<String>,
}

impl RoundProgress {
    pub(crate) fn new(n_new: usize, name: &str, value: Option<f64>) -> Self {
        Self { n_new, message: value.map(|value| format!("{name} {value:.4}")) }
    }
}

/// How clients were forgotten.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Forgotten {
    /// Who.
    pub clients: Vec<u32>,
    /// How.
    pub method: Unlearning,
    /// What that guarantees.
    pub guarantee: Assurance,
    /// Rounds that it took.
    pub rounds: u32,
    /// Interactions of the remaining clients.
    pub local_steps: u64,
    /// Their messages.
    pub messages: u64,
    /// Bytes of models to clients and of messages to the server.
    pub bytes: u64,
    /// Time, without evaluation.
    pub seconds: f64,
    /// Bytes of the history afterwards.
    pub history_bytes: usize,
}

impl Forgotten {
    /// What a method left behind.
    pub fn new(
        leaving: &UnlearningRequest,
        guarantee: Assurance,
        cost: Cost,
        time: Duration,
        histories: &[History],
    ) -> Self {
        let Cost { rounds, local_steps, messages, bytes } = cost;
        Self {
            clients: leaving.clients.clone(),
            method: leaving.method,
            guarantee,
            rounds,
            local_steps,
            messages,
            bytes,
            seconds: time.as_secs_f64(),
            history_bytes: histories.iter().map(|history| history.size().total()).sum(),
        }
    }
}

/// What remains of a run besides its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcome {
    /// The final ranker of all clients; none if each has one of its own and nothing is shared by all.
    pub ranker: Option<(Shape, Params)>,
    /// What the final rankers are worth to every client, if clients differ.
    pub clients: Vec<ClientValue>,
    /// What was stored for clients that leave: one history, or one for each shard.
    pub histories: Vec<History>,
    /// What came of `[unlearning]`.
    pub forgotten: Option<Forgotten>,
    pub n_interactions: u64,
    /// Without evaluation.
    pub training_seconds: f64,
    /// Whether the run was stopped before its last round.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let by_client = [
            "own-test-ndcg@10",
            "unlearning-test-ndcg@10",
            "unlearning-online-ndcg@10",
            "worst-decile-train-map",
            "worse-off-validation-expected-maxrr",
        ];
        for text in by_client {
            assert_eq!(text.parse::<MetricName>().expect(text).to_string(), text);
        }
        let names = ["test-ndcg@10", "validation-expected-maxrr", "train-map", "online-ndcg@5", "online-maxrr"];
        for text in names.into_iter().chain(["simulated-time", "attacker-share", "promotion-rank", "student-a/map"]) {
            assert_eq!(text.parse::<MetricName>().expect(text).to_string(), text);
        }
        for text in ["ndcg@10", "online-map", "dev-map", "test-", "", "/map", "bm25/"] {
            assert!(text.parse::<MetricName>().is_err(), "{text}");
        }
    }
}
