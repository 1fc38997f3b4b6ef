//! Steps are collected until there are enough, weighted by their staleness, and averaged: FedBuff.
//!
//! `NMZYHR22` Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba: *Federated Learning with Buffered Asynchronous
//! Aggregation*, AISTATS 2022, Algorithm 1; in its experiments a step of staleness tau weighs 1 / sqrt(1 + tau), here
//! (1 + tau)^-exponent.
//!
//! Deviation: the sum is divided by the weights, not by the size of the buffer. A buffer of equally stale steps then
//! moves the model by their mean, and a server rate means the same as in a synchronous round; by the paper's divisor
//! the rate would shrink with the number of clients. Steps also weigh their interactions, as in federated averaging.
//!
//! Deviation: a client has at most `rate_limit` steps in a buffer, so that fast clients do not crowd out slow ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Refused;
use crate::aggregate::{CHUNK, PartialSum, PayloadSemantics};
use crate::message::Payload;
use crate::rising_clients::RisingClients;
use crate::staleness::{MAX_EXPONENT, Staleness};
use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::parameter::{ParameterError, require};

/// Parameters of buffered aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Buffered {
    /// Messages that make a new version (K).
    pub buffer: u32,
    /// A message of staleness tau weighs (1 + tau) to the power of minus this; .5 in the paper, 0 for equal weights.
    pub staleness_exponent: f64,
    /// The most messages of one client in one buffer.
    pub rate_limit: u32,
    /// Messages that started more versions ago than this are refused.
    pub max_staleness: u32,
}

impl Buffered {
    pub(super) fn check(&self, n_clients: u32) -> Result<(), ParameterError> {
        let Self { buffer, staleness_exponent, rate_limit, .. } = *self;
        let is_exponent = (0.0..=MAX_EXPONENT).contains(&staleness_exponent);
        let fits = u64::from(buffer) <= u64::from(rate_limit) * u64::from(n_clients);
        require("buffer", f64::from(buffer), buffer > 0, "at least 1")
            .and(require("staleness_exponent", staleness_exponent, is_exponent, "0 to 10"))
            .and(require("rate_limit", f64::from(rate_limit), rate_limit > 0, "at least 1"))
            .and(require("buffer", f64::from(buffer), fits, "at most rate_limit times the number of clients"))
    }

    fn weight(&self, staleness: u32) -> f64 {
        Staleness { most: self.max_staleness, exponent: self.staleness_exponent }.scale(staleness)
    }
}

/// The messages since the last version.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    settings: Buffered,
    rule: PayloadSemantics,
    /// Sum of the complete chunks of [`CHUNK`] messages: the order of additions of a synchronous round.
    total: PartialSum,
    chunk: PartialSum,
    single: PartialSum,
    /// How many messages of each client are in the buffer.
    from_client: BTreeMap<u32, u32>,
    direction: Vec<f32>,
}

impl Buffer {
    pub(super) fn new(settings: Buffered, rule: PayloadSemantics, n_params: usize) -> Self {
        let empty = PartialSum::new(n_params);
        let direction = vec![0.0; n_params];
        let from_client = BTreeMap::new();
        Self { settings, rule, total: empty.clone(), chunk: empty.clone(), single: empty, from_client, direction }
    }

    pub(super) fn save(&self, out: &mut Writer) {
        self.total.save(out);
        self.chunk.save(out);
        out.len(self.from_client.len());
        for (client, n_messages) in &self.from_client {
            out.u32(*client).u32(*n_messages);
        }
    }

    pub(super) fn load(&mut self, input: &mut Reader<'_>, n_enrolled: u32) -> Result<(), BytesError> {
        let n_params = self.direction.len();
        (self.total, self.chunk) = (PartialSum::load(input, n_params)?, PartialSum::load(input, n_params)?);
        let (n_clients, mut clients) = (input.len(8)?, RisingClients::new(n_enrolled));
        let read = |_| Ok((clients.read(input)?, input.u32()?));
        self.from_client = (0..n_clients).map(read).collect::<Result<_, _>>()?;
        let limit = self.settings.rate_limit;
        let are_within = self.from_client.values().all(|n| (1..=limit).contains(n));
        input.require(are_within, "a client with more messages than it may have")?;
        let n_messages: u64 = self.from_client.values().map(|&n| u64::from(n)).sum();
        let n_summed = u64::from(self.total.n_contributions()) + u64::from(self.chunk.n_contributions());
        let fits = n_messages == n_summed && n_messages < u64::from(self.settings.buffer);
        input.require(fits, "a buffer that does not add up")
    }

    /// Adds a checked payload; the step of the buffer if it is full now, which empties it.
    pub(super) fn add(&mut self, client: u32, staleness: u32, payload: &Payload) -> Result<Option<Vec<f64>>, Refused> {
        let limit = self.settings.rate_limit;
        let n_already = self.from_client.entry(client).or_default();
        if *n_already >= limit {
            return Err(Refused::RateLimit { client, limit });
        }
        *n_already += 1;
        self.single.clear();
        self.single.add_payload(payload, &self.rule, 1.0, &mut self.direction);
        self.single.scale(self.settings.weight(staleness));
        self.chunk.merge(&self.single);
        let n_held = self.total.n_contributions() + self.chunk.n_contributions();
        let is_full = n_held >= self.settings.buffer;
        if is_full || self.chunk.n_contributions() as usize == CHUNK {
            self.total.merge(&self.chunk);
            self.chunk.clear();
        }
        if !is_full {
            return Ok(None);
        }
        let step = self.total.step(&self.rule);
        self.clear();
        Ok(step)
    }

    /// Drops what was collected.
    pub(super) fn clear(&mut self) {
        self.total.clear();
        self.chunk.clear();
        self.from_client.clear();
    }
}
