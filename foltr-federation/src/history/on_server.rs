//! How a server records its rounds.
//!
//! A server counts rounds upwards for ever, since devices take part in each only once. A history counts those that were not
//! undone, and goes back when the federation does. So the two have numbers of their own: a history gives the next of its
//! own to every round that it takes and to every state, whatever the coordinator's number is. A round to which nobody came
//! and that was closed without a step is none of the history.

use rand::CryptoRng;

use crate::aggregate::Contributions;
use crate::coordinator::{CloseError, OpenRound, RoundReport};
use crate::fingerprint::Fingerprint;
use crate::history::{Checkpoint, Header, History, UnknownClient};
use crate::plan::FederationPlan;

impl History {
    /// The history of a federation, or of one of its shards, whose coordinator has this state before its first round. At
    /// most so many clients will ever be enrolled. `settings` is the hash of the signed plan.
    pub fn begin(
        plan: &FederationPlan,
        settings: Fingerprint,
        n_clients: u32,
        state: Checkpoint,
        salts: &mut impl CryptoRng,
    ) -> Self {
        let (policy, optimiser) = (plan.history.unwrap_or_default(), plan.server_optimiser());
        let mut history = Self::new(Header { policy, n_clients, optimiser, settings, initial: state.master.clone() });
        if policy.stores_checkpoint(0) {
            history.record_newest(state, salts);
        }
        history
    }

    /// Whether the steps of the next round must be handed over.
    pub fn needs_updates(&self) -> bool {
        self.policy().needs_updates(self.n_rounds())
    }

    /// Takes a round that a coordinator has closed, and the state that it has now. Nothing changes on an error: forgotten
    /// clients must not be drawn into a round.
    pub fn record_round(
        &mut self,
        round: &OpenRound,
        closed: &Result<RoundReport, CloseError>,
        state: Checkpoint,
        salts: &mut impl CryptoRng,
    ) -> Result<(), UnknownClient> {
        match closed {
            Ok(_) => {
                round.clients.iter().try_for_each(|&client| self.knows(client))?;
                self.close(self.n_rounds(), &round.model, &round.clients, &round.updates, salts);
            }
            // Those who came have not moved the model.
            Err(CloseError::Overflow { .. } | CloseError::TooFewSurvivors { .. }) => {
                let nobody = Contributions::new(round.model.len());
                self.close(self.n_rounds(), &round.model, &[], &nobody, salts);
            }
            Err(CloseError::Empty { .. } | CloseError::SimulatedNoise { .. }) => return Ok(()),
        }
        if self.policy().stores_checkpoint(self.n_rounds()) {
            self.record_newest(state, salts);
        }
        Ok(())
    }

    /// Takes the state that a coordinator has now, before the next round, unless it is there. With it a history can be
    /// [verified](Self::verify) and given away; a request to forget [does](crate::unlearn::forget_on_server) it by itself.
    pub fn record_newest(&mut self, state: Checkpoint, salts: &mut impl CryptoRng) {
        let state = Checkpoint { round: self.n_rounds(), ..state };
        if self.latest() != Some(&state) {
            self.add_checkpoint(state, salts);
        }
    }
}
