//! What a coordinator takes in an open round: single messages, or sums of them.

use crate::aggregate::PartialSum;
use crate::coordinator::{Coordinator, Rejected};
use crate::message::{Message, Payload, PayloadError};

impl Coordinator {
    pub fn receive(&mut self, message: Message) -> Result<(), Rejected> {
        let scale = self.check_head(&message)?;
        let Message { client, payload, .. } = message;
        match &mut self.buffer {
            Some(buffer) => buffer.receive(client, &payload, scale, self.defence.longest),
            None => self.inbox.receive(client, payload, scale, self.defence.longest),
        }
    }

    /// Refuses all that [`Self::receive`] refuses, but for a second message of a client, and takes nothing. A server asks
    /// before it stores a message that it will hand over when the round closes.
    pub fn check(&self, message: &Message) -> Result<(), Rejected> {
        let scale = self.check_head(message)?;
        match &self.buffer {
            Some(buffer) => buffer.check(message.client, &message.payload, scale, self.defence.longest),
            None => self.inbox.check(message.client, &message.payload, self.defence.longest),
        }
    }

    /// Checks all of a message but its length; says how much a reward in it counts.
    fn check_head(&self, message: &Message) -> Result<f64, Rejected> {
        let Message { round, start, client, ref payload } = *message;
        if self.is_sealed() {
            return Err(Rejected::Sealed);
        }
        if round != self.model.task.round {
            return Err(Rejected::Round { expected: self.model.task.round, got: round });
        }
        let scale = self.scale_of(start)?;
        self.check_client(client)?;
        self.model.expected.check(payload)?;
        Ok(scale)
    }

    /// How much a reward counts of a client that started from this release.
    fn scale_of(&self, start: u32) -> Result<f64, Rejected> {
        let (newest, most) = (self.model.task.round, self.staleness.most);
        let staleness = newest.checked_sub(start).ok_or(Rejected::UnknownRelease { newest, got: start })?;
        if staleness > most { Err(Rejected::TooStale { staleness, most }) } else { Ok(self.staleness.scale(staleness)) }
    }

    /// As [`Self::receive`] of a step of the open round, from borrowed memory.
    pub fn receive_step(
        &mut self,
        client: u32,
        start: u32,
        n_interactions: u32,
        delta: &[f32],
    ) -> Result<(), Rejected> {
        self.scale_of(start)?;
        self.check_client(client)?;
        if let Some(buffer) = &mut self.buffer {
            self.model.expected.check_step(n_interactions, delta)?;
            return buffer.receive_step(client, f64::from(n_interactions), delta, self.defence.longest);
        }
        let payload = Payload::Step { n_interactions, delta: delta.to_vec() };
        let round = self.model.task.round;
        self.receive(Message { round, start, client, payload })
    }

    fn check_client(&self, client: u32) -> Result<(), Rejected> {
        self.check_known(client)?;
        match &self.drawn {
            Some(drawn) if drawn.binary_search(&client).is_err() => {
                Err(Rejected::NotDrawn { client, round: self.model.task.round })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn check_known(&self, client: u32) -> Result<(), Rejected> {
        let n_clients = self.model.task.n_clients;
        if client < n_clients { Ok(()) } else { Err(Rejected::UnknownClient { client, n_clients }) }
    }

    /// Takes the sum of the next chunk of the clients that are present, folded elsewhere in the order of their numbers.
    pub fn receive_partial(&mut self, chunk_idx: usize, partial: &PartialSum) -> Result<(), Rejected> {
        if self.buffer.is_some() {
            return Err(Rejected::NotASum);
        }
        self.check_params(partial)?;
        self.inbox.receive_partial(chunk_idx, partial)
    }

    /// The same for those of the chunk who help a cluster.
    pub fn receive_cluster_partial(
        &mut self,
        cluster: usize,
        chunk_idx: usize,
        partial: &PartialSum,
    ) -> Result<(), Rejected> {
        self.check_params(partial)?;
        let n_clusters = self.clusters.len();
        let known = self.clusters.get_mut(cluster).ok_or(Rejected::UnknownCluster { cluster, n_clusters })?;
        known.inbox.receive_partial(chunk_idx, partial)
    }

    fn check_params(&self, partial: &PartialSum) -> Result<(), Rejected> {
        let (expected, got) = (self.model.expected.n_params, partial.n_params());
        if got == expected { Ok(()) } else { Err(PayloadError::Params { expected, got }.into()) }
    }
}
