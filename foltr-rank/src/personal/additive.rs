//! Additive: a device's ranker is the sum of a shared model, the model of its cluster, and an offset of its own.
//!
//! All three parts have the same gradient, so one list and one PDGD step serve them all: the server averages the steps of
//! all clients into the shared model and those of a cluster's clients into that cluster's offset, and the device adds a
//! share of its own step to its own offset, of which a share is forgotten in every round. A client that is like the others
//! is served by what all have learnt; one that is not grows its own part. For networks parameters are added, not scores.
//!
//! The idea of shared and own parts is that of multi-task learning (`EP04` Evgeniou, Pontil: *Regularized Multi-Task
//! Learning*, KDD 2004, Eq. 3); clusters are chosen as in [`super::clusters`], by the models without the own part.

use super::clusters::Choice;
use super::{Models, OwnRanker, PersonalLearner, best};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{OnlineLearner, Update};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// How the device's own part learns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Share of a round's step.
    pub(super) rate: f32,
    /// Share that is forgotten in a round.
    pub(super) decay: f32,
}

/// State: the device's own part, then the evidence for each cluster, if there are clusters.
#[derive(Clone, Debug)]
pub(super) struct Additive {
    shape: Shape,
    own: Own,
    pdgd: Pdgd,
    choice: Option<Choice>,
    chosen: usize,
    /// Where the round began.
    start: Params,
    scratch: Params,
}

impl Additive {
    pub(super) fn new(shape: Shape, pdgd: PdgdSettings, n_clusters: usize, memory: f32, own: Own) -> Self {
        let zero = || vec![0.0; shape.n_params()];
        let choice = (n_clusters > 1).then(|| Choice::new(shape, n_clusters, memory));
        Self { shape, own, pdgd: Pdgd::new(shape, pdgd), choice, chosen: 0, start: zero(), scratch: zero() }
    }
}

fn add(sum: &mut [f32], part: &[f32]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

impl OnlineLearner for Additive {
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
}

impl PersonalLearner for Additive {
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
            *own = (1.0 - self.own.decay) * *own + self.own.rate * (local - start);
        }
        let choice = self.choice.as_ref()?;
        choice.leave(evidence);
        Some(self.chosen)
    }

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> OwnRanker {
        let (own, evidence) = state.split_at(self.shape.n_params());
        let mut params = models.global.to_vec();
        if self.choice.is_some() {
            add(&mut params, &models.clusters[best(evidence)]);
        }
        add(&mut params, own);
        OwnRanker { shape: self.shape, params }
    }
}
