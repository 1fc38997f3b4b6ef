//! A run that stops and goes on as if it had not: the same bits as without a stop.

use foltr_federation::{Checkpoint, History, PayloadError};

use super::{FederationError, FederationRun, FederationSettings};
use crate::client_data::ClientData;
use crate::per_message_round::PerMessageRound;

/// Why a run cannot go on from a stored state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResumeError {
    /// There is no such federation.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// A state of another model.
    #[error(transparent)]
    Model(#[from] PayloadError),
    /// Something remembers, and not in the stored state.
    #[error("{what} cannot be resumed")]
    Remembers {
        /// What it is.
        what: &'static str,
    },
    /// A state of other devices.
    #[error("the stored memory of devices is not that of this federation's devices")]
    Devices,
    /// A history of another length.
    #[error("the history has {history} rounds, the stored state {state}")]
    Rounds {
        /// Rounds of the history.
        history: u32,
        /// Rounds behind the state.
        state: u32,
    },
}

impl FederationRun<'_> {
    /// The state before the open round.
    ///
    /// # Errors
    /// If something remembers that is not in it.
    pub fn checkpoint(&self) -> Result<Checkpoint, ResumeError> {
        match self.cannot_resume() {
            Some(what) => Err(ResumeError::Remembers { what }),
            None => Ok(self.state()),
        }
    }

    /// As far as it is known.
    pub(super) fn state(&self) -> Checkpoint {
        let devices = self.gathered.as_ref().map(PerMessageRound::devices).unwrap_or_default();
        Checkpoint { tail: self.tail.clone(), devices, ..self.coordinator.checkpoint() }
    }

    /// What remembers more than a state has, if anything does.
    pub(super) fn cannot_resume(&self) -> Option<&'static str> {
        let settings = &self.settings;
        let is_there = |attackers: u32| (0..attackers).any(|client| settings.absent.binary_search(&client).is_err());
        let remembers = settings.attackers.is_some_and(|it| it.method.remembers() && is_there(it.attackers));
        if self.published.is_some() {
            Some("the published random stream, which is one for the whole run,")
        } else if settings.personalisation.is_some() {
            Some("a federation whose clients have rankers of their own")
        } else if settings.defence.rule.remembers() {
            Some("an aggregation rule that remembers earlier rounds")
        } else if remembers || self.is_watched {
            Some("an attacker that remembers earlier rounds")
        } else if self.clock.is_some() {
            Some("a run with simulated time")
        } else {
            None
        }
    }
}

impl<'a> FederationRun<'a> {
    /// A federation that goes on from a stored state, and with its history if it has one. Clients may have left since:
    /// those are in [`FederationSettings::absent`].
    ///
    /// # Errors
    /// If that is not possible with the same bits as without a stop.
    pub fn resume(
        settings: FederationSettings,
        partition: &'a ClientData,
        state: &Checkpoint,
        history: Option<History>,
    ) -> Result<Self, ResumeError> {
        let mut run = Self::new(settings, partition)?;
        if let Some(what) = run.cannot_resume() {
            return Err(ResumeError::Remembers { what });
        }
        run.coordinator.restore(state)?;
        let fits = match &mut run.gathered {
            Some(gathered) => gathered.restore(&state.devices),
            None => state.devices.values.is_empty(),
        };
        if !fits {
            return Err(ResumeError::Devices);
        }
        // A state without a mean begins a new one.
        if run.tail.is_some() && state.tail.is_some() {
            run.tail.clone_from(&state.tail);
        }
        run.with_old_history(history)
    }

    /// The same with a history that has begun before.
    pub(crate) fn with_old_history(mut self, history: Option<History>) -> Result<Self, ResumeError> {
        let (rounds, state) = (history.as_ref().map(History::n_rounds), self.task().round);
        if let Some(rounds) = rounds.filter(|&rounds| rounds != state) {
            return Err(ResumeError::Rounds { history: rounds, state });
        }
        self.history = history;
        Ok(self)
    }
}
