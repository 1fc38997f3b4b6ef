//! Ditto: a model of the device's own, pulled towards the shared one, which is trained as if there were no other.
//!
//! `LHBS21` Li, Hu, Beirami, Smith: *Ditto: Fair and Robust Federated Learning Through Personalization*, ICML 2021,
//! Algorithm 1.
//!
//! Deviation: a device has one stream of interactions, not a data set to go over twice. Its own model makes the lists and
//! learns from them by PDGD; the shared model learns from the same clicks (see
//! [`Preferences`](crate::learn::pdgd::Preferences)).

use serde::{Deserialize, Serialize};

use super::PersonalMethod;
use super::shown::SharedModel;
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, OwnRanker, Update};
use crate::parameter::{ParameterError, require};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::rng::Stream;

/// A model of the device's own, pulled towards the shared one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ditto {
    /// Strength of the pull.
    pub pull: f64,
}

impl PersonalMethod for Ditto {
    type Learner = DittoLearner;

    fn example() -> Self {
        Self { pull: 0.01 }
    }

    fn check(&self) -> Result<(), ParameterError> {
        require("pull", self.pull, self.pull >= 0.0, "0 or a positive number")
    }

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> DittoLearner {
        DittoLearner {
            shape,
            pdgd: Pdgd::new(shape, PdgdSettings { proximal: self.pull as f32, ..pdgd }),
            own: vec![0.0; shape.n_params()],
            shared: SharedModel::new(shape, pdgd.learning_rate),
        }
    }
}

/// State: the device's model.
#[derive(Clone, Debug)]
pub struct DittoLearner {
    shape: Shape,
    pdgd: Pdgd,
    own: Params,
    shared: SharedModel,
}

impl OnlineLearner for DittoLearner {
    fn begin(&mut self, global: &[f32], _public: &mut Stream) {
        self.pdgd.begin_from(&self.own, global);
        self.shared.begin(global);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        if self.shared.read(&mut self.pdgd, impression) {
            let scores = self.shared.scores();
            self.shared.learn(&scores);
        }
        self.pdgd.observe(impression);
    }

    fn finish(&mut self) -> Update<'_> {
        self.shared.finish()
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
