//! Interpolation: a device mixes the scores of a model of its own with those of the shared one, and chooses the weight.
//!
//! `MMRS20` Mansour, Mohri, Ro, Suresh: *Three Approaches for Personalization with Applications to Federated Learning*,
//! arXiv:2002.10619, 2020, section 5 (model interpolation).
//!
//! Deviations: scores are mixed, not losses. Lists of a round come from the mixture with which the round began; both models
//! learn after every interaction. Both models learn from the clicks on lists of the mixture (see
//! [`Preferences`](crate::learn::pdgd::Preferences)). The weight is one of five, the one that gave the client's clicks the
//! highest likelihood before anybody had learnt from them.

use serde::{Deserialize, Serialize};

use super::shown::SharedModel;
use super::{PersonalMethod, best, check_memory};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, OwnRanker, Update};
use crate::parameter::ParameterError;
use crate::params::{Params, Shape};
use crate::query::{Impression, MAX_SHOWN, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::rng::Stream;

/// Weights of the own model that are tried; the first is taken as long as nothing speaks for another.
const WEIGHTS: [f32; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Scores of the device's own and of the shared model are mixed; the device chooses the weight by its own clicks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interpolation {
    /// What an interaction counts in the choice of the weight after one more interaction; from 0 to below 1.
    pub memory: f64,
}

impl PersonalMethod for Interpolation {
    type Learner = InterpolationLearner;

    fn example() -> Self {
        Self { memory: 0.99 }
    }

    fn check(&self) -> Result<(), ParameterError> {
        check_memory(self.memory)
    }

    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> InterpolationLearner {
        InterpolationLearner {
            shape,
            rate: pdgd.learning_rate,
            memory: self.memory as f32,
            mixed: Pdgd::new(mixed_shape(shape), pdgd),
            own: Ranker::new(shape),
            own_params: vec![0.0; shape.n_params()],
            shared: SharedModel::new(shape, pdgd.learning_rate),
            evidence: [0.0; WEIGHTS.len()],
        }
    }
}

/// State: the device's own model, then the evidence for each weight.
#[derive(Clone, Debug)]
pub struct InterpolationLearner {
    shape: Shape,
    rate: f32,
    memory: f32,
    /// Makes the lists; never learns itself.
    mixed: Pdgd,
    own: Ranker,
    own_params: Params,
    shared: SharedModel,
    evidence: [f32; WEIGHTS.len()],
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

impl OnlineLearner for InterpolationLearner {
    fn begin(&mut self, global: &[f32], public: &mut Stream) {
        self.shared.begin(global);
        self.own.load(&self.own_params);
        let mixture = mixture(self.shape, &self.own_params, global, WEIGHTS[best(&self.evidence)]);
        self.mixed.begin(&mixture, public);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut Stream, ranking: &mut Ranking) {
        self.mixed.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        if !self.shared.read(&mut self.mixed, impression) {
            return;
        }
        let (own, shared) = (self.shared.shown.scores(&mut self.own), self.shared.scores());
        for (evidence, weight) in self.evidence.iter_mut().zip(WEIGHTS) {
            let mut scores = [0.0; MAX_SHOWN];
            for ((score, own), shared) in scores.iter_mut().zip(own).zip(shared) {
                *score = weight * own + (1.0 - weight) * shared;
            }
            *evidence = self.memory * *evidence + self.shared.preferences.log_likelihood(&scores);
        }
        self.shared.shown.learn(&mut self.own, &own, &self.shared.preferences, self.rate);
        self.shared.learn(&shared);
    }

    fn finish(&mut self) -> Update<'_> {
        self.shared.finish()
    }

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

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> Option<OwnRanker> {
        let (own, evidence) = state.split_at(self.shape.n_params());
        let params = mixture(self.shape, own, models.global, WEIGHTS[best(evidence)]);
        Some(OwnRanker { shape: mixed_shape(self.shape), params })
    }
}
