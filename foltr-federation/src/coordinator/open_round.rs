//! What a history records of a round and only an open one can tell.

use foltr_rank::Params;

use crate::aggregate::{Contributions, PayloadSemantics};
use crate::coordinator::Coordinator;

/// A round that is about to be closed.
#[derive(Clone, PartialEq)]
pub struct OpenRound {
    /// The model that it starts from.
    pub model: Params,
    /// Whose messages, or what stands in for them, move the model, in rising order.
    pub clients: Vec<u32>,
    /// The steps that came, in client order; empty unless they were asked for, or if clients send something else.
    pub updates: Contributions,
}

impl std::fmt::Debug for OpenRound {
    /// Says nothing of the steps.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenRound(of {} clients, with {} steps)", self.clients.len(), self.updates.len())
    }
}

impl Coordinator {
    /// What a history records of this round if it is closed now. Only single messages are known here: nobody can tell who
    /// is in a sum.
    pub fn open_round(&self, with_updates: bool) -> OpenRound {
        let mut updates = Contributions::new(self.model.master.len());
        if with_updates && self.inbox.rule == PayloadSemantics::Averaging {
            match &self.buffer {
                Some(buffer) => updates.clone_from(buffer.contributions()),
                None => self.inbox.steps().for_each(|(client, weight, delta)| updates.push(client, weight, delta)),
            }
            updates.sort();
        }
        let clients = match (&self.buffer, &self.drawn) {
            (None, _) => self.inbox.clients().collect(),
            (Some(_), Some(drawn)) => drawn.clone(),
            (Some(_), None) => (0..self.model.task.n_clients).collect(),
        };
        OpenRound { model: self.model.task.global.clone(), clients, updates }
    }
}
