//! Every client's model is mixed into the global one at once: what buffered aggregation replaces.
//!
//! The rule of the AOL4FOLTR data set's asynchronous baseline (spec section 18): theta becomes
//! (1 - w) theta + w theta_c with w = 1 / (staleness + 1), where staleness is in rounds since that client's last update,
//! counted from 1: w = 1/2 at most. Its released code calls every single update a round (`updates_per_round` = 1); where
//! clients are counted on once a round, a round has as many updates as there are clients.
//!
//! theta_c is the model that the client started from plus its step, so the mixture pulls the global model back towards
//! an old version of itself: theta_c - theta = (base - theta) + step. A message carries the step only; the server keeps
//! the versions that a message may start from, `max_staleness` + 1 of them and no more.
//!
//! Deviations: staleness is counted from the version that the client started with, which it received after its last update
//! unless a message was lost or refused in between. w (theta_c - theta) is handed to the server optimiser as a step; a
//! learning rate of 1 is the rule above.

use std::collections::VecDeque;

use foltr_rank::Params;
use serde::{Deserialize, Serialize};

use crate::message::Payload;
use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::parameter::{ParameterError, require};

/// Parameters of naive asynchronous averaging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Naive {
    /// Updates that are a round, in which staleness is counted.
    pub updates_per_round: u32,
    /// Messages that started more versions ago than this are refused. So many old models are stored.
    pub max_staleness: u32,
}

impl Naive {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let n = self.updates_per_round;
        require("updates_per_round", f64::from(n), n > 0, "at least 1")
    }
}

/// Published models, the newest first.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    n_stored: usize,
    updates_per_round: u32,
    pub(super) published: VecDeque<Params>,
}

impl Versions {
    pub(super) fn new(naive: Naive, initial: &[f32]) -> Self {
        Self {
            n_stored: naive.max_staleness as usize + 1,
            updates_per_round: naive.updates_per_round,
            published: VecDeque::from([initial.to_vec()]),
        }
    }

    pub(super) fn save(&self, out: &mut Writer) {
        out.len(self.published.len());
        self.published.iter().for_each(|version| {
            out.f32s(version);
        });
    }

    pub(super) fn load(&mut self, input: &mut Reader<'_>, n_params: usize, newest: u32) -> Result<(), BytesError> {
        let (n_versions, n_published) = (input.len(4)?, newest as usize + 1);
        input.require(n_versions == n_published.min(self.n_stored), "more or fewer versions than are stored")?;
        self.published = (0..n_versions).map(|_| input.f32s(n_params)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Remembers a new version; the memory of the oldest is used for it when there are enough.
    pub(super) fn publish(&mut self, global: &[f32]) {
        let mut version = if self.published.len() == self.n_stored { self.published.pop_back() } else { None }
            .unwrap_or_else(|| Vec::with_capacity(global.len()));
        version.clear();
        version.extend_from_slice(global);
        self.published.push_front(version);
    }

    /// w (theta_c - theta) of a checked payload whose staleness, from 0, is within the limit.
    pub(super) fn step(&self, staleness: u32, payload: &Payload, master: &[f64]) -> Vec<f64> {
        let Payload::Step { delta, .. } = payload else {
            panic!("a checked payload is a step, not {:?}", payload.kind())
        };
        let base = &self.published[staleness as usize];
        // Staleness s counted from 1 weighs 1 / (s + 1).
        let weight = 1.0 / (f64::from(staleness / self.updates_per_round) + 2.0);
        let of_client = base.iter().zip(delta).map(|(&base, &delta)| f64::from(base) + f64::from(delta));
        of_client.zip(master).map(|(own, &global)| weight * (own - global)).collect()
    }
}
