//! Interpolation: a device mixes the scores of a model of its own with those of the shared one, and chooses the weight.
//!
//! `MMRS20` Mansour, Mohri, Ro, Suresh: *Three Approaches for Personalization with Applications to Federated Learning*,
//! arXiv:2002.10619, 2020, section 5 (model interpolation).
//!
//! Deviations: scores are mixed, not losses. Both models learn from the clicks on lists of the mixture (see
//! [`Preferences`]). The weight is one of five, the one that gave the client's clicks the
//! highest likelihood before anybody had learnt from them.

use super::shown::Shown;
use super::{Models, OwnRanker, PersonalLearner, best};
use crate::learn::pdgd::{Pdgd, PdgdSettings, Preferences};
use crate::learn::{OnlineLearner, Update};
use crate::params::{Params, Shape};
use crate::query::{Impression, MAX_SHOWN, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::rng::Stream;

/// Weights of the own model that are tried; the first is taken as long as nothing speaks for another.
const WEIGHTS: [f32; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// State: the device's own model, then the evidence for each weight.
#[derive(Clone, Debug)]
pub(super) struct Interpolation {
    shape: Shape,
    rate: f32,
    memory: f32,
    /// Makes the lists; never learns itself.
    mixed: Pdgd,
    own: Ranker,
    shared: Ranker,
    own_params: Params,
    global: Params,
    delta: Params,
    evidence: [f32; WEIGHTS.len()],
    preferences: Preferences,
    shown: Shown,
    n_interactions: u32,
}

impl Interpolation {
    pub(super) fn new(shape: Shape, pdgd: PdgdSettings, memory: f32) -> Self {
        let zero = || vec![0.0; shape.n_params()];
        Self {
            shape,
            rate: pdgd.learning_rate,
            memory,
            mixed: Pdgd::new(mixed_shape(shape), pdgd),
            own: Ranker::new(shape),
            shared: Ranker::new(shape),
            own_params: zero(),
            global: zero(),
            delta: zero(),
            evidence: [0.0; WEIGHTS.len()],
            preferences: Preferences::default(),
            shown: Shown::new(shape.n_features()),
            n_interactions: 0,
        }
    }
}

/// What scores of two rankers, mixed, are scores of: a network of both hidden layers.
const fn mixed_shape(shape: Shape) -> Shape {
    match shape {
        Shape::Linear { .. } => shape,
        Shape::Mlp { n_features, n_hidden, activation } => {
            Shape::Mlp { n_features, n_hidden: 2 * n_hidden, activation }
        }
    }
}

/// Parameters of the ranker whose scores are `weight` times those of `own` plus the rest times those of `shared`.
fn mixture(shape: Shape, own: &[f32], shared: &[f32], weight: f32) -> Params {
    let mix = |(own, shared): (&f32, &f32)| weight * own + (1.0 - weight) * shared;
    match shape {
        Shape::Linear { .. } => own.iter().zip(shared).map(mix).collect(),
        Shape::Mlp { n_hidden, .. } => {
            let mut params = Vec::with_capacity(2 * own.len());
            // The rows of W1 and b1 are one value a unit: those of both networks side by side; w2 is scaled.
            let n_inner = own.len() - n_hidden;
            for (own, shared) in own[..n_inner].chunks_exact(n_hidden).zip(shared.chunks_exact(n_hidden)) {
                params.extend_from_slice(own);
                params.extend_from_slice(shared);
            }
            params.extend(own[n_inner..].iter().map(|w2| weight * w2));
            params.extend(shared[n_inner..].iter().map(|w2| (1.0 - weight) * w2));
            params
        }
    }
}

impl OnlineLearner for Interpolation {
    fn begin(&mut self, global: &[f32], public: &mut Stream) {
        self.global.copy_from_slice(global);
        self.shared.load(global);
        self.own.load(&self.own_params);
        let mixture = mixture(self.shape, &self.own_params, global, WEIGHTS[best(&self.evidence)]);
        self.mixed.begin(&mixture, public);
        self.n_interactions = 0;
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.mixed.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.n_interactions += 1;
        self.mixed.preferences(impression.ranking, impression.clicks, &mut self.preferences);
        if self.preferences.is_empty() {
            return;
        }
        self.shown.copy(impression);
        let own = self.shown.scores(&mut self.own);
        let shared = self.shown.scores(&mut self.shared);
        for (evidence, weight) in self.evidence.iter_mut().zip(WEIGHTS) {
            let mut scores = [0.0; MAX_SHOWN];
            for ((score, own), shared) in scores.iter_mut().zip(own).zip(shared) {
                *score = weight * own + (1.0 - weight) * shared;
            }
            *evidence = self.memory * *evidence + self.preferences.log_likelihood(&scores);
        }
        self.shown.learn(&mut self.own, &own, &self.preferences, self.rate);
        self.shown.learn(&mut self.shared, &shared, &self.preferences, self.rate);
    }

    fn finish(&mut self) -> Update<'_> {
        self.shared.store(&mut self.delta);
        self.delta.iter_mut().zip(&self.global).for_each(|(delta, global)| *delta -= global);
        Update::Step { delta: &self.delta, n_interactions: self.n_interactions }
    }
}

impl PersonalLearner for Interpolation {
    fn state_len(&self) -> usize {
        self.shape.n_params() + WEIGHTS.len()
    }

    fn start(&self, _client: u32, initial: &[f32], _private: &mut Stream, state: &mut [f32]) {
        let (own, evidence) = state.split_at_mut(self.shape.n_params());
        own.copy_from_slice(initial);
        evidence.fill(0.0);
    }

    fn enter(&mut self, _models: Models<'_>, state: &[f32]) {
        let (own, evidence) = state.split_at(self.shape.n_params());
        self.own_params.copy_from_slice(own);
        self.evidence.copy_from_slice(evidence);
    }

    fn leave(&mut self, state: &mut [f32]) -> Option<usize> {
        let (own, evidence) = state.split_at_mut(self.shape.n_params());
        self.own.store(own);
        evidence.copy_from_slice(&self.evidence);
        None
    }

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> OwnRanker {
        let (own, evidence) = state.split_at(self.shape.n_params());
        let params = mixture(self.shape, own, models.global, WEIGHTS[best(evidence)]);
        OwnRanker { shape: mixed_shape(self.shape), params }
    }
}
