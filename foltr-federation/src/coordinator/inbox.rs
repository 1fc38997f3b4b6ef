//! The messages of an open round, folded chunk by chunk as soon as a chunk is complete.
//!
//! Whatever the order of arrival, a chunk is summed in slot order and chunks are merged in chunk order, which fixes
//! the bits of the sum. In order of arrival only one chunk of messages ever waits.

use std::collections::BTreeMap;
use std::ops::Range;

use foltr_rank::learn::evolution::fill_direction;

use crate::aggregate::{CHUNK, PartialSum, PayloadSemantics, evolution_coefficient};
use crate::coordinator::Rejected;
use crate::message::Payload;

#[derive(Clone, Debug)]
pub(super) struct Inbox {
    pub(super) rule: PayloadSemantics,
    n_clients: u32,
    /// Messages whose chunk is not complete, by client.
    pub(super) waiting: BTreeMap<u32, Payload>,
    /// Complete chunks behind one that is not.
    folded: BTreeMap<usize, PartialSum>,
    /// Sum of the chunks before `n_merged`.
    total: PartialSum,
    n_merged: usize,
    pub(super) n_contributions: u32,
    /// Scratch for regenerated perturbations.
    direction: Vec<f32>,
}

impl Inbox {
    pub(super) fn new(rule: PayloadSemantics, n_clients: u32, n_params: usize) -> Self {
        Self {
            rule,
            n_clients,
            waiting: BTreeMap::new(),
            folded: BTreeMap::new(),
            total: PartialSum::new(n_params),
            n_merged: 0,
            n_contributions: 0,
            direction: vec![0.0; n_params],
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.folded.clear();
        self.total.clear();
        (self.n_merged, self.n_contributions) = (0, 0);
    }

    /// Clients of a chunk; the last one may be shorter.
    fn clients(&self, chunk_idx: usize) -> Range<u32> {
        let first = (chunk_idx * CHUNK) as u32;
        first..self.n_clients.min(first.saturating_add(CHUNK as u32))
    }

    fn is_folded(&self, chunk_idx: usize) -> bool {
        chunk_idx < self.n_merged || self.folded.contains_key(&chunk_idx)
    }

    /// Refuses a payload that would move a sum by more than a length for every unit of its weight.
    pub(super) fn check_length(&mut self, client: u32, payload: &Payload, longest: f64) -> Result<(), Rejected> {
        match (payload, self.rule) {
            (Payload::Step { delta, .. } | Payload::Clipped { delta, .. }, _) => {
                Rejected::check_length(client, delta, longest)
            }
            (&Payload::Evolution { seed, plus, minus }, PayloadSemantics::Evolution { sigma, .. })
                if longest != f64::INFINITY =>
            {
                fill_direction(seed, &mut self.direction);
                let coefficient = evolution_coefficient(plus, minus, sigma).abs();
                // A coefficient of 0 bounds nothing.
                Rejected::check_length(client, &self.direction, longest / coefficient)
            }
            _ => Ok(()),
        }
    }

    /// Takes a checked payload of a known client.
    pub(super) fn receive(&mut self, client: u32, payload: Payload) -> Result<(), Rejected> {
        let chunk_idx = client as usize / CHUNK;
        if self.is_folded(chunk_idx) || self.waiting.contains_key(&client) {
            return Err(Rejected::Duplicate { client });
        }
        self.waiting.insert(client, payload);
        self.n_contributions += 1;
        let clients = self.clients(chunk_idx);
        if self.waiting.range(clients.clone()).count() == clients.len() {
            self.fold_chunk(chunk_idx);
            self.merge_complete();
        }
        Ok(())
    }

    /// Takes the sum of a chunk of which nothing has come. The chunk is known and the sum has the model's length.
    pub(super) fn receive_partial(&mut self, chunk_idx: usize, partial: PartialSum) -> Result<(), Rejected> {
        let clients = self.clients(chunk_idx);
        let n_clients = clients.len() as u32;
        if partial.n_contributions() > n_clients {
            return Err(Rejected::ChunkSize { n_clients, got: partial.n_contributions() });
        }
        if self.is_folded(chunk_idx) || self.waiting.range(clients).next().is_some() {
            return Err(Rejected::DuplicateChunk { chunk_idx });
        }
        self.n_contributions += partial.n_contributions();
        self.folded.insert(chunk_idx, partial);
        self.merge_complete();
        Ok(())
    }

    /// The sum of everything that has come. Nothing can be received until the inbox is cleared.
    pub(super) fn fold(&mut self) -> &PartialSum {
        while let Some((client, _)) = self.waiting.first_key_value() {
            self.fold_chunk(*client as usize / CHUNK);
        }
        for partial in std::mem::take(&mut self.folded).into_values() {
            self.total.merge(&partial);
        }
        self.n_merged = (self.n_clients as usize).div_ceil(CHUNK);
        &self.total
    }

    /// Sums the messages of a chunk in slot order and drops them.
    fn fold_chunk(&mut self, chunk_idx: usize) {
        let mut partial = PartialSum::new(self.direction.len());
        for client in self.clients(chunk_idx) {
            if let Some(payload) = self.waiting.remove(&client) {
                partial.add_payload(&payload, &self.rule, &mut self.direction);
            }
        }
        self.folded.insert(chunk_idx, partial);
    }

    /// Merges complete chunks as far as there is no gap.
    fn merge_complete(&mut self) {
        while let Some(partial) = self.folded.remove(&self.n_merged) {
            self.total.merge(&partial);
            self.n_merged += 1;
        }
    }
}
