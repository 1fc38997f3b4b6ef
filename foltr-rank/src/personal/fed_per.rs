//! FedPer: the hidden layer is shared, the output layer is the device's own.
//!
//! `ASSC19` Arivazhagan, Aggarwal, Singh, Choudhary: *Federated Learning with Personalization Layers*, arXiv:1912.00818,
//! 2019, Algorithm 1, as adapted by `W24`, section 4.3.3; spec section 11.
//!
//! Deviation: as in the thesis's code, a client also sends its output layer, and the server averages that too: it is used
//! by nobody, but makes the global ranker that the thesis evaluates. The code's shared arrays, through which a client
//! starts from what the one before it learnt, are not reproduced.

use serde::{Deserialize, Serialize};

use super::PersonalMethod;
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, OwnRanker, Update};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// The output layer of a network is the device's own, the hidden layer is shared.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedPer {}

impl PersonalMethod for FedPer {
    type Learner = FedPerLearner;

    fn example() -> Self {
        Self {}
    }

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> FedPerLearner {
        let own = vec![0.0; shape.n_params() - first_own(shape)];
        FedPerLearner { shape, pdgd: Pdgd::new(shape, pdgd), own, local: vec![0.0; shape.n_params()] }
    }
}

/// State: the device's output layer. A linear ranker is all output layer, and nothing of it is shared.
#[derive(Clone, Debug)]
pub struct FedPerLearner {
    shape: Shape,
    pdgd: Pdgd,
    own: Vec<f32>,
    local: Params,
}

/// Where the output layer begins.
const fn first_own(shape: Shape) -> usize {
    match shape {
        Shape::Linear { .. } => 0,
        Shape::Mlp { n_hidden, .. } => shape.n_params() - n_hidden,
    }
}

impl OnlineLearner for FedPerLearner {
    fn begin(&mut self, global: &[f32], _public: &mut Stream) {
        let (base, own) = self.local.split_at_mut(first_own(self.shape));
        base.copy_from_slice(&global[..base.len()]);
        own.copy_from_slice(&self.own);
        self.pdgd.begin_from(&self.local, global);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.pdgd.observe(impression);
    }

    fn finish(&mut self) -> Update<'_> {
        self.pdgd.finish()
    }

    fn state_len(&self) -> usize {
        self.own.len()
    }

    fn start(&self, _client: u32, initial: &[f32], _private: &mut Stream, state: &mut [f32]) {
        state.copy_from_slice(&initial[first_own(self.shape)..]);
    }

    fn enter(&mut self, _models: Models<'_>, state: &[f32]) {
        self.own.copy_from_slice(state);
    }

    fn leave(&mut self, state: &mut [f32]) -> Option<usize> {
        self.pdgd.local_params(&mut self.local);
        state.copy_from_slice(&self.local[first_own(self.shape)..]);
        None
    }

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> Option<OwnRanker> {
        let base = &models.global[..first_own(self.shape)];
        Some(OwnRanker { shape: self.shape, params: base.iter().chain(state).copied().collect() })
    }
}
