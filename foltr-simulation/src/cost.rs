//! What clients did in some rounds, to compare forgetting with training. How long it took is for the caller to measure.

use foltr_federation::Kind;
use foltr_federation::message::HEADER_LEN;

/// What clients did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub rounds: u32,
    /// Interactions of clients.
    pub local_steps: u64,
    /// Messages that reached the server.
    pub messages: u64,
    /// Bytes of models to clients and of messages to the server.
    pub bytes: u64,
}

impl Cost {
    /// Adds a round in which `n_tasks` clients received a model of `n_params` and `n_messages` answered.
    pub(crate) fn add_round(
        &mut self,
        local_steps: u64,
        n_tasks: usize,
        n_messages: usize,
        kind: Kind,
        n_params: usize,
    ) {
        let message = HEADER_LEN + kind.content_len(n_params);
        let bytes = (n_tasks * 4 * n_params + n_messages * message) as u64;
        self.add(&Self { rounds: 1, local_steps, messages: n_messages as u64, bytes });
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.local_steps += other.local_steps;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}
