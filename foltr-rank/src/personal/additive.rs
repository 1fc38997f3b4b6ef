//! Additive: a device's ranker is the sum of a shared model, the model of its cluster, and an offset of its own.
//!
//! All three parts have the same gradient, so one list and one PDGD step serve them all: the server averages the steps of
//! all clients into the shared model and those of a cluster's clients into that cluster's offset, and the device adds a
//! share of its own step to its own offset, of which a share is forgotten in every round. A client that is like the others
//! is served by what all have learnt; one that is not grows its own part. For networks parameters are added, not scores.
//!
//! The idea of shared and own parts is that of multi-task learning (`EP04` Evgeniou, Pontil: *Regularized Multi-Task
//! Learning*, KDD 2004, Eq. 3); clusters are chosen as in [`super::clusters`], by the models without the own part.

use serde::{Deserialize, Serialize};

use super::clusters::Choice;
use super::{Destination, MAX_CLUSTERS, PersonalMethod, best, check_memory};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, OwnRanker, Update};
use crate::parameter::{ParameterError, require};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// The sum of a shared model, the model of a cluster, and the device's own.
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

impl PersonalMethod for Additive {
    type Learner = AdditiveLearner;

    const ADDS_CLUSTERS: bool = true;

    fn example() -> Self {
        Self { n_clusters: 3, memory: 0.99, own_rate: 0.5, own_decay: 0.01 }
    }

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

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> AdditiveLearner {
        let zero = || vec![0.0; shape.n_params()];
        AdditiveLearner {
            shape,
            own_rate: self.own_rate as f32,
            own_decay: self.own_decay as f32,
            pdgd: Pdgd::new(shape, pdgd),
            choice: (self.n_clusters > 1).then(|| Choice::new(shape, self.n_clusters, self.memory as f32)),
            chosen: 0,
            start: zero(),
            scratch: zero(),
        }
    }
}

/// State: the device's own part, then the evidence for each cluster, if there are clusters.
#[derive(Clone, Debug)]
pub struct AdditiveLearner {
    shape: Shape,
    own_rate: f32,
    own_decay: f32,
    pdgd: Pdgd,
    choice: Option<Choice>,
    chosen: usize,
    /// Where the round began.
    start: Params,
    scratch: Params,
}

fn add(sum: &mut [f32], part: &[f32]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

impl OnlineLearner for AdditiveLearner {
    fn begin(&mut self, _global: &[f32], public: &mut Stream) {
        self.pdgd.begin(&self.start, public);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        if let Some(choice) = &mut self.choice {
            choice.weigh(&mut self.pdgd, impression);
        }
        self.pdgd.observe(impression);
    }

    fn finish(&mut self) -> Update<'_> {
        self.pdgd.finish()
    }

    fn state_len(&self) -> usize {
        self.shape.n_params() + self.choice.as_ref().map_or(0, Choice::n_clusters)
    }

    fn start(&self, _client: u32, _initial: &[f32], private: &mut Stream, state: &mut [f32]) {
        let (own, evidence) = state.split_at_mut(self.shape.n_params());
        own.fill(0.0);
        if let Some(choice) = &self.choice {
            choice.start(private, evidence);
        }
    }

    fn enter(&mut self, models: Models<'_>, state: &[f32]) {
        let (own, evidence) = state.split_at(self.shape.n_params());
        self.start.copy_from_slice(models.global);
        if let Some(choice) = &mut self.choice {
            choice.enter(evidence);
            for (cluster, offset) in models.clusters.iter().enumerate() {
                self.scratch.copy_from_slice(models.global);
                add(&mut self.scratch, offset);
                choice.load(cluster, &self.scratch);
            }
            self.chosen = best(evidence);
            add(&mut self.start, &models.clusters[self.chosen]);
        }
        add(&mut self.start, own);
    }

    fn leave(&mut self, state: &mut [f32]) -> Option<usize> {
        let (own, evidence) = state.split_at_mut(self.shape.n_params());
        self.pdgd.local_params(&mut self.scratch);
        for ((own, local), start) in own.iter_mut().zip(&self.scratch).zip(&self.start) {
            *own = (1.0 - self.own_decay) * *own + self.own_rate * (local - start);
        }
        let choice = self.choice.as_ref()?;
        choice.leave(evidence);
        Some(self.chosen)
    }

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> Option<OwnRanker> {
        let (own, evidence) = state.split_at(self.shape.n_params());
        let mut params = models.global.to_vec();
        if self.choice.is_some() {
            add(&mut params, &models.clusters[best(evidence)]);
        }
        add(&mut params, own);
        Some(OwnRanker { shape: self.shape, params })
    }
}
