//! The messages of an open round, folded when it is closed.
//!
//! Whatever the order of arrival, messages are summed in the order of the clients' numbers, in chunks of those present,
//! and chunks are merged in their order: that fixes the bits of the sum. A simulation, which knows who will come, hands
//! over the sums of such chunks instead.

use std::collections::BTreeMap;

use foltr_rank::learn::evolution::fill_direction;

use crate::aggregate::{CHUNK, PartialSum, PayloadSemantics, evolution_coefficient};
use crate::coordinator::Rejected;
use crate::message::Payload;

#[derive(Clone, Debug)]
pub(super) struct Inbox {
    pub(super) rule: PayloadSemantics,
    /// By client, with how much a stale reward counts.
    messages: BTreeMap<u32, (Payload, f64)>,
    /// Sum of the chunks that came as sums.
    total: PartialSum,
    n_chunks: usize,
    direction: Vec<f32>,
}

impl Inbox {
    pub(super) fn new(rule: PayloadSemantics, n_params: usize) -> Self {
        Self {
            rule,
            messages: BTreeMap::new(),
            total: PartialSum::new(n_params),
            n_chunks: 0,
            direction: vec![0.0; n_params],
        }
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.total.clear();
        self.n_chunks = 0;
    }

    pub(super) fn n_contributions(&self) -> u32 {
        self.total.n_contributions() + self.messages.len() as u32
    }

    pub(super) fn n_messages(&self) -> usize {
        self.messages.len()
    }

    /// Refuses a payload that would move a sum by more than a length for every unit of its weight, or that is beyond the
    /// bound of integers.
    pub(super) fn check(&self, client: u32, payload: &Payload, longest: f64) -> Result<(), Rejected> {
        if self.n_chunks > 0 {
            return Err(Rejected::SumsAndMessages);
        }
        match (payload, self.rule) {
            (Payload::Step { delta, .. } | Payload::Clipped { delta, .. }, rule) => {
                rule.check_bound(delta).map_err(|length| Rejected::BeyondClipNorm { client, length })?;
                Rejected::check_length(client, delta, longest)
            }
            (&Payload::Evolution { seed, plus, minus }, PayloadSemantics::Evolution { sigma, .. })
                if longest != f64::INFINITY =>
            {
                let mut direction = vec![0.0; self.direction.len()];
                fill_direction(seed, &mut direction);
                let coefficient = evolution_coefficient(plus, minus, sigma).abs();
                // A coefficient of 0 bounds nothing.
                Rejected::check_length(client, &direction, longest / coefficient)
            }
            _ => Ok(()),
        }
    }

    /// Whose messages have come, in rising order.
    pub(super) fn clients(&self) -> impl Iterator<Item = u32> {
        self.messages.keys().copied()
    }

    /// The messages that are steps, in client order, with their weights.
    pub(super) fn steps(&self) -> impl Iterator<Item = (u32, f64, &[f32])> {
        self.messages.iter().filter_map(|(&client, (payload, _))| match payload {
            Payload::Step { n_interactions, delta } => Some((client, f64::from(*n_interactions), delta.as_slice())),
            _ => None,
        })
    }

    /// Takes a checked payload of a known client.
    pub(super) fn receive(&mut self, client: u32, payload: Payload, scale: f64, longest: f64) -> Result<(), Rejected> {
        if self.messages.contains_key(&client) {
            return Err(Rejected::Duplicate { client });
        }
        self.check(client, &payload, longest)?;
        self.messages.insert(client, (payload, scale));
        Ok(())
    }

    /// Takes the sum of the next chunk. The sum has the model's length.
    pub(super) fn receive_partial(&mut self, chunk_idx: usize, partial: &PartialSum) -> Result<(), Rejected> {
        if !self.messages.is_empty() {
            return Err(Rejected::SumsAndMessages);
        }
        if chunk_idx != self.n_chunks {
            return Err(Rejected::ChunkOrder { expected: self.n_chunks, got: chunk_idx });
        }
        if partial.n_contributions() as usize > CHUNK {
            return Err(Rejected::ChunkSize { got: partial.n_contributions() });
        }
        self.total.merge(partial);
        self.n_chunks += 1;
        Ok(())
    }

    /// The sum of everything that has come. The inbox is to be cleared afterwards.
    pub(super) fn fold(&mut self) -> &PartialSum {
        let mut messages = std::mem::take(&mut self.messages).into_values().peekable();
        let mut chunk = PartialSum::new(self.direction.len());
        while messages.peek().is_some() {
            chunk.clear();
            for (payload, scale) in messages.by_ref().take(CHUNK) {
                chunk.add_payload(&payload, &self.rule, scale, &mut self.direction);
            }
            self.total.merge(&chunk);
        }
        &self.total
    }
}
