//! The experiment file: what is trained on what, by whom, and what is measured.
//!
//! A file is read by [`Grid::read`](crate::grid::Grid::read) and checked as a whole before any work: every problem is reported with
//! its line, key and value. What has a default is printed in the resolved experiment, so no number is hidden.

mod check;
mod data;
mod deploy;
mod label;
mod measure;

use foltr_federation::unlearn::Need;
use foltr_federation::{FederationPlan, Part, Participation, Staleness};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::read::{Problem, SpecError, choice};
pub use data::{Conflict, Data, Level};
pub use deploy::{KEYS, Treatment};
pub use foltr_federation::privacy::{Budget, MechanismError};
pub use foltr_federation::{Asynchrony, Defence, HistoryPolicy, Privacy, ServerOptimiser, Unlearning};
pub use foltr_rank::adoption::AdoptionRule;
pub use foltr_rank::learn::pdgd::Updates;
pub use foltr_rank::metric::{Metric, UnknownMetric, WithoutRelevant};
pub use foltr_rank::personal::Personalisation;
pub use foltr_rank::{EvolutionStream, Learner, RankerShape};
pub use foltr_simulation::adversary::Attackers;
pub use foltr_simulation::click::{ClickModel, Preset};
pub use foltr_simulation::datasets::SyntheticShape;
pub use foltr_simulation::normalise::Normalisation;
pub use foltr_simulation::pace::Stragglers;
pub use foltr_simulation::partition::Partition;
pub use label::label;
pub use measure::{Evaluate, Measures, Online, Split};

/// One experiment: everything that a result depends on, apart from the data files themselves.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// One run a seed (and fold).
    pub seeds: Vec<u64>,
    /// Where the labelled queries come from.
    pub data: Data,
    /// Who takes part. Federated learners only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Clients>,
    /// What each client holds; the same for all when absent. Federated learners only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// Who clicks. Not needed by an offline baseline, unless a metric asks for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<ClickModel>,
    /// What is learned. Offline baselines are always linear and have no such section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranker: Option<RankerShape>,
    /// How it is learned.
    pub learner: Learner,
    /// How long it is learned, and what the server does with the updates. Federated learners only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub federation: Option<Federation>,
    /// How clients make rankers of their own; all use the global one when absent. FPDGD only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personalisation: Option<Personalisation>,
    /// What the server does with clients that do not wait for each other; without it rounds are synchronous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asynchrony: Option<Asynchrony>,
    /// Clients that test every release on their own clicks; all use every release when absent. FPDGD only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adoption: Option<AdoptionRule>,
    /// Clients that lie; all are honest when absent. Federated learners only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<Attackers>,
    /// What is done against clients that lie: the weighted mean, that is nothing, when absent. Federated learners only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defence: Option<Defence>,
    /// What is stored for clients that leave one day; nothing, or what `[unlearning]` needs, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryPolicy>,
    /// Clients that leave after the last round and are forgotten. Federated learners only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlearning: Option<UnlearningRequest>,
    /// What happens to an update before it leaves a device.
    #[serde(default)]
    pub privacy: Privacy,
    /// What the run may cost a client; it stops before it would cost more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What is measured, and when.
    #[serde(default)]
    pub metrics: Measures,
}

/// Who takes part in a round.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// All clients of the federation.
    pub n_clients: usize,
    /// Interactions (B) of one client in one round; give either this or `quantities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions: Option<usize>,
    /// Type 4: interactions in one round of clients 0, 1, 2 and so on; after the last number comes the first again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantities: Option<Vec<usize>>,
    /// Clients sampled without replacement for each round; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cohort: Option<usize>,
    /// Instead of `cohort`: every client tosses its own coin, with this probability of taking part in a round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participation: Option<f64>,
    /// Probability that a client's message of a round is lost; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropout: Option<f64>,
    /// Clients that never take part. Everybody else draws what it would draw beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<Vec<u32>>,
    /// Clients that are slow; all take the same time when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<Stragglers>,
}

impl Clients {
    pub fn interactions_of(&self, client: usize) -> usize {
        match &self.quantities {
            Some(quantities) if !quantities.is_empty() => quantities[client % quantities.len()],
            _ => self.interactions.unwrap_or(0),
        }
    }

    /// The most interactions of any client in one round.
    pub fn most_interactions(&self) -> usize {
        let n_different = self.quantities.as_ref().map_or(1, Vec::len).min(self.n_clients);
        (0..n_different).map(|client| self.interactions_of(client)).max().unwrap_or(0)
    }

    /// Interactions of `n_taking_part` clients together, or the number that is expected of them, rounded down.
    fn interactions_of_many(&self, n_taking_part: usize) -> Option<usize> {
        let Some(quantities) = &self.quantities else { return n_taking_part.checked_mul(self.interactions?) };
        let (turns, rest) = (self.n_clients.checked_div(quantities.len())?, self.n_clients % quantities.len());
        let once = quantities.iter().try_fold(0_usize, |sum, &n| sum.checked_add(n))?;
        let all = once.checked_mul(turns)?.checked_add(quantities[..rest].iter().sum())?;
        let expected = (all as u128 * n_taking_part as u128).checked_div(self.n_clients as u128)?;
        usize::try_from(expected).ok()
    }
}

/// How long a federation learns, and how the server steps.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Federation {
    /// Rounds; give either this or `budget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// Interactions of all clients over all rounds; rounds = budget div clients div interactions (spec section 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// What the server does with the averaged step.
    pub optimiser: ServerOptimiser,
    /// Federations of which each learns a ranker from its own clients, published as their mean; one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<u32>,
    /// The ranker is the mean of the models of this last share of the rounds; the newest model when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_last: Option<f64>,
    /// Which old releases messages may start from: slow clients then join a later round. Only the newest when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staleness: Option<Staleness>,
}

/// Clients that leave after the last round, and what is done about it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnlearningRequest {
    /// Who is forgotten. With `[attack]`, attackers are the clients 0, 1, ...
    pub clients: Vec<u32>,
    /// How.
    pub method: Unlearning,
    /// Whether they leave together or one after the other.
    #[serde(default, skip_serializing_if = "LeavingOrder::is_usual")]
    pub order: LeavingOrder,
}

/// How several clients leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeavingOrder {
    /// One request for all of them.
    #[default]
    AtOnce,
    /// A request for each, in the order of the list; every one goes on from what the last one left.
    OneByOne,
}

impl LeavingOrder {
    fn is_usual(&self) -> bool {
        *self == Self::AtOnce
    }
}

impl UnlearningRequest {
    /// The leavers of every single request.
    pub fn requests(&self) -> impl Iterator<Item = &[u32]> {
        self.clients.chunks(match self.order {
            LeavingOrder::AtOnce => self.clients.len().max(1),
            LeavingOrder::OneByOne => 1,
        })
    }
}

/// The course of an online run. A centralised learner is one client whose round is a stretch between two evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub n_clients: usize,
    /// Clients that take part in one round, or are expected to.
    pub cohort: usize,
    /// Interactions of one client in one round; the most of any client where they differ.
    pub interactions: usize,
    /// Interactions of all clients of one round, or the number that is expected.
    pub per_round: usize,
    pub n_rounds: usize,
}

impl Schedule {
    pub const fn interactions_per_round(&self) -> usize {
        self.per_round
    }

    pub const fn n_interactions(&self) -> usize {
        self.per_round * self.n_rounds
    }
}

const USUAL_INTERVAL: u32 = 100;

impl Experiment {
    /// The course of the run; `None` for an offline baseline, which has no rounds.
    pub fn schedule(&self) -> Option<Schedule> {
        if let Learner::CentralisedPdgd(learner) = self.learner {
            let interactions = learner.interactions_per_round;
            let n_rounds = learner.budget.checked_div(interactions)?;
            return Some(Schedule { n_clients: 1, cohort: 1, interactions, per_round: interactions, n_rounds });
        }
        let (clients, federation) = (self.clients.as_ref()?, self.federation.as_ref()?);
        let poisson_sampling =
            clients.participation.map(|probability| (probability * clients.n_clients as f64) as usize);
        let cohort = clients.cohort.or(poisson_sampling).unwrap_or(clients.n_clients);
        let per_round = clients.interactions_of_many(cohort)?;
        let n_rounds = federation.rounds.or_else(|| federation.budget.and_then(|all| all.checked_div(per_round)))?;
        let interactions = clients.most_interactions();
        Some(Schedule { n_clients: clients.n_clients, cohort, interactions, per_round, n_rounds })
    }

    /// The seeds that runs have: all, or the first for a baseline, which draws nothing at random.
    pub fn seeds_of_runs(&self) -> &[u64] {
        if self.learner.is_baseline() { &self.seeds[..self.seeds.len().min(1)] } else { &self.seeds }
    }

    /// The experiment as TOML with every default filled in. Fails if a number is too large for TOML, whose integers have
    /// 64 bits with sign.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Fills in what follows from other keys, so that a resolved file shows it.
    pub(crate) fn resolve(&mut self) {
        self.data.resolve();
        if let Some(Partition::Labels(labels)) = &mut self.partition {
            labels.normalise_after.get_or_insert(self.data.normalise() == Normalisation::Query);
        }
    }

    pub fn defence(&self) -> Defence {
        self.defence.unwrap_or(Defence::NONE)
    }

    /// Whether simulated time is measured, and with which speeds.
    pub fn stragglers(&self) -> Option<Stragglers> {
        let stragglers = self.clients.as_ref().and_then(|clients| clients.stragglers);
        stragglers.or_else(|| self.asynchrony.map(|_| Stragglers::default()))
    }

    /// What a run stores: what the file says, or the least that the method of `[unlearning]` can work with.
    pub fn history_policy(&self) -> Option<HistoryPolicy> {
        let needed = |request: &UnlearningRequest| {
            let mut policy = HistoryPolicy::default();
            for need in request.method.needs() {
                match need {
                    Need::Updates { every } => policy.updates_every = Some(every),
                    Need::Checkpoints { every } => policy.checkpoints_every = Some(every.unwrap_or(USUAL_INTERVAL)),
                    Need::Ledger => policy.ledger = true,
                }
            }
            policy
        };
        self.history.or_else(|| self.unlearning.as_ref().map(needed))
    }

    /// The plan of the federation; a learner without clients has one client and no sections.
    pub fn plan(&self) -> FederationPlan {
        let (clients, federation) = (self.clients.as_ref(), self.federation.as_ref());
        let participation = clients.map_or(Participation::Everyone, |clients| {
            Participation::new(clients.n_clients, clients.cohort, clients.participation)
        });
        FederationPlan {
            learner: self.learner,
            ranker: self.ranker,
            list_length: self.metrics.list_length,
            n_clients: clients.map_or(usize::MAX, |clients| clients.n_clients),
            n_interactions: clients.map_or(1, Clients::most_interactions),
            n_rounds: self.schedule().map_or(1, |schedule| schedule.n_rounds),
            participation,
            dropout: clients.and_then(|clients| clients.dropout).unwrap_or(0.0),
            n_absent: clients.and_then(|clients| clients.absent.as_ref()).map_or(0, Vec::len),
            optimiser: federation.map(|federation| federation.optimiser),
            staleness: federation.and_then(|federation| federation.staleness),
            shards: federation.and_then(|federation| federation.shards),
            average_last: federation.and_then(|federation| federation.average_last),
            personalisation: self.personalisation,
            asynchrony: self.asynchrony,
            defence: self.defence,
            history: self.history_policy(),
            unlearning: self.unlearning.as_ref().map(|request| request.method),
            privacy: self.privacy,
            budget: self.budget,
        }
    }

    /// What a simulation adds to the plan.
    fn simulated_parts(&self) -> Vec<Part> {
        let clients = self.clients.as_ref();
        let parts = [
            (self.attack.is_some(), Part::Attack),
            (self.adoption.is_some(), Part::Adoption),
            (clients.is_some_and(|clients| clients.quantities.is_some()), Part::Quantities),
        ];
        parts.into_iter().filter_map(|(is_there, part)| is_there.then_some(part)).collect()
    }
}
