//! What is kept of a run: a history, if it is asked for, and what clients have done.

use foltr_federation::history::Header;
use foltr_federation::{Combination, Contributions, Fingerprint, History, HistoryPolicy, Part, SetupError};
use foltr_rank::rng::Purpose;

use super::{FederationError, FederationRun, FederationSettings};
use crate::partition::Partition;

/// What clients have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientWork {
    /// Interactions.
    pub local_steps: u64,
    /// Models that clients received.
    pub tasks: u64,
    /// Messages that reached the server.
    pub messages: u64,
}

impl ClientWork {
    pub(super) fn add(&mut self, partition: &Partition, clients: &[u32], n_arrived: usize) {
        self.local_steps +=
            clients.iter().map(|&client| u64::from(partition.holding(client).n_interactions)).sum::<u64>();
        self.tasks += clients.len() as u64;
        self.messages += n_arrived as u64;
    }
}

/// What a history wants to know of the open round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Nothing,
    Clients,
    Updates,
}

/// What the server took in the open round, as far as a history wants to know it.
#[derive(Debug)]
pub(crate) struct RoundRecorder {
    wanted: Wanted,
    clients: Vec<u32>,
    updates: Contributions,
}

impl RoundRecorder {
    pub(super) const fn new(n_params: usize) -> Self {
        Self { wanted: Wanted::Nothing, clients: Vec::new(), updates: Contributions::new(n_params) }
    }

    pub(super) fn begin(&mut self, history: Option<&History>, round: u32) {
        self.clear();
        self.wanted = match history {
            None => Wanted::Nothing,
            Some(history) if history.policy().needs_updates(round) => Wanted::Updates,
            Some(_) => Wanted::Clients,
        };
    }

    fn clear(&mut self) {
        self.clients.clear();
        self.updates.clear();
    }

    pub(super) fn wants_updates(&self) -> bool {
        self.wanted == Wanted::Updates
    }

    /// A client's message was taken.
    pub(crate) fn client(&mut self, client: u32) {
        if self.wanted != Wanted::Nothing {
            self.clients.push(client);
        }
    }

    /// A client's step was taken.
    pub(crate) fn step(&mut self, client: u32, weight: f64, delta: &[f32]) {
        self.client(client);
        if self.wants_updates() {
            self.updates.push(client, weight, delta);
        }
    }

    /// All these messages were taken.
    pub(super) fn clients(&mut self, clients: &[u32]) {
        if self.wanted != Wanted::Nothing {
            self.clients.extend_from_slice(clients);
        }
    }

    /// These steps were taken; who sent them is said elsewhere.
    pub(super) fn steps(&mut self, updates: &Contributions) {
        let rows = updates.clients().iter().zip(updates.weights()).zip(updates.rows());
        rows.for_each(|((&client, &weight), row)| self.updates.push(client, weight, row));
    }
}

impl FederationSettings {
    /// Whether a history can keep this of such a run.
    fn check_keeping(&self, keeping: &HistoryPolicy) -> Result<(), FederationError> {
        keeping.check().map_err(SetupError::from)?;
        let mut parts = [self.parts(), vec![Part::History]].concat();
        if keeping.ledger || keeping.updates_every.is_some() {
            parts.push(Part::SingleUpdates);
        }
        Combination::check(&parts)?;
        Ok(())
    }
}

impl FederationRun<'_> {
    /// The same with a history of what is asked for. `settings` stands for all settings of the run, data included.
    ///
    /// # Errors
    /// If the run is of a kind of which that cannot be kept.
    ///
    /// # Panics
    /// If the run has begun.
    pub fn with_history(mut self, keeping: HistoryPolicy, settings: Fingerprint) -> Result<Self, FederationError> {
        assert_eq!(self.task().round, 0, "a history begins with the run");
        self.settings.check_keeping(&keeping)?;
        if keeping.checkpoints_every.is_some() && self.cannot_resume().is_some() {
            return Err(FederationError::History { what: "the states of a run that cannot be resumed" });
        }
        self.history = Some(History::new(Header {
            policy: keeping,
            n_clients: self.settings.n_clients,
            optimiser: self.settings.optimiser,
            settings,
            initial: self.settings.initial.iter().map(|&value| value.into()).collect(),
        }));
        Ok(self)
    }

    /// What was kept so far.
    pub const fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// What was kept, with the newest state: all that a later request to forget needs beside settings and data.
    pub fn into_history(mut self) -> Option<History> {
        self.keep_newest();
        self.history
    }

    /// What was kept so far, with the newest state.
    pub fn history_now(&self) -> Option<History> {
        let mut history = self.history.clone()?;
        if !has_state(&history, self.task().round) {
            history.add_checkpoint(self.state());
        }
        Some(history)
    }

    fn keep_newest(&mut self) {
        let state = self.state();
        if let Some(history) = self.history.as_mut().filter(|history| !has_state(history, state.round)) {
            history.add_checkpoint(state);
        }
    }

    /// Keeps the state before the open round, if somebody wants it.
    pub(super) fn keep_state(&mut self) {
        let round = self.task().round;
        if self.history.as_ref().is_some_and(|history| history.policy().stores_checkpoint(round)) {
            self.keep_newest();
        }
    }

    /// Keeps a closed round, of which nothing was taken if it did not move the model.
    pub(super) fn keep_round(&mut self, round: u32, model: &[f32], has_moved: bool) {
        let Some(history) = &mut self.history else { return };
        if !has_moved {
            self.taken.clear();
        }
        let RoundRecorder { clients, updates, .. } = &self.taken;
        let mut salts = self.streams.open(Purpose::Salt, 0, round);
        history.close(round, model, clients, updates, &mut salts);
    }
}

fn has_state(history: &History, round: u32) -> bool {
    history.latest().is_some_and(|latest| latest.round == round)
}
