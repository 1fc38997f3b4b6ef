//! Ditto: a model of the device's own, pulled towards the shared one, which is trained as if there were no other.
//!
//! `LHBS21` Li, Hu, Beirami, Smith: *Ditto: Fair and Robust Federated Learning Through Personalization*, ICML 2021,
//! Algorithm 1.
//!
//! Deviation: a device has one stream of interactions, not a data set to go over twice. Its own model makes the lists and
//! learns from them by PDGD; the shared model learns from the same clicks (see
//! [`Preferences`](crate::learn::pdgd::Preferences)).

use super::shown::Shown;
use super::{Models, OwnRanker, PersonalLearner};
use crate::learn::pdgd::{Pdgd, PdgdSettings, Preferences};
use crate::learn::{OnlineLearner, Update};
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::rng::Stream;

/// State: the device's model.
#[derive(Clone, Debug)]
pub(super) struct Ditto {
    shape: Shape,
    rate: f32,
    pdgd: Pdgd,
    own: Params,
    /// The shared model as this client would have it.
    shared: Ranker,
    global: Params,
    delta: Params,
    shown: Shown,
    preferences: Preferences,
    n_interactions: u32,
}

impl Ditto {
    pub(super) fn new(shape: Shape, pdgd: PdgdSettings, pull: f32) -> Self {
        let zero = || vec![0.0; shape.n_params()];
        Self {
            shape,
            rate: pdgd.learning_rate,
            pdgd: Pdgd::new(shape, PdgdSettings { proximal: pull, ..pdgd }),
            own: zero(),
            shared: Ranker::new(shape),
            global: zero(),
            delta: zero(),
            shown: Shown::new(shape.n_features()),
            preferences: Preferences::default(),
            n_interactions: 0,
        }
    }
}

impl OnlineLearner for Ditto {
    fn begin(&mut self, global: &[f32], _public: &mut Stream) {
        self.pdgd.begin_from(&self.own, global);
        self.shared.load(global);
        self.global.copy_from_slice(global);
        self.n_interactions = 0;
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.n_interactions += 1;
        self.pdgd.preferences(impression.ranking, impression.clicks, &mut self.preferences);
        if !self.preferences.is_empty() {
            self.shown.copy(impression);
            let scores = self.shown.scores(&mut self.shared);
            self.shown.learn(&mut self.shared, &scores, &self.preferences, self.rate);
        }
        self.pdgd.observe(impression);
    }

    fn finish(&mut self) -> Update<'_> {
        self.shared.store(&mut self.delta);
        self.delta.iter_mut().zip(&self.global).for_each(|(delta, global)| *delta -= global);
        Update::Step { delta: &self.delta, n_interactions: self.n_interactions }
    }
}

impl PersonalLearner for Ditto {
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
