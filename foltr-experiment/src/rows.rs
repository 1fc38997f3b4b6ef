//! Rows: what a run reports while it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foltr_federation::unlearn::Accounting;
use foltr_federation::{Assurance, History, Unlearning};
use foltr_rank::{Params, Shape};
use foltr_simulation::unlearning::Cost;
use serde::{Deserialize, Serialize};

use crate::spec::{Metric, Split, UnlearningRequest};

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
    /// Share of the honest clients of a round that refused its release.
    RefusedReleases,
    /// Messages that the server has refused for what was in them, so far; there is a row where the number has grown.
    RefusedMessages,
    /// Steps that would have made a parameter infinite and were dropped, so far; there is a row where the number has
    /// grown.
    DroppedSteps,
    /// A metric of the ranker while clients are being forgotten; rounds are those of unlearning, 0 is before it.
    Unlearning(Split, Metric),
    /// Mean nDCG of the lists shown to users during a round of unlearning.
    UnlearningOnline(usize),
    /// What forgetting took those who stay.
    UnlearningCost(Work),
    /// Where documents stand that attackers promote, as a share of their lists: 0 is the top.
    PromotionRank,
    /// A measure of one ranker of mimic learning on test queries, such as `student-clear/ndcg@20`.
    Ranker(RankerMeasure),
}

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    Rounds,
    Interactions,
    Messages,
    /// Models to clients and messages to the server.
    Bytes,
}

impl Work {
    pub(crate) fn of(cost: &Cost) -> [(Self, f64); 4] {
        let Cost { rounds, local_steps, messages, bytes } = *cost;
        [
            (Self::Rounds, rounds.into()),
            (Self::Interactions, local_steps as f64),
            (Self::Messages, messages as f64),
            (Self::Bytes, bytes as f64),
        ]
    }
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
    /// The split on which rankers are evaluated; none for what is measured while they learn.
    pub const fn split(&self) -> Option<Split> {
        match *self {
            Self::Offline(split, _)
            | Self::Own(split, _)
            | Self::WorstDecile(split, _)
            | Self::WorseOff(split, _)
            | Self::Unlearning(split, _) => Some(split),
            Self::Ranker(_) => Some(Split::Test),
            _ => None,
        }
    }

    /// The metric of a ranker on a split that this is, or is a summary of.
    pub const fn of_ranker(&self) -> Option<Metric> {
        match *self {
            Self::Offline(_, metric)
            | Self::Own(_, metric)
            | Self::WorstDecile(_, metric)
            | Self::WorseOff(_, metric)
            | Self::Unlearning(_, metric) => Some(metric),
            _ => None,
        }
    }
}

type OfSplit = fn(Split, Metric) -> MetricName;

/// The metrics of rankers by what their names begin with; the last name has no beginning of its own.
const BY_PREFIX: [(&str, OfSplit); 5] = [
    ("own-", MetricName::Own),
    ("worst-decile-", MetricName::WorstDecile),
    ("worse-off-", MetricName::WorseOff),
    ("unlearning-", MetricName::Unlearning),
    ("", MetricName::Offline),
];

const BY_NAME: [(&str, MetricName); 11] = [
    ("online-maxrr", MetricName::OnlineMaxRr),
    ("simulated-time", MetricName::SimulatedTime),
    ("attacker-share", MetricName::AttackerShare),
    ("refused-releases", MetricName::RefusedReleases),
    ("refused-messages", MetricName::RefusedMessages),
    ("dropped-steps", MetricName::DroppedSteps),
    ("promotion-rank", MetricName::PromotionRank),
    ("unlearning-rounds", MetricName::UnlearningCost(Work::Rounds)),
    ("unlearning-interactions", MetricName::UnlearningCost(Work::Interactions)),
    ("unlearning-messages", MetricName::UnlearningCost(Work::Messages)),
    ("unlearning-bytes", MetricName::UnlearningCost(Work::Bytes)),
];

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Offline(split, metric)
            | Self::Own(split, metric)
            | Self::WorstDecile(split, metric)
            | Self::WorseOff(split, metric)
            | Self::Unlearning(split, metric) => {
                let prefix = BY_PREFIX.iter().find(|(_, make)| make(split, metric) == *self).map(|(prefix, _)| prefix);
                write!(f, "{}{}-{metric}", prefix.unwrap_or(&""), split.name())
            }
            Self::UnlearningOnline(cutoff) => write!(f, "unlearning-online-ndcg@{cutoff}"),
            Self::OnlineNdcg(cutoff) => write!(f, "online-ndcg@{cutoff}"),
            Self::Ranker(name) => f.write_str(name.0),
            _ => f.write_str(BY_NAME.iter().find(|(_, metric)| metric == self).map_or("", |(name, _)| name)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no metric of a result folder, such as test-ndcg@10, online-ndcg@10, online-maxrr or simulated-time")]
pub struct UnknownName(String);

impl FromStr for MetricName {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let named = BY_NAME.iter().find(|(name, _)| *name == text).map(|(_, metric)| *metric);
        let ranker = || RankerMeasure::new(text).map(Self::Ranker);
        let cutoff = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
        let of_split = |(prefix, make): &(&str, OfSplit)| {
            let (first, metric) = text.strip_prefix(prefix)?.split_once('-')?;
            let split = Split::ALL.into_iter().find(|split| split.name() == first)?;
            Some(make(split, metric.parse().ok()?))
        };
        named
            .or_else(ranker)
            .or_else(|| cutoff("online-ndcg@").map(Self::OnlineNdcg))
            .or_else(|| cutoff("unlearning-online-ndcg@").map(Self::UnlearningOnline))
            .or_else(|| BY_PREFIX.iter().find_map(of_split))
            .ok_or_else(|| UnknownName(text.into()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Offline: the ranker after this many rounds. Online: the round in which lists were shown, from 1.
    pub round: usize,
    pub metric: MetricName,
    pub value: f64,
}

/// What the ranker that a client uses is worth to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientValue {
    pub client: u32,
    /// Whose labels it is evaluated by.
    pub group: u32,
    pub metric: MetricName,
    pub value: f64,
}

/// What the final ranker of a run is worth on one held-out query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryValue {
    pub query: String,
    pub metric: MetricName,
    pub value: f64,
}

impl Row {
    pub(crate) fn parse(line: &str, names: &mut MetricNames) -> Option<Self> {
        let (round, rest) = line.split_once(',')?;
        let (metric, value) = rest.rsplit_once(',')?;
        Some(Self { round: round.parse().ok()?, metric: names.metric(metric)?, value: value.parse().ok()? })
    }
}

/// Names of a file's metrics as they are written: each is parsed once, however many rows it has.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricNames(Vec<(String, MetricName)>);

impl MetricNames {
    fn metric(&mut self, name: &str) -> Option<MetricName> {
        if let Some((_, metric)) = self.0.iter().find(|(known, _)| known == name) {
            return Some(*metric);
        }
        let metric = name.parse().ok()?;
        self.0.push((name.to_owned(), metric));
        Some(metric)
    }
}

impl ClientValue {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ',');
        let (client, group) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (metric, value) = parts.next()?.rsplit_once(',')?;
        Some(Self { client, group, metric: metric.parse().ok()?, value: value.parse().ok()? })
    }
}

impl QueryValue {
    /// Seven digits of the value: more than any test over queries needs, at half the size.
    pub(crate) fn line(&self) -> String {
        let Self { query, metric, value } = self;
        let quoted = || format!("\"{}\"", query.replace('"', "\"\""));
        let query = if query.contains([',', '"']) { quoted() } else { query.clone() };
        format!("{query},{metric},{}", *value as f32)
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (rest, value) = line.rsplit_once(',')?;
        let (query, metric) = rest.rsplit_once(',')?;
        let quoted = query.strip_prefix('"').and_then(|query| query.strip_suffix('"'));
        let query = quoted.map_or_else(|| query.to_owned(), |query| query.replace("\"\"", "\""));
        Some(Self { query, metric: metric.parse().ok()?, value: value.parse().ok()? })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct RoundProgress {
    /// Rounds or steps since the last time.
    pub n_new: usize,
    pub message: Option<String>,
}

impl RoundProgress {
    pub(crate) fn new(n_new: usize, name: &str, value: Option<f64>) -> Self {
        Self { n_new, message: value.map(|value| format!("{name} {value:.4}")) }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Forgotten {
    pub clients: Vec<u32>,
    pub method: Unlearning,
    pub guarantee: Assurance,
    pub rounds: u32,
    /// Interactions of the remaining clients.
    pub local_steps: u64,
    /// Of the remaining clients.
    pub messages: u64,
    /// Models to clients and messages to the server.
    pub bytes: u64,
    /// Without evaluation.
    pub seconds: f64,
    pub history_bytes: usize,
    /// What messages have cost those who leave, and those who stay.
    pub privacy: Accounting,
}

impl Forgotten {
    pub(crate) fn new(
        request: &UnlearningRequest,
        guarantee: Assurance,
        cost: Cost,
        time: Duration,
        histories: &[History],
        privacy: Accounting,
    ) -> Self {
        let Cost { rounds, local_steps, messages, bytes } = cost;
        Self {
            clients: request.clients.clone(),
            method: request.method,
            guarantee,
            rounds,
            local_steps,
            messages,
            bytes,
            seconds: time.as_secs_f64(),
            history_bytes: histories.iter().map(|history| history.size().total()).sum(),
            privacy,
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
    /// What the final ranker of all clients is worth on every held-out query.
    pub queries: Vec<QueryValue>,
    /// What was stored for clients that leave: one history, or one for each shard.
    pub histories: Vec<History>,
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
    fn queries_of_any_name_are_read_as_they_are_written() {
        for query in ["10002", "a,b", "say \"a\"", "\"", ""] {
            let value = QueryValue { query: query.into(), metric: MetricName::OnlineMaxRr, value: 0.25 };
            assert_eq!(QueryValue::parse(&value.line()), Some(value));
        }
        let value = QueryValue { query: "7".into(), metric: "test-map".parse().expect("a metric"), value: 1.0 / 3.0 };
        assert_eq!(value.line(), "7,test-map,0.33333334");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        let by_client = ["own-test-ndcg@10", "worst-decile-train-map", "worse-off-validation-expected-maxrr"];
        let unlearning = ["unlearning-test-ndcg@10", "unlearning-online-ndcg@10"];
        let names = ["test-ndcg@10", "validation-expected-maxrr", "train-map", "online-ndcg@5", "student-a/map"];
        let all = by_client.into_iter().chain(unlearning).chain(names).chain(BY_NAME.map(|(name, _)| name));
        for text in all {
            assert_eq!(text.parse::<MetricName>().expect(text).to_string(), text);
        }
        for text in ["ndcg@10", "online-map", "dev-map", "test-", "", "/map", "bm25/"] {
            assert!(text.parse::<MetricName>().is_err(), "{text}");
        }
    }
}
