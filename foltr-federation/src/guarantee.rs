//! What does a plan guarantee, to whom, and against whom? The one place that knows.
//!
//! The rounds that a budget affords, `foltr privacy explain`, what a request to forget may still spend and the table of
//! `docs/privacy.md` all ask here. Numbers come from the [accountant], who saw what in a round from the mechanism's
//! [`RoundCost`], and how many rounds there are from the plan: those of training, and those that `[unlearning]` replays.
//! A replay draws fresh noise and costs those who stay as much again; who leaves pays for training only.

use serde::Serialize;

use crate::accountant::{self, Guarantee, PrivacyCost};
use crate::plan::FederationPlan;
use crate::privacy::{Adjacency, Explanation, MechanismError, Mode, Noise, RoundCost};
use crate::{Mechanism, Participation};

/// What holds for a plan, with a model of a known number of parameters and at a delta.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanGuarantee {
    /// Which runs are compared for those who see models only; nothing where nothing is promised.
    pub adjacency: Option<Adjacency>,
    pub noise: Noise,
    /// Rounds of training that the budget affords: the most messages that one client sends.
    pub rounds: usize,
    /// Rounds that `[unlearning]` replays at most.
    pub replayed_rounds: usize,
    pub observers: Vec<ObserverGuarantee>,
    pub words: Explanation,
}

/// What holds against one observer. Without a guarantee, nothing is hidden or nothing is proven.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ObserverGuarantee {
    pub against: Observer,
    pub sees: &'static str,
    /// Which runs are compared; nothing where nothing is promised.
    pub adjacency: Option<Adjacency>,
    /// Of one list and the clicks on it.
    pub interaction: Option<Guarantee>,
    /// Of all that is behind one message.
    pub message: Option<Guarantee>,
    /// Of everything that one client does in the whole run, replays included.
    pub run: Option<Guarantee>,
    /// The same without any delta: costs of messages simply added up.
    pub run_without_delta: Option<f64>,
    /// The same for a client that `[unlearning]` forgets: training only. Nothing without such a client.
    pub run_of_leavers: Option<Guarantee>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observer {
    /// Who runs the server, or reads its mail.
    Server,
    /// Who sees sums of rounds or published models only.
    SumsAndModels,
    OtherClients,
}

/// What holds only as long as random numbers are secret.
const SECRET_NUMBERS: &str = "Nobody else knows the random numbers of devices and server. A simulation draws them from \
                              its seed, which result folders name: who knows it can take all noise away.";
const ONE_RELEASE: &str = "One training of a seed is published. Another one, with other clients or settings, would draw the \
                           same noise; only replays of [unlearning] have noise of their own.";
const MEASUREMENTS: &str = "Nobody sees what the lab measures beside the models: online metrics and results by client \
                            come from true clicks.";

const EVERY_MESSAGE: &str = "every message";
const SUMS: &str = "only sums or models";
const UNSEEN: &str = "models, not who took part";
const MODELS: &str = "the models";

/// What one kind of observer pays to look at: what rounds of training and of replays cost.
#[derive(Clone, Copy, Debug)]
struct Price {
    adjacency: Adjacency,
    round: PrivacyCost,
    replayed: PrivacyCost,
    rounds: u32,
    replayed_rounds: u32,
    has_leavers: bool,
    delta: f64,
}

impl FederationPlan {
    /// What holds for the plan, if clients' models have so many parameters; for federated learners.
    pub fn guarantee(&self, n_params: usize, delta: f64) -> Result<PlanGuarantee, MechanismError> {
        let mechanism = self.mechanism(n_params)?;
        let rounds = self.affordable_rounds(self.n_rounds, n_params)?;
        let replayed_rounds = self.replayed_rounds(rounds);
        let (round, replayed) = (self.round_cost(n_params)?, self.replay_cost(n_params)?);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let price = |of: fn(&RoundCost) -> (Adjacency, PrivacyCost)| Price {
            adjacency: of(&round).0,
            round: of(&round).1,
            replayed: of(&replayed).1,
            rounds: count(rounds),
            replayed_rounds: count(replayed_rounds),
            has_leavers: self.unlearning.is_some(),
            delta,
        };
        let hidden = self.circumstances(n_params).hidden_participation();
        let observers = observers(mechanism.mode(), hidden, price(|it| it.seen), price(|it| it.unseen));
        let mut guarantee = PlanGuarantee {
            adjacency: observers.iter().rev().find_map(|it| it.adjacency),
            noise: mechanism.noise(n_params),
            rounds,
            replayed_rounds,
            observers,
            words: Explanation::default(),
        };
        guarantee.words = self.words(&guarantee, &mechanism, [&round, &replayed], n_params, delta);
        Ok(guarantee)
    }

    fn words(
        &self,
        guarantee: &PlanGuarantee,
        mechanism: &Mechanism,
        [round, replayed]: [&RoundCost; 2],
        n_params: usize,
        delta: f64,
    ) -> Explanation {
        let mut words = mechanism.explain(&self.circumstances(n_params));
        words.remarks.extend(round.flaw.map(|flaw| format!("Nothing is proven here: {flaw}.")));
        if guarantee.adjacency.is_some() {
            words.assumptions.extend([SECRET_NUMBERS, ONE_RELEASE, MEASUREMENTS].map(str::to_owned));
        }
        match self.participation {
            Participation::PoissonSampling(_) if self.takes_stale() => {
                words.remarks.push("Coins count for nothing: whoever is late joins a round that its coin did not choose.".into());
            }
            Participation::PoissonSampling(probability) => {
                let sentence = "For the amplified numbers: devices toss the coin themselves, and nobody sees who took part.";
                words.assumptions.push(sentence.into());
                let seen = accountant::total(&[(round.seen.1, u32::try_from(guarantee.rounds).unwrap_or(u32::MAX))], delta);
                words.remarks.push(format!(
                    "Amplified by coins of probability {probability}; against who sees the coins ({:.2}, {:e}) holds.",
                    seen.epsilon, seen.delta
                ));
            }
            Participation::Sample(size) => words.remarks.push(format!(
                "The server draws {size} of {} clients for a round. Nothing is claimed for that: a client may be in every \
                 round.",
                self.n_clients
            )),
            Participation::Everyone => {}
        }
        if let Some(budget) = self.budget {
            let stops = match guarantee.rounds {
                0 => "The run cannot start: not even one round stays".into(),
                n => format!("The run stops after {n} rounds,"),
            };
            words.remarks.push(format!("{stops} within its budget of ({}, {:e}).", budget.epsilon, budget.delta));
        }
        if let Some(method) = &self.unlearning {
            words.remarks.push(self.words_on_replays(method.name(), guarantee, replayed));
        }
        words
    }

    fn words_on_replays(&self, method: &str, guarantee: &PlanGuarantee, replayed: &RoundCost) -> String {
        let (rounds, again) = (guarantee.rounds, guarantee.replayed_rounds);
        let flaw = replayed.flaw.filter(|_| again > 0).map(|flaw| format!(" Nothing is proven of them: {flaw}."));
        let paid = match again {
            0 => format!("[unlearning] by {method} replays nothing: clients that stay pay for {rounds} rounds, too."),
            _ => format!(
                "[unlearning] by {method} replays up to {again} rounds with fresh noise: clients that stay pay for {}, \
                 those that leave for {rounds}.",
                rounds + again
            ),
        };
        paid + &flaw.unwrap_or_default()
    }
}

/// Everybody who looks, and what holds against them.
fn observers(mode: Mode, participation: Participation, seen: Price, unseen: Price) -> Vec<ObserverGuarantee> {
    let has_coins = matches!(participation, Participation::PoissonSampling(_));
    let (sums, models) = if has_coins { (UNSEEN, UNSEEN) } else { (SUMS, MODELS) };
    let (server, sees, others) = match mode {
        Mode::Local => (Some(seen), EVERY_MESSAGE, seen),
        Mode::Clear => (None, EVERY_MESSAGE, unseen),
        Mode::Sealed if has_coins => (Some(seen), "sums and who took part", unseen),
        Mode::Sealed => (Some(seen), "the sum of a round", unseen),
    };
    vec![
        ObserverGuarantee::new(Observer::Server, sees, server),
        ObserverGuarantee::new(Observer::SumsAndModels, sums, Some(others)),
        ObserverGuarantee::new(Observer::OtherClients, models, Some(others)),
    ]
}

impl ObserverGuarantee {
    /// Against an observer from whom nothing is hidden.
    pub fn nothing(against: Observer, sees: &'static str) -> Self {
        Self::new(against, sees, None)
    }

    fn new(against: Observer, sees: &'static str, price: Option<Price>) -> Self {
        let nothing = Self {
            against,
            sees,
            adjacency: None,
            interaction: None,
            message: None,
            run: None,
            run_without_delta: None,
            run_of_leavers: None,
        };
        let Some(price) = price else { return nothing };
        // Without a delta wherever one can do without.
        let pure = finite(Guarantee { epsilon: price.round.epsilon(), delta: 0.0 });
        let message = pure.or_else(|| finite(price.round.after(1, price.delta)));
        let each = price.round.per_interaction();
        let interaction = each.and_then(|epsilon| finite(Guarantee { epsilon, delta: 0.0 })).or(message);
        let training = [(price.round, price.rounds)];
        let all = [training[0], (price.replayed, price.replayed_rounds)];
        Self {
            adjacency: message.map(|_| price.adjacency),
            interaction,
            message,
            run: smallest(&all, price.delta),
            run_without_delta: added_up(&all),
            run_of_leavers: smallest(&training, price.delta).filter(|_| price.has_leavers),
            ..nothing
        }
    }
}

fn smallest(costs: &[(PrivacyCost, u32)], delta: f64) -> Option<Guarantee> {
    accountant::bounds(costs, delta).into_iter().min_by(|a, b| a.epsilon.total_cmp(&b.epsilon))
}

fn added_up(costs: &[(PrivacyCost, u32)]) -> Option<f64> {
    let paid = costs.iter().filter(|(_, n)| *n > 0);
    let sum = paid.fold(0.0, |sum, (cost, n)| sum + f64::from(*n) * cost.epsilon());
    Some(sum).filter(|epsilon| epsilon.is_finite())
}

fn finite(guarantee: Guarantee) -> Option<Guarantee> {
    guarantee.epsilon.is_finite().then_some(guarantee)
}
