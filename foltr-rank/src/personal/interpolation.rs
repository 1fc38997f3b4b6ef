//! Interpolation: a device mixes the scores of a model of its own with those of the shared one, and chooses the weight.
//!
//! `MMRS20` Mansour, Mohri, Ro, Suresh: *Three Approaches for Personalization with Applications to Federated Learning*,
//! arXiv:2002.10619, 2020, section 5 (model interpolation).
//!
//! Deviations: scores are mixed, not losses. Lists of a round come from the mixture with which the round began; both models
//! learn after every interaction. Both models learn from the clicks on lists of the mixture (see
//! [`Preferences`](crate::learn::pdgd::Preferences)). The weight is one of five, the one that gave the client's clicks the
//! highest likelihood before anybody had learnt from them.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::shown::SharedModel;
use super::{PersonalMethod, best, check_memory};
use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OwnRanker, Update};
use crate::parameter::ParameterError;
use crate::params::{Params, Shape};
use crate::query::{Impression, MAX_SHOWN};
use crate::ranker::Ranker;

/// Weights of the own model that are tried; the first is taken as long as nothing speaks for another.
const WEIGHTS: [f32; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Scores of the device's own and of the shared model are mixed; the device chooses the weight by its own clicks. State: the
/// device's own model, then the evidence for each weight.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interpolation {
    /// What an interaction counts in the choice of the weight after one more interaction; from 0 to below 1.
    pub memory: f64,
}

/// Both models; the mixture makes the lists and never learns itself.
#[derive(Debug)]
pub struct BothModels {
    shape: Shape,
    rate: f32,
    own: Ranker,
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

fn parts(state: &[f32]) -> (&[f32], &[f32]) {
    state.split_at(state.len() - WEIGHTS.len())
}

impl PersonalMethod for Interpolation {
    type Scratch = BothModels;

    fn check(&self) -> Result<(), ParameterError> {
        check_memory(self.memory)
    }

    fn pdgd(&self, shape: Shape, settings: PdgdSettings) -> Pdgd {
        Pdgd::new(mixed_shape(shape), settings)
    }

    fn scratch(&self, shape: Shape, settings: PdgdSettings) -> BothModels {
        let rate = settings.learning_rate;
        let (own, shared) = (Ranker::new(shape), SharedModel::new(shape, rate));
        BothModels { shape, rate, own, shared, evidence: [0.0; WEIGHTS.len()] }
    }

    fn state_len(&self, shape: Shape) -> usize {
        shape.n_params() + WEIGHTS.len()
    }

    fn start(&self, _client: u32, initial: &[f32], _private: &mut dyn Rng, state: &mut [f32]) {
        let (own, evidence) = state.split_at_mut(initial.len());
        own.copy_from_slice(initial);
        evidence.fill(0.0);
    }

    fn begin(&self, pdgd: &mut Pdgd, both: &mut BothModels, models: Models<'_>, state: &[f32]) {
        let (own, evidence) = parts(state);
        both.shared.begin(models.global);
        both.own.load(own);
        both.evidence.copy_from_slice(evidence);
        let mixture = mixture(both.shape, own, models.global, WEIGHTS[best(evidence)]);
        pdgd.begin_from(&mixture, &mixture);
    }

    fn observe(&self, pdgd: &mut Pdgd, both: &mut BothModels, impression: &Impression<'_>) {
        let BothModels { rate, own: own_model, shared, evidence, .. } = both;
        if !shared.read(pdgd, impression) {
            return;
        }
        let (own_scores, shared_scores) = (shared.shown.scores(own_model), shared.scores());
        for (evidence, weight) in evidence.iter_mut().zip(WEIGHTS) {
            let mut scores = [0.0; MAX_SHOWN];
            for ((score, own), shared) in scores.iter_mut().zip(own_scores).zip(shared_scores) {
                *score = weight * own + (1.0 - weight) * shared;
            }
            *evidence = self.memory as f32 * *evidence + shared.preferences.log_likelihood(&scores);
        }
        shared.shown.learn(own_model, &own_scores, &shared.preferences, *rate);
        shared.learn(&shared_scores);
    }

    fn finish<'a>(&self, _pdgd: &'a mut Pdgd, both: &'a mut BothModels) -> Update<'a> {
        both.shared.finish()
    }

    fn leave(&self, _pdgd: &Pdgd, both: &mut BothModels, state: &mut [f32]) -> Option<usize> {
        let (own, evidence) = state.split_at_mut(state.len() - WEIGHTS.len());
        both.own.store(own);
        evidence.copy_from_slice(&both.evidence);
        None
    }

    fn n_interactions(&self, _: &Pdgd, both: &BothModels) -> u32 {
        both.shared.n_interactions
    }

    fn save(&self, both: &BothModels, out: &mut Writer) {
        both.own.write(out);
        both.shared.save(out);
        out.f32s(&both.evidence);
    }

    fn restore(&self, both: &mut BothModels, input: &mut Reader<'_>) -> Result<(), BytesError> {
        both.own.read(input)?;
        both.shared.restore(input)?;
        input.fill_f32s(&mut both.evidence)
    }

    fn own_ranker(&self, shape: Shape, models: Models<'_>, state: &[f32]) -> OwnRanker {
        let (own, evidence) = parts(state);
        OwnRanker { shape: mixed_shape(shape), params: mixture(shape, own, models.global, WEIGHTS[best(evidence)]) }
    }
}
