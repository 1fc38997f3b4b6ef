//! The messages of an open round, folded chunk by chunk as soon as a chunk is complete.
//!
//! Whatever the order of arrival, a chunk is summed in slot order and chunks are merged in chunk order, which fixes
//! the bits of the sum. In order of arrival only one chunk of messages is ever held.

use crate::aggregate::{CHUNK, PartialSum, PayloadSemantics};
use crate::coordinator::Rejected;
use crate::message::Payload;

/// The state of one chunk.
#[derive(Clone, Debug)]
enum Chunk {
    Empty,
    /// Some messages have come, by slot.
    Waiting {
        payloads: Vec<Option<Payload>>,
        n_received: usize,
    },
    /// Complete, but an earlier chunk is not.
    Folded(PartialSum),
    Merged,
}

/// All chunks of a round.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    pub(super) rule: PayloadSemantics,
    n_clients: usize,
    chunks: Vec<Chunk>,
    /// Sum of the chunks before `n_merged`.
    total: PartialSum,
    n_merged: usize,
    /// Messages whose chunk is not complete.
    pub(super) n_waiting: usize,
    /// Clients that have contributed so far.
    pub(super) n_contributions: u32,
    direction: Vec<f32>,
}

impl Inbox {
    pub(super) fn new(rule: PayloadSemantics, n_clients: u32, n_params: usize) -> Self {
        let n_clients = n_clients as usize;
        Self {
            rule,
            n_clients,
            chunks: vec![Chunk::Empty; n_clients.div_ceil(CHUNK)],
            total: PartialSum::new(n_params),
            n_merged: 0,
            n_waiting: 0,
            n_contributions: 0,
            direction: vec![0.0; n_params],
        }
    }

    pub(super) fn clear(&mut self) {
        self.chunks.fill(Chunk::Empty);
        self.total.clear();
        (self.n_merged, self.n_waiting, self.n_contributions) = (0, 0, 0);
    }

    /// Slots of a chunk; the last one may be shorter.
    fn chunk_len(&self, chunk_idx: usize) -> usize {
        CHUNK.min(self.n_clients - chunk_idx * CHUNK)
    }

    /// Takes a checked payload of a known client.
    pub(super) fn receive(&mut self, client: u32, payload: Payload) -> Result<(), Rejected> {
        let (chunk_idx, slot) = (client as usize / CHUNK, client as usize % CHUNK);
        let len = self.chunk_len(chunk_idx);
        let chunk = &mut self.chunks[chunk_idx];
        if matches!(chunk, Chunk::Empty) {
            *chunk = Chunk::Waiting { payloads: vec![None; len], n_received: 0 };
        }
        let Chunk::Waiting { payloads, n_received } = chunk else { return Err(Rejected::Duplicate { client }) };
        if payloads[slot].is_some() {
            return Err(Rejected::Duplicate { client });
        }
        payloads[slot] = Some(payload);
        *n_received += 1;
        let is_complete = *n_received == len;
        self.n_waiting += 1;
        self.n_contributions += 1;
        if is_complete {
            self.fold_chunk(chunk_idx);
            self.merge_complete();
        }
        Ok(())
    }

    /// Takes the sum of a chunk of which nothing has come. The chunk is known and the sum has the model's length.
    pub(super) fn receive_partial(&mut self, chunk_idx: usize, partial: PartialSum) -> Result<(), Rejected> {
        let n_clients = self.chunk_len(chunk_idx) as u32;
        if partial.n_contributions() > n_clients {
            return Err(Rejected::ChunkSize { n_clients, got: partial.n_contributions() });
        }
        if !matches!(self.chunks[chunk_idx], Chunk::Empty) {
            return Err(Rejected::DuplicateChunk { chunk_idx });
        }
        self.n_contributions += partial.n_contributions();
        self.chunks[chunk_idx] = Chunk::Folded(partial);
        self.merge_complete();
        Ok(())
    }

    /// The sum of everything that has come. Nothing can be received until the inbox is cleared.
    pub(super) fn fold(&mut self) -> &PartialSum {
        for chunk_idx in self.n_merged..self.chunks.len() {
            self.fold_chunk(chunk_idx);
            if let Chunk::Folded(partial) = std::mem::replace(&mut self.chunks[chunk_idx], Chunk::Merged) {
                self.total.merge(&partial);
            }
        }
        self.n_merged = self.chunks.len();
        &self.total
    }

    /// Sums the messages of a chunk in slot order and drops them.
    fn fold_chunk(&mut self, chunk_idx: usize) {
        let Chunk::Waiting { payloads, n_received } = &self.chunks[chunk_idx] else { return };
        let mut partial = PartialSum::new(self.direction.len());
        for payload in payloads.iter().flatten() {
            partial.add_payload(payload, &self.rule, &mut self.direction);
        }
        self.n_waiting -= n_received;
        self.chunks[chunk_idx] = Chunk::Folded(partial);
    }

    /// Merges complete chunks as far as there is no gap.
    fn merge_complete(&mut self) {
        while let Some(Chunk::Folded(partial)) = self.chunks.get(self.n_merged) {
            self.total.merge(partial);
            self.chunks[self.n_merged] = Chunk::Merged;
            self.n_merged += 1;
        }
    }
}
