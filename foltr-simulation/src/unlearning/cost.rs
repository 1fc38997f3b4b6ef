//! What forgetting takes, to be compared with what training took.

use foltr_federation::Kind;
use foltr_federation::message::HEADER_LEN;

use crate::federation_run::ClientWork;

/// What clients did. How long it took is for the caller to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds.
    pub rounds: u32,
    /// Interactions of clients.
    pub local_steps: u64,
    /// Messages of clients.
    pub messages: u64,
    /// Bytes of models to clients and of messages to the server.
    pub bytes: u64,
}

impl Cost {
    /// Of so many rounds in which clients did this, with messages of this kind about so many parameters.
    pub fn of(rounds: u32, effort: ClientWork, kind: Kind, n_params: usize) -> Self {
        let message = (HEADER_LEN + kind.content_len(n_params)) as u64;
        let model = 4 * n_params as u64;
        let ClientWork { local_steps, tasks, messages } = effort;
        Self { rounds, local_steps, messages, bytes: tasks * model + messages * message }
    }

    /// Adds another cost.
    pub fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.local_steps += other.local_steps;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}
