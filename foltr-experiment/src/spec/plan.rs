//! The sections that a federation agrees on, taken together.

use foltr_federation::accountant::PrivacyCost;
use foltr_federation::privacy::MechanismError;
use foltr_federation::{FederationPlan, Mechanism, Part, Participation};

use super::{Clients, Experiment};

impl Experiment {
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
            optimiser: federation.map(|federation| federation.optimiser),
            shards: federation.and_then(|federation| federation.shards),
            average_last: federation.and_then(|federation| federation.average_last),
            personalisation: self.personalisation,
            asynchrony: self.asynchrony,
            defence: self.defence,
            history: self.history,
            unlearning: self.unlearning.as_ref().map(|request| request.method),
            privacy: self.privacy,
            budget: self.budget,
        }
    }

    /// What a simulation adds to the plan.
    pub(super) fn simulated_parts(&self) -> Vec<Part> {
        let clients = self.clients.as_ref();
        let parts = [
            (self.attack.is_some(), Part::Attack),
            (clients.is_some_and(|clients| clients.absent.is_some()), Part::AbsentClients),
            (clients.is_some_and(|clients| clients.quantities.is_some()), Part::Quantities),
        ];
        parts.into_iter().filter_map(|(is_there, part)| is_there.then_some(part)).collect()
    }

    /// The mechanism of `[privacy]`, for a model of `n_params` parameters.
    ///
    /// # Errors
    /// If it is not defined for its parameters.
    pub fn mechanism(&self, n_params: usize) -> Result<Mechanism, MechanismError> {
        self.plan().mechanism(n_params)
    }

    /// What one round costs a client that may be in it.
    ///
    /// # Errors
    /// As [`Self::mechanism`].
    pub fn cost(&self, n_params: usize) -> Result<PrivacyCost, MechanismError> {
        self.plan().cost(n_params)
    }

    /// Rounds that the budget allows; all of them without a budget.
    ///
    /// # Errors
    /// As [`Self::mechanism`].
    pub fn affordable_rounds(&self, n_rounds: usize, n_params: usize) -> Result<usize, MechanismError> {
        self.plan().affordable_rounds(n_rounds, n_params)
    }
}
