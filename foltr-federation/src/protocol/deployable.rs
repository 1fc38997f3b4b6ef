//! Which federations can be deployed, and why the others cannot.
//!
//! The lab simulates what papers describe, also where it protects nobody or rests on what only a simulation knows. A plan
//! that devices obey must not have any of it.

use foltr_rank::learn::EvolutionParameters;
use foltr_rank::personal::Destination;
use foltr_rank::{EvolutionStream, Learner, MAX_SHOWN, RankerShape};

use crate::aggregate::Aggregation;
use crate::asynchronous::Asynchrony;
use crate::plan::{FederationPlan, PlanProblem};
use crate::unlearn::Unlearning;

/// Mechanisms whose guarantee holds as a computer runs them: exact integers, or a coin about a finite set of answers.
pub const DEPLOYABLE_MECHANISMS: &[&str] =
    &["none", "randomised-response", "sampled-response", "reward-laplace", "duchi", "central-discrete-gaussian"];

/// Mechanisms for simulations only, and why.
pub const LAB_ONLY_MECHANISMS: &[(&str, &str)] = &[
    (
        "gaussian",
        "its noise is floating point, whose last digits can give the sum away; use \"central-discrete-gaussian\"",
    ),
    (
        "distributed-laplace",
        "its noise is floating point and spread over the devices, so that every one that fails takes its share away",
    ),
    (
        "discrete-gaussian",
        "noise in the devices' shares cannot be combined with a verified norm; use \"central-discrete-gaussian\"",
    ),
    ("priv-unit", "it draws directions in floating point, whose last digits can give the update away; use \"duchi\""),
];

/// The key to blame, whether a plan has it, and why it cannot be deployed.
type Refusal = (&'static str, fn(&FederationPlan) -> bool, &'static str);

const REFUSALS: &[Refusal] = &[
    ("learner.kind", |plan| !plan.learner.is_federated(), "learns in one place: there are no devices to deploy it to"),
    (
        "learner.kind",
        |plan| matches!(plan.learner, Learner::PairRank(_)),
        "a message is a matrix of features by features that shows what was clicked: it is for simulations",
    ),
    (
        "learner.stream",
        |plan| {
            matches!(plan.learner, Learner::Evolution(EvolutionParameters { stream: EvolutionStream::Published, .. }))
        },
        "the seed that a device sends would replay its lists and clicks; use \"separate\"",
    ),
    ("ranker", |plan| plan.ranker.is_none(), "is needed: devices must know the form of the model"),
    ("clients.dropout", |plan| plan.dropout != 0.0, "is known to simulations only: nobody knows who will fail"),
    ("clients.absent", |plan| plan.n_absent != 0, "is known to simulations only: nobody knows who will stay away"),
    (
        "personalisation.kind",
        |plan| plan.personalisation.is_some_and(|method| method.n_clusters() > 0),
        "the cluster or group of a device would be public knowledge about its owner",
    ),
    (
        "personalisation.kind",
        |plan| plan.personalisation.is_some_and(|method| method.destination() == Destination::Nobody),
        "nothing leaves a device: no federation is needed",
    ),
    (
        "asynchrony.kind",
        |plan| matches!(plan.asynchrony, Some(Asynchrony::Naive(_))),
        "every single message would become a model, which shows what one device sent; use \"buffered\"",
    ),
    (
        "federation.average_last",
        |plan| plan.average_last.is_some() && plan.asynchrony.is_some(),
        "is the mean of the models of rounds, and there are none with [asynchrony]",
    ),
    (
        "defence.rule",
        |plan| plan.defence.is_some_and(|defence| matches!(defence.rule, Aggregation::FlTrust(_))),
        "names the trusted client by a number that enrolment gives to whoever comes at that place",
    ),
    (
        "unlearning.method",
        |plan| matches!(plan.unlearning, Some(Unlearning::Retrain(_) | Unlearning::FedEraser(_))),
        "replays past rounds, which devices cannot run again",
    ),
];

/// The most features of a document; more is a mistake, or made to exhaust a device.
const MOST_FEATURES: usize = 1 << 16;
/// The most devices of a federation: a server stores something for each.
const MOST_CLIENTS: usize = 1 << 26;
const MOST_SHARDS: usize = 1 << 12;
/// The most parameters of a model; its releases are 64 MiB.
const MOST_PARAMS: usize = 1 << 24;

impl FederationPlan {
    /// Every key that can make a plan undeployable, apart from mechanisms and sizes, and why.
    pub fn refusals() -> impl Iterator<Item = (&'static str, &'static str)> {
        REFUSALS.iter().map(|(key, _, why)| (*key, *why))
    }

    /// Everything for which this plan is for simulations only, and every size that no device could work with. What is
    /// wrong with a plan anywhere is for [`Self::check`] to say.
    pub fn undeployable(&self) -> Vec<PlanProblem> {
        let refused = REFUSALS.iter().filter(|(_, is_there, _)| is_there(self));
        let problem = |key: &str, message: &str| PlanProblem { key: key.into(), message: message.into() };
        let refused = refused.map(|(key, _, why)| problem(key, why));
        let privacy = self.privacy.name();
        let mechanism = (!DEPLOYABLE_MECHANISMS.contains(&privacy)).then(|| {
            let why = LAB_ONLY_MECHANISMS.iter().find(|(name, _)| *name == privacy);
            problem("privacy.kind", why.map_or("is not known to be safe outside of simulations", |(_, why)| why))
        });
        refused.chain(mechanism).chain(self.wrong_sizes()).collect()
    }

    fn wrong_sizes(&self) -> Vec<PlanProblem> {
        let counts = [
            ("metrics.list_length", self.list_length, MAX_SHOWN),
            ("clients.n_clients", self.n_clients, MOST_CLIENTS),
            ("clients.interactions", self.n_interactions, u32::MAX as usize),
            ("federation.rounds", self.n_rounds, u32::MAX as usize),
            (
                "federation.shards",
                self.shards.map_or(1, |shards| shards as usize),
                self.n_clients.clamp(1, MOST_SHARDS),
            ),
        ];
        let wrong = counts.into_iter().filter(|(_, count, most)| !(1..=*most).contains(count));
        let counts = wrong.map(|(key, count, most)| PlanProblem {
            key: key.into(),
            message: format!("must be 1 to {most}, not {count}"),
        });
        let learner = self.learner.check().into_iter().map(|error| ("learner", error));
        let ranker = self.ranker.iter().flat_map(|ranker| ranker.check()).map(|error| ("ranker", error));
        let parameters = learner.chain(ranker).map(|(section, error)| PlanProblem {
            key: format!("{section}.{}", error.name),
            message: error.to_string(),
        });
        let is_share = self.average_last.is_none_or(|share| share > 0.0 && share <= 1.0);
        let share = (!is_share).then_some(("federation.average_last", "must be above 0 and at most 1"));
        let isolation = match self.unlearning {
            Some(Unlearning::ShardIsolation(isolation)) => self.shards == Some(isolation.shards),
            _ => true,
        };
        let isolation = (!isolation).then_some(("unlearning.method.shards", "must be `federation.shards`"));
        let others = [share, isolation].into_iter().flatten();
        let others = others.map(|(key, message)| PlanProblem { key: key.into(), message: message.into() });
        counts.chain(parameters).chain(others).collect()
    }

    /// Whether documents may have so many features, and a model of them so many parameters.
    pub(super) fn check_model(&self, n_features: usize) -> Option<PlanProblem> {
        let problem = |key: &str, most: usize, got: usize| {
            Some(PlanProblem { key: key.into(), message: format!("must be 1 to {most}, not {got}") })
        };
        if !(1..=MOST_FEATURES).contains(&n_features) {
            return problem("features", MOST_FEATURES, n_features);
        }
        // A hidden unit has its weights, a bias, and a weight in the score.
        let most = MOST_PARAMS / (n_features + 2);
        match self.ranker {
            Some(RankerShape::Mlp { hidden, .. }) if hidden > most => problem("ranker.hidden", most, hidden),
            _ => None,
        }
    }
}
