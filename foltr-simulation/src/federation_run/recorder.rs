//! What a run records of itself for clients that leave, and how it goes on from there: a run that stops and is resumed has
//! the same bits as without a stop.

use foltr_federation::history::Header;
use foltr_federation::{Checkpoint, Combination, Contributions, Fingerprint, History, HistoryPolicy, Part, SetupError};
use foltr_rank::rng::Lineage;

use super::{FederationError, FederationRun, FederationSettings};
use crate::client_data::ClientData;
use crate::per_message_round::PerMessageRound;
use crate::salts::salts;
use crate::unlearning::remaining;

/// What the server accepted in the open round, as far as the history records it.
#[derive(Debug)]
pub(crate) struct RoundRecorder {
    pub(super) needs_updates: bool,
    clients: Vec<u32>,
    pub(super) updates: Contributions,
}

impl RoundRecorder {
    pub(super) const fn new(n_params: usize) -> Self {
        Self { needs_updates: false, clients: Vec::new(), updates: Contributions::new(n_params) }
    }

    pub(super) fn begin(&mut self, history: Option<&History>, round: u32) {
        self.clear();
        self.needs_updates = history.is_some_and(|history| history.policy().needs_updates(round));
    }

    fn clear(&mut self) {
        self.clients.clear();
        self.updates.clear();
    }

    /// A client's message was accepted; its step, if it is one.
    pub(crate) fn accepted(&mut self, client: u32, step: Option<(f64, &[f32])>) {
        self.clients.push(client);
        if let Some((weight, delta)) = step.filter(|_| self.needs_updates) {
            self.updates.push(client, weight, delta);
        }
    }
}

pub(crate) fn append(to: &mut Contributions, from: &Contributions) {
    let rows = from.clients().iter().zip(from.weights()).zip(from.rows());
    rows.for_each(|((&client, &weight), row)| to.push(client, weight, row));
}

impl<'a> FederationRun<'a> {
    /// The same with a history of what is asked for, which begins with the run. `settings` stands for all settings of the
    /// run, data included.
    pub fn with_history(mut self, policy: HistoryPolicy, settings: Fingerprint) -> Result<Self, FederationError> {
        assert_eq!(self.task().round, 0, "a history begins with the run");
        assert_eq!(self.settings.lineage, Lineage::TRAINING, "a history that begins has no requests behind it");
        policy.check().map_err(SetupError::from)?;
        let mut parts = [self.settings.parts(), vec![Part::History]].concat();
        if policy.ledger || policy.updates_every.is_some() {
            parts.push(Part::SingleUpdates);
        }
        parts.extend(self.adoption.is_some().then_some(Part::Adoption));
        Combination::check(&parts)?;
        if policy.checkpoints_every.is_some() {
            self.check_resumable()?;
        }
        self.history = Some(History::new(Header {
            policy,
            n_clients: self.settings.n_clients,
            optimiser: self.settings.optimiser,
            settings,
            initial: self.settings.initial.iter().map(|&value| value.into()).collect(),
        }));
        Ok(self)
    }

    pub const fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// What was recorded, with the newest state: all that a later request to forget needs beside settings and data.
    pub fn into_history(mut self) -> Option<History> {
        self.record_newest();
        self.history
    }

    pub(crate) fn history_now(&self) -> Option<History> {
        let mut history = self.history.clone()?;
        add_newest(&mut history, self.state());
        Some(history)
    }

    fn record_newest(&mut self) {
        let state = self.state();
        if let Some(history) = &mut self.history {
            add_newest(history, state);
        }
    }

    /// Records the state before the open round, if the policy wants it.
    pub(super) fn record_state(&mut self) {
        let round = self.task().round;
        if self.history.as_ref().is_some_and(|history| history.policy().stores_checkpoint(round)) {
            self.record_newest();
        }
    }

    /// Records a closed round and who had a part in its step: nobody if it did not move the model.
    pub(super) fn record_round(&mut self, round: u32, model: &[f32], involved: &[u32], has_moved: bool) {
        let Some(history) = &mut self.history else { return };
        if !has_moved {
            self.recorder.clear();
        } else if self.per_message.is_none() || !self.settings.defence.only_sums() {
            self.recorder.clients.clear();
            self.recorder.clients.extend_from_slice(involved);
        }
        let RoundRecorder { clients, updates, .. } = &self.recorder;
        history.close(round, model, clients, updates, &mut salts());
    }

    /// The state before the open round, if all that a round depends on is in it.
    pub fn checkpoint(&self) -> Result<Checkpoint, FederationError> {
        self.check_resumable()?;
        Ok(self.state())
    }

    /// As far as it is known.
    pub(super) fn state(&self) -> Checkpoint {
        let devices = self.per_message.as_ref().map(PerMessageRound::devices).unwrap_or_default();
        Checkpoint { devices, ..self.coordinator.checkpoint() }
    }

    /// Refuses what remembers more than a state has.
    pub(super) fn check_resumable(&self) -> Result<(), FederationError> {
        let settings = &self.settings;
        let is_there = |attackers: u32| (0..attackers).any(|client| settings.absent.binary_search(&client).is_err());
        let remembers = settings.attackers.is_some_and(|it| it.method.remembers() && is_there(it.attackers));
        let memories = [
            (self.published.is_some(), "the published random stream, which is one for the whole run,"),
            (settings.personalisation.is_some(), "a federation whose clients have rankers of their own"),
            (settings.defence.rule.remembers(), "an aggregation rule that remembers earlier rounds"),
            (remembers || self.has_own_adversary, "an attacker that remembers earlier rounds"),
            (self.clock.is_some(), "a run with simulated time"),
            (self.adoption.is_some(), "a federation whose clients test releases"),
            (settings.staleness.most > 0, "a federation whose devices may be on their way to a later round"),
        ];
        let memory = memories.into_iter().find(|(is_there, _)| *is_there);
        memory.map_or(Ok(()), |(_, memory)| Err(FederationError::Remembers { memory }))
    }

    /// A federation that goes on from a stored state, and with its history if it has one. Clients that were forgotten in
    /// the history are absent, and its lineage is that of the run.
    pub fn resume(
        settings: FederationSettings,
        partition: &'a ClientData,
        state: &Checkpoint,
        history: Option<History>,
    ) -> Result<Self, FederationError> {
        let settings = history.as_ref().map_or(settings.clone(), |history| remaining(&settings, history));
        let mut run = Self::new(settings, partition)?;
        run.check_resumable()?;
        let mut state = state.clone();
        state.stand_ins.erase(&run.settings.absent);
        run.coordinator.restore(&state)?;
        let fits = match &mut run.per_message {
            Some(per_message) => per_message.restore(&state.devices),
            None => state.devices.values.is_empty(),
        };
        if !fits {
            return Err(FederationError::Devices);
        }
        run.with_old_history(history)
    }

    /// The same with a history that has begun before.
    pub(crate) fn with_old_history(mut self, history: Option<History>) -> Result<Self, FederationError> {
        let (rounds, state) = (history.as_ref().map(History::n_rounds), self.task().round);
        if let Some(history) = rounds.filter(|&rounds| rounds != state) {
            return Err(FederationError::Rounds { history, state });
        }
        self.history = history;
        Ok(self)
    }
}

fn add_newest(history: &mut History, state: Checkpoint) {
    if history.latest().is_none_or(|latest| latest.round != state.round) {
        history.add_checkpoint(state, &mut salts());
    }
}
