//! The facts about one experiment: who sees what, at which price, and what must be true for it.

use anyhow::{Context, Result};
use foltr_federation::privacy::CentralMode;

use super::{Claim, Held, Observer, Price, Unit, Words, cost_when_seen};
use crate::spec::{Experiment, Learner, Privacy};
use crate::table::grouped;

/// Stands for the number of parameters where nothing depends on it.
const ANY_MODEL: usize = 2;

const EVERY_MESSAGE: &str = "every message";
const SUMS: &str = "only sums or models";
const UNSEEN: &str = "models, not who took part";
const MODELS: &str = "the models";

/// One experiment, its prices and what they depend on.
pub(super) struct Facts<'a> {
    experiment: &'a Experiment,
    n_params: Option<usize>,
    pub interactions: usize,
    pub messages: usize,
    n_clients: usize,
    /// Of the clients of a round.
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
        let width = n_params.unwrap_or(ANY_MODEL);
        facts.messages = experiment.affordable_rounds(schedule.n_rounds, width)?;
        let interactions = u32::try_from(facts.interactions).context("clients.interactions is too large")?;
        let messages = u32::try_from(facts.messages).context("there are too many rounds")?;
        let price = |cost| Price { cost, interactions, messages, delta };
        facts.seen = Some(price(cost_when_seen(experiment, width, interactions)?));
        facts.unseen = Some(price(experiment.cost(width)?));
        Ok(facts)
    }

    /// What the paper or the file says.
    pub fn claim(&self) -> Option<Claim> {
        match self.experiment.privacy {
            Privacy::DistributedLaplace(mechanism) => {
                Some(Claim { by: "the paper", unit: Unit::Message, epsilon: mechanism.claimed_epsilon(), delta: 0.0 })
            }
            Privacy::RandomisedResponse { .. } => {
                let epsilon = self.seen?.interaction()?.epsilon;
                Some(Claim { by: "the paper", unit: Unit::Interaction, epsilon, delta: 0.0 })
            }
            Privacy::Gaussian { epsilon: Some(epsilon), delta: Some(delta), .. }
            | Privacy::DiscreteGaussian { epsilon: Some(epsilon), delta: Some(delta), .. } => {
                Some(Claim { by: "the file", unit: Unit::Run, epsilon, delta })
            }
            _ => None,
        }
    }

    /// What holds against whom.
    pub fn guarantees(&self) -> Vec<Held> {
        let (sums, models) = if self.participation().is_some() { (UNSEEN, UNSEEN) } else { (SUMS, MODELS) };
        let all = |server, sees, others| {
            vec![
                Price::against(server, Observer::Server, sees),
                Price::against(others, Observer::SumsAndModels, sums),
                Price::against(others, Observer::OtherClients, models),
            ]
        };
        match self.experiment.privacy {
            _ if self.experiment.learner.is_baseline() => Vec::new(),
            Privacy::None if self.messages == 0 => vec![Price::against(None, Observer::Server, "every click")],
            Privacy::None => all(None, EVERY_MESSAGE, None),
            Privacy::RandomisedResponse { .. }
            | Privacy::SampledResponse { .. }
            | Privacy::Duchi(_)
            | Privacy::PrivUnit { .. } => all(self.seen, EVERY_MESSAGE, self.seen),
            // Lost messages take their share of the noise along; what is left is not Laplace.
            Privacy::DistributedLaplace(_) => all(None, EVERY_MESSAGE, self.seen.filter(|_| self.dropout() == 0.0)),
            Privacy::Gaussian { mode: CentralMode::Clear, .. } => all(None, EVERY_MESSAGE, self.unseen),
            Privacy::Gaussian { mode: CentralMode::Sealed, .. } | Privacy::DiscreteGaussian { .. } => {
                let sees = if self.participation().is_some() { "sums and who took part" } else { "the sum of a round" };
                all(self.seen, sees, self.unseen)
            }
        }
    }

    fn dropout(&self) -> f64 {
        self.experiment.clients.as_ref().and_then(|clients| clients.dropout).unwrap_or(0.0)
    }

    /// The words around the numbers.
    pub fn words(&self) -> Words {
        let mut words = match self.experiment.privacy {
            _ if self.experiment.learner.is_baseline() => {
                return words(
                    "No privacy mechanism: learns from labels; there are no clients and no clicks",
                    "",
                    [],
                    [],
                );
            }
            Privacy::None if self.messages == 0 => {
                return words("No privacy mechanism: all interactions are in one place", "", [], []);
            }
            Privacy::None => self.unprotected(),
            Privacy::RandomisedResponse { .. } => self.randomised_response(),
            Privacy::SampledResponse { .. } => {
                self.local("Of a message's interactions one is drawn, and its outcome randomised")
            }
            Privacy::Duchi(_) => self.local("One randomised bit about one coordinate of the update"),
            Privacy::PrivUnit { .. } => self.local("A random direction that leans towards that of the update"),
            Privacy::DistributedLaplace(_) => self.distributed_laplace(),
            Privacy::Gaussian { mode, .. } => self.gaussian(mode),
            Privacy::DiscreteGaussian { min_survivors, colluders, .. } => {
                self.discrete_gaussian(min_survivors, colluders)
            }
        };
        if self.cohort < self.n_clients && self.participation().is_none() {
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
        words
    }

    fn participation(&self) -> Option<f64> {
        self.experiment.clients.as_ref().and_then(|clients| clients.participation)
    }

    fn unprotected(&self) -> Words {
        let betrayal = match self.experiment.learner {
            Learner::Evolution { .. } => {
                "A single message gives the clicks away: it has the exact mean reward of a few interactions."
            }
            _ => {
                "A single update gives the clicks away: to whoever knows the lists shown it is a system of linear \
                 equations, one a parameter, for the clicks on their documents."
            }
        };
        words("No privacy mechanism: updates leave the device as they are", "", [], [betrayal.into()])
    }

    fn randomised_response(&self) -> Words {
        let mut words = self.local("FOLtR-ES: the outcome of every interaction is randomised on the device");
        words.remarks.extend([
            "The paper's epsilon is that of one interaction; those of a message and of all rounds add up.".into(),
            "Not comparable with FPDGD's epsilon, which is printed for a round and needs a trusted sum.".into(),
        ]);
        words
    }

    /// What all mechanisms have in common that need no trust.
    fn local(&self, summary: &str) -> Words {
        words(
            summary,
            "one client does anything else, in all its rounds",
            ["Devices draw from a generator that nobody else knows; a retry resends the same bytes.".into()],
            [],
        )
    }

    fn distributed_laplace(&self) -> Words {
        let mut remarks = vec![
            "Against the server that sees single messages: none. A message has one small share of the noise.".into(),
        ];
        if let (Some(price), Some(claim)) = (self.seen, self.claim()) {
            remarks.push(format!(
                "A round costs {:.1} times what the paper says: the clip bounds the l2 norm of {} coordinates, the \
                 noise would have to hide the l1 norm.",
                price.cost.epsilon() / claim.epsilon,
                self.n_params.unwrap_or(0)
            ));
        }
        if self.dropout() > 0.0 {
            remarks.push(format!(
                "Messages are lost with probability {}, and their shares of the noise with them: nothing holds.",
                self.dropout()
            ));
        }
        remarks.push("Not comparable with FOLtR-ES's epsilon, which is for one interaction and needs no trust.".into());
        words(
            "FPDGD: models are clipped; the noise of all clients together is Laplace",
            "one client sends any other messages, in all its rounds",
            [
                "Nobody sees a single message: the server is trusted, or a secure sum hides them (here it is neither)."
                    .into(),
                "All noise arrives: if half of the clients or fewer survive, the central guarantee is gone.".into(),
                "All clients count the same: weighting by a client-reported count makes the sensitivity unbounded."
                    .into(),
                "No client passes its share of the noise on.".into(),
            ],
            remarks,
        )
    }

    fn gaussian(&self, mode: CentralMode) -> Words {
        let (summary, trust) = match mode {
            CentralMode::Clear => (
                "Clipped updates, Gaussian noise on their sum, added by the server",
                "The server is trusted: it reads every update, adds the noise and forgets the rest.",
            ),
            CentralMode::Sealed => (
                "Clipped updates, Gaussian noise on their sum, under secure aggregation",
                "Secure aggregation works: nobody, the server included, sees less than a whole noisy sum. It is simulated \
                 here.",
            ),
        };
        let mut assumptions = vec![trust.into()];
        let mut remarks = Vec::new();
        if let Some(probability) = self.participation() {
            assumptions.push(
                "For the amplified numbers: devices toss the coin themselves, and nobody sees who took part.".into(),
            );
            let seen = self.seen.and_then(|price| price.run()).map_or_else(|| "nothing".into(), super::told::pair);
            remarks.push(format!(
                "Amplified by coins of probability {probability}; against who sees the coins {seen} holds."
            ));
        }
        words(summary, "one client added or removed, all its rounds", assumptions, remarks)
    }

    fn discrete_gaussian(&self, min_survivors: u32, colluders: u32) -> Words {
        words(
            "Clipped integers, a share of exact noise from every client, under secure aggregation",
            "zero in place of one client's updates, in all its rounds; that it takes part is not hidden",
            [
                "Secure aggregation works: nobody, the server included, sees less than a whole noisy sum.".into(),
                format!(
                    "A sum of fewer than {} messages is never opened; at most {colluders} clients pass their share of the \
                     noise on.",
                    grouped(u64::from(min_survivors))
                ),
                "Devices draw their shares from a generator that nobody else knows.".into(),
            ],
            [],
        )
    }
}

fn words(
    summary: &str,
    neighbours: &str,
    assumptions: impl Into<Vec<String>>,
    remarks: impl Into<Vec<String>>,
) -> Words {
    let (assumptions, remarks) = (assumptions.into(), remarks.into());
    Words { summary: summary.into(), neighbours: neighbours.into(), assumptions, remarks }
}
