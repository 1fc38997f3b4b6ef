//! The facts about one experiment: who sees what, at which price, and what must be true for it.

use anyhow::{Context, Result};
use foltr_federation::accountant::PrivacyCost;
use foltr_federation::privacy::{Circumstances, Claim, Explanation};
use foltr_federation::{Mechanism, Mode};

use super::{Observer, ObserverGuarantee, Price};
use foltr_experiment::spec::{Experiment, Learner};
use foltr_report::table::grouped;

/// Stands for the number of parameters where nothing depends on it.
const ANY_MODEL: usize = 2;

const EVERY_MESSAGE: &str = "every message";
const SUMS: &str = "only sums or models";
const UNSEEN: &str = "models, not who took part";
const MODELS: &str = "the models";

pub(super) struct Facts<'a> {
    experiment: &'a Experiment,
    n_params: Option<usize>,
    pub interactions: usize,
    pub messages: usize,
    n_clients: usize,
    cohort: usize,
    /// To whom sees who takes part.
    seen: Option<Price>,
    /// To whom does not see who takes part by a coin.
    unseen: Option<Price>,
}

impl<'a> Facts<'a> {
    pub fn of(experiment: &'a Experiment, n_params: Option<usize>, delta: f64) -> Result<Self> {
        let schedule = experiment.schedule();
        let (cohort, n_clients) = schedule.map_or((0, 0), |schedule| (schedule.cohort, schedule.n_clients));
        let mut facts = Self {
            experiment,
            n_params,
            interactions: schedule.map_or(0, |schedule| schedule.interactions),
            messages: 0,
            n_clients,
            cohort,
            seen: None,
            unseen: None,
        };
        let Some(schedule) = schedule.filter(|_| experiment.learner.is_federated()) else { return Ok(facts) };
        facts.messages = experiment.plan().affordable_rounds(schedule.n_rounds, facts.width())?;
        let interactions = u32::try_from(facts.interactions).context("clients.interactions is too large")?;
        let messages = u32::try_from(facts.messages).context("there are too many rounds")?;
        let price = |cost| Price { cost, messages, delta };
        facts.seen = Some(price(facts.mechanism()?.cost(facts.width(), interactions)));
        facts.unseen = Some(price(experiment.plan().cost(facts.width())?));
        Ok(facts)
    }

    fn width(&self) -> usize {
        self.n_params.unwrap_or(ANY_MODEL)
    }

    fn mechanism(&self) -> Result<Mechanism> {
        Ok(self.experiment.plan().mechanism(self.width())?)
    }

    pub fn claim(&self) -> Result<Option<Claim>> {
        Ok(self.experiment.privacy.claim(&self.experiment.plan().mechanism_context(self.width()))?)
    }

    pub fn guarantees(&self) -> Result<Vec<ObserverGuarantee>> {
        if self.experiment.learner.is_baseline() {
            return Ok(Vec::new());
        }
        if !self.experiment.learner.is_federated() {
            return Ok(vec![Price::against(None, Observer::Server, "every click")]);
        }
        let (sums, models) = if self.participation().is_some() { (UNSEEN, UNSEEN) } else { (SUMS, MODELS) };
        let all = |server, sees, others| {
            vec![
                Price::against(server, Observer::Server, sees),
                Price::against(others, Observer::SumsAndModels, sums),
                Price::against(others, Observer::OtherClients, models),
            ]
        };
        let unseen = self.unseen.filter(|price| !matches!(price.cost, PrivacyCost::Unbounded));
        Ok(match self.mechanism()?.mode() {
            Mode::Local => all(self.seen, EVERY_MESSAGE, self.seen),
            Mode::Clear => all(None, EVERY_MESSAGE, unseen),
            Mode::Sealed if self.participation().is_some() => all(self.seen, "sums and who took part", unseen),
            Mode::Sealed => all(self.seen, "the sum of a round", unseen),
        })
    }

    pub fn words(&self) -> Result<Explanation> {
        let only = |summary: &str| Ok(Explanation { summary: summary.into(), ..Explanation::default() });
        if self.experiment.learner.is_baseline() {
            return only("No privacy mechanism: learns from labels; there are no clients and no clicks");
        }
        if !self.experiment.learner.is_federated() {
            return only("No privacy mechanism: all interactions are in one place");
        }
        let mut words = self.mechanism()?.explain(&Circumstances {
            n_params: self.n_params,
            sends_rewards: matches!(self.experiment.learner, Learner::Evolution(_)),
            dropout: self.experiment.clients.as_ref().and_then(|clients| clients.dropout).unwrap_or(0.0),
        });
        if let Some(probability) = self.participation() {
            words.assumptions.push(
                "For the amplified numbers: devices toss the coin themselves, and nobody sees who took part.".into(),
            );
            let seen = self.seen.and_then(|price| price.run()).map_or_else(|| "nothing".into(), super::render::pair);
            words.remarks.push(format!(
                "Amplified by coins of probability {probability}; against who sees the coins {seen} holds."
            ));
        } else if self.cohort < self.n_clients {
            words.remarks.push(format!(
                "The server draws {} of {} clients for a round. Nothing is claimed for that: a client may be in every round.",
                grouped(self.cohort as u64),
                grouped(self.n_clients as u64)
            ));
        }
        if let Some(budget) = self.experiment.budget {
            let stops = match self.messages {
                0 => "The run cannot start: not even one round stays".into(),
                n => format!("The run stops after {} rounds,", grouped(n as u64)),
            };
            words.remarks.push(format!("{stops} within its budget of ({}, {:e}).", budget.epsilon, budget.delta));
        }
        Ok(words)
    }

    fn participation(&self) -> Option<f64> {
        self.experiment.clients.as_ref().and_then(|clients| clients.participation)
    }
}
