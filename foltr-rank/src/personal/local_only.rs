//! Every device learns alone: the other end of the scale from one model for all.

use super::{Models, OwnRanker, PersonalLearner};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{OnlineLearner, Update};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// State: the device's model.
#[derive(Clone, Debug)]
pub(super) struct LocalOnly {
    shape: Shape,
    pdgd: Pdgd,
    own: Params,
}

impl LocalOnly {
    pub(super) fn new(shape: Shape, pdgd: PdgdSettings) -> Self {
        Self { shape, pdgd: Pdgd::new(shape, pdgd), own: vec![0.0; shape.n_params()] }
    }
}

impl OnlineLearner for LocalOnly {
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
}

impl PersonalLearner for LocalOnly {
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

    fn own_ranker(&self, _models: Models<'_>, state: &[f32]) -> OwnRanker {
        OwnRanker { shape: self.shape, params: state.to_vec() }
    }
}
