//! Every device learns alone: the other end of the scale from one model for all.

use serde::{Deserialize, Serialize};

use super::{Destination, PersonalMethod};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, OwnRanker, Update};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// Every device learns alone and sends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalOnly {}

impl PersonalMethod for LocalOnly {
    type Learner = LocalOnlyLearner;

    fn example() -> Self {
        Self {}
    }

    fn destination(&self) -> Destination {
        Destination::Nobody
    }

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> LocalOnlyLearner {
        LocalOnlyLearner { shape, pdgd: Pdgd::new(shape, pdgd), own: vec![0.0; shape.n_params()] }
    }
}

/// State: the device's model.
#[derive(Clone, Debug)]
pub struct LocalOnlyLearner {
    shape: Shape,
    pdgd: Pdgd,
    own: Params,
}

impl OnlineLearner for LocalOnlyLearner {
    fn begin(&mut self, _global: &[f32], _public: &mut Stream) {
        self.pdgd.begin_from(&self.own, &self.own);
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
        self.shape.n_params()
    }

    fn start(&self, _client: u32, initial: &[f32], _private: &mut Stream, state: &mut [f32]) {
        state.copy_from_slice(initial);
    }

    fn enter(&mut self, _models: Models<'_>, state: &[f32]) {
        self.own.copy_from_slice(state);
    }

    fn leave(&mut self, state: &mut [f32]) -> Option<usize> {
        self.pdgd.local_params(state);
        None
    }

    fn own_ranker(&self, _models: Models<'_>, state: &[f32]) -> Option<OwnRanker> {
        Some(OwnRanker { shape: self.shape, params: state.to_vec() })
    }
}
