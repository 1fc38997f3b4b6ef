//! Additive: a device's ranker is the sum of a shared model, the model of its cluster, and an offset of its own.
//!
//! All three parts have the same gradient, so one list and one PDGD step serve them all: the server averages the steps of
//! all clients into the shared model and those of a cluster's clients into that cluster's offset, and the device adds a
//! share of its own step to its own offset, of which a share is forgotten in every round. A client that is like the others
//! is served by what all have learnt; one that is not grows its own part. For networks parameters are added, not scores.
//!
//! The idea of shared and own parts is that of multi-task learning (`EP04` Evgeniou, Pontil: *Regularized Multi-Task
//! Learning*, KDD 2004, Eq. 3); clusters are chosen as in [`super::clusters`], by the models without the own part.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::clusters::{Choice, prefer_any};
use super::{Destination, MAX_CLUSTERS, PersonalMethod, best, check_memory};
use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, OwnRanker};
use crate::parameter::{ParameterError, require};
use crate::params::{Params, Shape};
use crate::query::Impression;

/// The sum of a shared model, the model of a cluster, and the device's own. State: the device's own part, then the evidence
/// for each cluster, if there are clusters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Additive {
    /// How many clusters; 1 for none.
    pub n_clusters: usize,
    /// What an interaction counts in the choice of the cluster after one more interaction; from 0 to below 1.
    pub memory: f64,
    /// Share of a round's step that the device's own part takes.
    pub own_rate: f64,
    /// Share of the device's own part that is forgotten in a round.
    pub own_decay: f64,
}

#[derive(Debug)]
pub struct AdditiveScratch {
    choice: Option<Choice>,
    /// Where the round began.
    start: Params,
    local: Params,
}

fn add(sum: &mut [f32], part: &[f32]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

/// The global model, that of the cluster with the most evidence, and the device's own part, summed.
fn summed(models: Models<'_>, state: &[f32]) -> Params {
    let (own, evidence) = state.split_at(models.global.len());
    let mut sum = models.global.to_vec();
    if !evidence.is_empty() {
        add(&mut sum, &models.clusters[best(evidence)]);
    }
    add(&mut sum, own);
    sum
}

impl PersonalMethod for Additive {
    type Scratch = AdditiveScratch;

    fn check(&self) -> Result<(), ParameterError> {
        check_memory(self.memory)?;
        let is_sound = (1..=MAX_CLUSTERS).contains(&self.n_clusters);
        require("n_clusters", self.n_clusters as f64, is_sound, "1 (no clusters) to 64")?;
        require("own_rate", self.own_rate, self.own_rate >= 0.0, "0 or a positive number")?;
        require("own_decay", self.own_decay, (0.0..=1.0).contains(&self.own_decay), "0 to 1")
    }

    fn destination(&self) -> Destination {
        if self.n_clusters > 1 { Destination::GlobalAndCluster } else { Destination::Global }
    }

    fn n_clusters(&self) -> usize {
        if self.n_clusters > 1 { self.n_clusters } else { 0 }
    }

    fn scratch(&self, shape: Shape, _settings: PdgdSettings) -> AdditiveScratch {
        let choice = (self.n_clusters > 1).then(|| Choice::new(shape, self.n_clusters, self.memory as f32));
        AdditiveScratch { choice, start: Params::new(), local: vec![0.0; shape.n_params()] }
    }

    fn state_len(&self, shape: Shape) -> usize {
        shape.n_params() + PersonalMethod::n_clusters(self)
    }

    fn start(&self, _client: u32, initial: &[f32], private: &mut dyn Rng, state: &mut [f32]) {
        let (own, evidence) = state.split_at_mut(initial.len());
        own.fill(0.0);
        if !evidence.is_empty() {
            prefer_any(private, evidence);
        }
    }

    fn begin(&self, pdgd: &mut Pdgd, scratch: &mut AdditiveScratch, models: Models<'_>, state: &[f32]) {
        if let Some(choice) = &mut scratch.choice {
            let with_global = |offset: &Params| {
                let mut sum = models.global.to_vec();
                add(&mut sum, offset);
                sum
            };
            let sums: Vec<Params> = models.clusters.iter().map(with_global).collect();
            choice.enter(sums.iter(), &state[models.global.len()..]);
        }
        scratch.start = summed(models, state);
        pdgd.begin_from(&scratch.start, &scratch.start);
    }

    fn observe(&self, pdgd: &mut Pdgd, scratch: &mut AdditiveScratch, impression: &Impression<'_>) {
        if let Some(choice) = &mut scratch.choice {
            choice.weigh(pdgd, impression);
        }
        pdgd.observe(impression);
    }

    fn leave(&self, pdgd: &Pdgd, scratch: &mut AdditiveScratch, state: &mut [f32]) -> Option<usize> {
        let (own, evidence) = state.split_at_mut(scratch.local.len());
        pdgd.local_params(&mut scratch.local);
        let (rate, decay) = (self.own_rate as f32, self.own_decay as f32);
        for ((own, local), start) in own.iter_mut().zip(&scratch.local).zip(&scratch.start) {
            *own = (1.0 - decay) * *own + rate * (local - start);
        }
        scratch.choice.as_ref()?.leave(evidence)
    }

    fn save(&self, scratch: &AdditiveScratch, out: &mut Writer) {
        out.f32s(&scratch.start);
        if let Some(choice) = &scratch.choice {
            choice.save(out);
        }
    }

    fn restore(&self, scratch: &mut AdditiveScratch, input: &mut Reader<'_>) -> Result<(), BytesError> {
        scratch.start.resize(scratch.local.len(), 0.0);
        input.fill_f32s(&mut scratch.start)?;
        scratch.choice.as_mut().map_or(Ok(()), |choice| choice.restore(input))
    }

    fn own_ranker(&self, shape: Shape, models: Models<'_>, state: &[f32]) -> OwnRanker {
        OwnRanker { shape, params: summed(models, state) }
    }
}
