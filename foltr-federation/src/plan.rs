//! The sections of a federation together: what a server signs and a device obeys.

use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{EvolutionParameters, PdgdParameters};
use foltr_rank::personal::Personalisation;
use foltr_rank::{EvolutionStream, Learner, Params, RankerShape};
use serde::{Deserialize, Serialize};

use crate::combination::{Combination, Part};
use crate::defence::cohort::clients_to_mix;
use crate::privacy::{Budget, Circumstances, MechanismContext, MechanismError, RoundCost};
use crate::unlearn::MessageCost;
use crate::{
    Asynchrony, Cohorts, Defence, Expected, HistoryPolicy, Mechanism, Participation, PayloadSemantics, Privacy,
    ServerOptimiser, Setup, Staleness, Unlearning, accountant,
};

/// Parameters of a model with which a mechanism is tried before the data is known.
pub const ANY_MODEL: usize = 2;

/// Everything that a federation agrees on before its first round.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FederationPlan {
    pub learner: Learner,
    pub ranker: Option<RankerShape>,
    pub list_length: usize,
    pub n_clients: usize,
    /// Interactions behind one message: the most of any client.
    pub n_interactions: usize,
    pub n_rounds: usize,
    pub participation: Participation,
    pub dropout: f64,
    /// Clients that never take part, and that others count on all the same.
    pub n_absent: usize,
    pub optimiser: Option<ServerOptimiser>,
    /// Which old releases messages may start from; only the newest without.
    pub staleness: Option<Staleness>,
    /// Federations of which each learns a ranker from its own clients, published as their mean.
    pub shards: Option<u32>,
    /// The ranker is the mean of the models of this last share of the rounds.
    pub average_last: Option<f64>,
    pub personalisation: Option<Personalisation>,
    pub asynchrony: Option<Asynchrony>,
    pub defence: Option<Defence>,
    pub history: Option<HistoryPolicy>,
    pub unlearning: Option<Unlearning>,
    pub privacy: Privacy,
    pub budget: Option<Budget>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct PlanProblem {
    pub key: String,
    pub message: String,
}

impl PlanProblem {
    pub(crate) fn new(section: &str, error: impl Into<MechanismError>) -> Self {
        let MechanismError { key, message } = error.into();
        Self { key: if key.is_empty() { section.into() } else { format!("{section}.{key}") }, message }
    }
}

impl FederationPlan {
    /// Federated averaging by everyone in every round, without privacy, defence or anything else.
    pub fn averaging(
        learner: Learner,
        ranker: RankerShape,
        n_clients: usize,
        n_interactions: usize,
        n_rounds: usize,
    ) -> Self {
        Self {
            learner,
            ranker: Some(ranker),
            list_length: 10,
            n_clients,
            n_interactions,
            n_rounds,
            participation: Participation::Everyone,
            dropout: 0.0,
            n_absent: 0,
            optimiser: Some(ServerOptimiser::LearningRate { rate: 1.0 }),
            staleness: None,
            shards: None,
            average_last: None,
            personalisation: None,
            asynchrony: None,
            defence: None,
            history: None,
            unlearning: None,
            privacy: Privacy::NONE,
            budget: None,
        }
    }

    /// Everything that is wrong with the plan: parameters out of range, and parts that exclude each other.
    pub fn check(&self) -> Vec<PlanProblem> {
        self.check_with(&[])
    }

    /// The same beside parts that a plan does not have, such as an attack that is simulated.
    pub fn check_with(&self, others: &[Part]) -> Vec<PlanProblem> {
        let mut problems = self.check_parameters();
        let parts = [self.parts(), others.to_vec()].concat();
        problems.extend(
            Combination::conflicts(&parts)
                .map(|pair| PlanProblem { key: pair.part.key().into(), message: pair.message() }),
        );
        let in_mechanism = self.check_mechanism();
        if in_mechanism.is_none() && problems.is_empty() {
            problems.extend(self.check_budget());
        }
        problems.extend(in_mechanism);
        problems
    }

    /// Whether there is anything that a budget could bound, and whether the replays of `[unlearning]` stay within it.
    fn check_budget(&self) -> Option<PlanProblem> {
        let problem = |key: &str, message: String| Some(PlanProblem { key: key.into(), message });
        let budget = self.budget.filter(|_| !self.privacy.is_none() && self.learner.is_federated())?;
        let (round, replayed) = (self.round_cost(ANY_MODEL).ok()?, self.replay_cost(ANY_MODEL).ok()?);
        if let Some(flaw) = round.flaw {
            return problem("budget", format!("no budget is enough: {flaw}"));
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let rounds = self.affordable_rounds(self.n_rounds, ANY_MODEL).ok()?;
        let again = self.replayed_rounds(rounds);
        let costs = [(round.unseen.1, count(rounds)), (replayed.unseen.1, count(again))];
        let epsilon = accountant::total(&costs, budget.delta).epsilon;
        // Not `>`: what is not a number is not within a budget.
        if again == 0 || epsilon <= budget.epsilon {
            return None;
        }
        let least = if epsilon.is_finite() { format!("at least epsilon {epsilon:.2}") } else { "without bound".into() };
        problem(
            "unlearning.method",
            format!(
                "replays up to {again} rounds: with the {rounds} of training that costs those who stay {least}, above their \
                 budget of {}",
                budget.epsilon
            ),
        )
    }

    fn check_parameters(&self) -> Vec<PlanProblem> {
        let n_clients = u32::try_from(self.n_clients).unwrap_or(u32::MAX);
        let checks = [
            ("federation.optimiser", self.optimiser.map(|optimiser| optimiser.check())),
            ("federation.staleness", self.staleness.map(|staleness| staleness.check())),
            ("personalisation", self.personalisation.map(|method| method.check())),
            ("asynchrony", self.asynchrony.map(|asynchrony| asynchrony.check(n_clients))),
            ("defence.rule", self.defence.map(|defence| defence.rule.check())),
            ("defence", self.defence.map(|defence| defence.check_longest().and(defence.check_bound()))),
            ("defence.momentum", self.defence.and_then(|defence| defence.momentum).map(|momentum| momentum.check())),
            ("history", self.history.map(|history| history.check())),
            ("unlearning.method", self.unlearning.as_ref().map(|method| method.check())),
        ];
        let coins = matches!(self.participation, Participation::PoissonSampling(_));
        let unproven = (coins && !matches!(self.privacy, Privacy::Gaussian(_))).then(|| PlanProblem {
            key: "clients.participation".into(),
            message: "needs privacy.kind = \"gaussian\": for the others nothing is proven about coins".into(),
        });
        let wrong = checks.into_iter().filter_map(|(section, checked)| Some((section, checked?.err()?)));
        let budget = self.budget.and_then(|budget| budget.check().err());
        let problems = wrong.map(|(section, error)| PlanProblem::new(section, error));
        let problems = problems.chain(budget.map(|error| PlanProblem::new("budget", error)));
        problems.chain(unproven).chain(self.check_cohort()).chain(self.check_premises()).collect()
    }

    /// Whether a round has the clients with which the defence can decide.
    fn check_cohort(&self) -> Vec<PlanProblem> {
        let Some(Defence { rule, mixing, .. }) = self.defence else { return Vec::new() };
        let n_clients = u32::try_from(self.n_clients).unwrap_or(u32::MAX);
        let cohort = self.participation.expected(n_clients) as usize;
        let needs = [("defence.rule", rule.least_clients()), ("defence.mixing", mixing.map_or(0, clients_to_mix))];
        let few = needs.into_iter().filter(|(_, needed)| cohort < *needed);
        let message = |needed: usize| format!("needs at least {needed} clients in a round, there are {cohort}");
        few.map(|(key, needed)| PlanProblem { key: key.into(), message: message(needed) }).collect()
    }

    /// What a way to forget rests on in other sections, and is not given.
    fn check_premises(&self) -> Option<PlanProblem> {
        let method = self.unlearning.as_ref()?;
        let defence = self.defence.unwrap_or(Defence::NONE);
        let has_plain_rate = self.optimiser.is_none_or(|optimiser| optimiser.plain_rate().is_some());
        let plain_rate = (has_plain_rate, "a server that only multiplies steps by a rate");
        let premises = match method {
            Unlearning::Retrain(_) | Unlearning::FedEraser(_) | Unlearning::ShardIsolation(_) => Vec::new(),
            Unlearning::LedgerSubtraction(_) => vec![plain_rate, (defence.only_sums(), "the mean of all updates")],
            Unlearning::NoisyRollback(rollback) => vec![
                plain_rate,
                (self.privacy.is_none(), "plain messages: remove [privacy]"),
                (
                    rollback.is_clipped_by(&defence),
                    "the rule norm-clipping with a fixed radius of at most its clip_norm",
                ),
                (defence.momentum.is_none(), "devices that remember nothing: remove defence.momentum"),
            ],
            Unlearning::Certificate(_) => {
                let has_fixed_divisor =
                    matches!(self.privacy, Privacy::Gaussian(_) | Privacy::CentralDiscreteGaussian(_));
                vec![(
                    has_fixed_divisor,
                    "privacy.kind = \"gaussian\" or \"central-discrete-gaussian\", whose divisor is fixed",
                )]
            }
        };
        let missing = premises.into_iter().find(|(holds, _)| !holds);
        missing.map(|(_, on)| PlanProblem {
            key: "unlearning.method.kind".into(),
            message: format!("{} rests on {on}", method.name()),
        })
    }

    /// Whether the mechanism exists, and is defined for what clients send.
    fn check_mechanism(&self) -> Option<PlanProblem> {
        let problem = |message: String| Some(PlanProblem { key: "privacy.kind".into(), message });
        let usual = self.semantics().filter(|_| !self.privacy.is_none())?;
        let mechanism = match self.mechanism(ANY_MODEL) {
            Ok(mechanism) => mechanism,
            Err(error) => return Some(PlanProblem::new("privacy", error)),
        };
        if let Err(refusal) = mechanism.mode().admit(usual.needs_single_updates()) {
            return problem(format!("not supported: {refusal}"));
        }
        if mechanism.accepts(mechanism.rule(usual, 1.0, None).kind()) {
            return None;
        }
        let fits = |privacy: &Privacy| {
            let made = privacy.mechanism(&self.mechanism_context(ANY_MODEL));
            made.is_ok_and(|made| made.accepts(made.rule(usual, 1.0, None).kind()))
        };
        let right: Vec<&str> = Privacy::examples().iter().filter(|it| fits(it)).map(Privacy::name).collect();
        problem(format!("is not defined for what {} sends (allowed: {})", self.learner.name(), right.join(", ")))
    }

    pub fn parts(&self) -> Vec<Part> {
        let plain = ServerOptimiser::LearningRate { rate: 1.0 };
        let learner = match self.learner {
            Learner::Pdgd(PdgdParameters { updates, proximal, .. }) => {
                [(updates == Updates::Accumulated, Part::AccumulatedUpdates), (proximal.is_some(), Part::Proximal)]
            }
            Learner::Evolution(EvolutionParameters { stream, .. }) => {
                [(true, Part::Evolution), (stream == EvolutionStream::Published, Part::PublishedStream)]
            }
            Learner::PairRank(_) => [(true, Part::PairRank), (false, Part::Evolution)],
            Learner::Dbgd(_) | Learner::Mgd(_) => [(true, Part::Dueling), (false, Part::Evolution)],
            _ => [(false, Part::Evolution); 2],
        };
        let single = self.history.is_some_and(|history| history.ledger || history.updates_every.is_some());
        // Calibration takes time, and only a ranker of one's own asks.
        let clips_model = self.personalisation.is_some()
            && self.mechanism(ANY_MODEL).is_ok_and(|mechanism| mechanism.clip_radius().is_some());
        let others = [
            (matches!(self.ranker, Some(RankerShape::Linear { .. })), Part::LinearRanker),
            (matches!(self.participation, Participation::Sample(_)), Part::Cohort),
            (matches!(self.participation, Participation::PoissonSampling(_)), Part::PoissonSampling),
            (self.dropout > 0.0, Part::Dropout),
            (self.takes_stale(), Part::Staleness),
            (self.n_absent > 0, Part::AbsentClients),
            (self.shards.is_some(), Part::Shards),
            (self.average_last.is_some(), Part::AverageLast),
            (self.optimiser.is_some_and(|optimiser| optimiser != plain), Part::OtherOptimiser),
            (self.asynchrony.is_some(), Part::Asynchrony),
            (matches!(self.asynchrony, Some(Asynchrony::Naive(_))), Part::NaiveAsynchrony),
            (self.defence.is_some(), Part::Defence),
            (self.defence.is_some_and(|defence| defence.momentum.is_some()), Part::WorkerMomentum),
            (self.history.is_some(), Part::History),
            (single, Part::SingleUpdates),
            (self.unlearning.is_some(), Part::Unlearning),
            (!self.privacy.is_none(), Part::Privacy),
            (!self.privacy.admits_single_updates(), Part::PrivacyOfSums),
            (clips_model, Part::ModelClipping),
        ];
        let is_there = |(is_there, part): (bool, Part)| is_there.then_some(part);
        let mut parts: Vec<Part> = learner.into_iter().chain(others).filter_map(is_there).collect();
        parts.extend(self.personalisation.iter().flat_map(Part::of_personalisation));
        parts
    }

    /// How the server moves the model: by the mean of updates, unless it says otherwise.
    pub fn server_optimiser(&self) -> ServerOptimiser {
        self.optimiser.unwrap_or(ServerOptimiser::LearningRate { rate: 1.0 })
    }

    /// Whether messages may start from an older release than the newest.
    pub fn takes_stale(&self) -> bool {
        self.staleness.is_some_and(|staleness| staleness.most > 0)
    }

    /// How the server reads updates without a mechanism; nothing for a learner without clients.
    fn semantics(&self) -> Option<PayloadSemantics> {
        match self.learner {
            Learner::Evolution(EvolutionParameters { antithetic, sigma, .. }) => {
                // As devices have it.
                Some(PayloadSemantics::Evolution { sigma: f64::from(sigma as f32), antithetic })
            }
            learner => learner.is_federated().then_some(PayloadSemantics::Averaging),
        }
    }

    /// What the coordinator of this plan is made of, for a model that begins so. Devices send single messages, each with
    /// its own noise.
    ///
    /// Noise that follows from a seed closes rounds only if `is_simulated`.
    pub fn setup(&self, initial: Params, is_simulated: bool) -> Result<Setup, MechanismError> {
        let n_clients = u32::try_from(self.n_clients).unwrap_or(u32::MAX);
        let n_rounds = self.affordable_rounds(self.n_rounds, initial.len())?;
        Ok(Setup {
            rule: self.semantics().unwrap_or(PayloadSemantics::Averaging),
            privacy: self.mechanism(initial.len())?.into(),
            divisor: self.participation.expected(n_clients),
            defence: self.defence.unwrap_or(Defence::NONE),
            optimiser: self.server_optimiser(),
            staleness: self.staleness.unwrap_or_default(),
            average_from: self.average_last.map(|share| first_averaged(share, n_rounds)),
            is_simulated,
            ..Setup::averaging(initial, n_clients, at_least_one(self.n_interactions))
        })
    }

    /// What a payload must be, for a model of `n_params` parameters.
    pub fn expected(&self, n_params: usize) -> Result<Expected, MechanismError> {
        let usual = self.semantics().unwrap_or(PayloadSemantics::Averaging);
        let kind = self.mechanism(n_params)?.rule(usual, 1.0, None).kind();
        Ok(Expected { n_params, kind, max_interactions: at_least_one(self.n_interactions) })
    }

    /// What the mechanism depends on in other sections, for a model of `n_params` parameters.
    pub fn mechanism_context(&self, n_params: usize) -> MechanismContext {
        MechanismContext {
            // A learner without rewards never asks what an outcome is worth.
            reward: if let Learner::Evolution(evolution) = self.learner { evolution.reward } else { Reward::MaxRr },
            list_length: self.list_length,
            n_rounds: at_least_one(self.n_rounds),
            circumstances: self.circumstances(n_params),
        }
    }

    /// How rounds of training take place.
    pub fn circumstances(&self, n_params: usize) -> Circumstances {
        let evolution = if let Learner::Evolution(evolution) = self.learner { Some(evolution) } else { None };
        Circumstances {
            n_params,
            n_interactions: at_least_one(self.n_interactions),
            participation: self.participation,
            dropout: self.dropout,
            takes_stale: self.takes_stale(),
            has_absent: self.n_absent > 0,
            sends_rewards: evolution.is_some(),
            published_stream: evolution.is_some_and(|it| it.stream == EvolutionStream::Published),
        }
    }

    /// So many attackers among the clients of this plan, and the rounds that they may come to.
    pub fn cohorts(&self, attackers: u32) -> Cohorts {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (n_clients, n_rounds) = (count(self.n_clients), count(self.n_rounds));
        match self.shards {
            // Every shard has a defence of its own, and all attackers may be in the same one.
            Some(shards) => {
                let n_clients = n_clients.div_ceil(shards.max(1));
                Cohorts {
                    n_clients,
                    attackers: attackers.min(n_clients),
                    participation: Participation::Everyone,
                    n_rounds,
                }
            }
            None => Cohorts { n_clients, attackers, participation: self.participation, n_rounds },
        }
    }

    pub fn mechanism(&self, n_params: usize) -> Result<Mechanism, MechanismError> {
        self.privacy.mechanism(&self.mechanism_context(n_params))
    }

    /// What one round costs a client that may be in it.
    pub fn round_cost(&self, n_params: usize) -> Result<RoundCost, MechanismError> {
        Ok(self.mechanism(n_params)?.cost(&self.circumstances(n_params)))
    }

    /// What one round costs a client that stays, when it is replayed without those who leave.
    pub fn replay_cost(&self, n_params: usize) -> Result<RoundCost, MechanismError> {
        let without_leavers = Circumstances { has_absent: true, ..self.circumstances(n_params) };
        Ok(self.mechanism(n_params)?.cost(&without_leavers))
    }

    /// What a request to forget pays for a message, and what a client may spend.
    pub fn message_cost(&self, n_params: usize) -> Result<MessageCost, MechanismError> {
        let cost = self.round_cost(n_params)?.unseen.1;
        Ok(MessageCost { cost, delta: self.delta(), budget: self.budget })
    }

    /// At which delta guarantees are stated: the plan's own, or the usual one.
    pub fn delta(&self) -> f64 {
        self.privacy.whole_run().or(self.budget).map_or(MessageCost::UNPROTECTED.delta, |budget| budget.delta)
    }

    /// Rounds that `[unlearning]` replays after so many rounds of training, at most.
    pub fn replayed_rounds(&self, n_rounds: usize) -> usize {
        let most = u32::try_from(n_rounds).unwrap_or(u32::MAX);
        self.unlearning.as_ref().map_or(0, |method| method.most_replayed_rounds(most) as usize)
    }

    /// How many of `n_rounds` rounds of training the budget allows; all of them without a budget.
    pub fn affordable_rounds(&self, n_rounds: usize, n_params: usize) -> Result<usize, MechanismError> {
        let Some(budget) = self.budget else { return Ok(n_rounds) };
        Ok(budget.affordable_rounds(self.round_cost(n_params)?.unseen.1, n_rounds))
    }
}

/// The first of the last models (counted from 1) that are averaged: at least the very last one.
pub fn first_averaged(share: f64, n_rounds: usize) -> u32 {
    let n_averaged = (share * n_rounds as f64).ceil().max(1.0) as usize;
    u32::try_from(n_rounds - n_averaged.min(n_rounds) + 1).unwrap_or(u32::MAX)
}

fn at_least_one(n: usize) -> u32 {
    u32::try_from(n.max(1)).unwrap_or(u32::MAX)
}
