//! A run that stops and goes on as if it had not: the same bits as without a stop.

use foltr_federation::{Checkpoint, History};

use super::{FederationError, FederationRun, FederationSettings};
use crate::partition::Partition;
use crate::per_message_round::PerMessageRound;

impl<'a> FederationRun<'a> {
    /// The state before the open round, if all that a round depends on is in it.
    pub fn checkpoint(&self) -> Result<Checkpoint, FederationError> {
        self.check_resumable()?;
        Ok(self.state())
    }

    /// As far as it is known.
    pub(super) fn state(&self) -> Checkpoint {
        let devices = self.per_message.as_ref().map(PerMessageRound::devices).unwrap_or_default();
        Checkpoint { tail: self.tail.clone(), devices, ..self.coordinator.checkpoint() }
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
        ];
        let memory = memories.into_iter().find(|(is_there, _)| *is_there);
        memory.map_or(Ok(()), |(_, memory)| Err(FederationError::Remembers { memory }))
    }

    /// A federation that goes on from a stored state, and with its history if it has one. Clients may have left since:
    /// those are in [`FederationSettings::absent`].
    pub fn resume(
        settings: FederationSettings,
        partition: &'a Partition,
        state: &Checkpoint,
        history: Option<History>,
    ) -> Result<Self, FederationError> {
        let mut run = Self::new(settings, partition)?;
        run.check_resumable()?;
        run.coordinator.restore(state)?;
        let fits = match &mut run.per_message {
            Some(per_message) => per_message.restore(&state.devices),
            None => state.devices.values.is_empty(),
        };
        if !fits {
            return Err(FederationError::Devices);
        }
        // A state without a mean begins a new one.
        if run.tail.is_some() && state.tail.is_some() {
            run.tail.clone_from(&state.tail);
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
