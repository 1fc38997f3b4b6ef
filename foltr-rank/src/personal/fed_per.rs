//! FedPer: the hidden layer is shared, the output layer is the device's own.
//!
//! `ASSC19` Arivazhagan, Aggarwal, Singh, Choudhary: *Federated Learning with Personalization Layers*, arXiv:1912.00818,
//! 2019, Algorithm 1, as adapted by `W24`, section 4.3.3; spec section 11.
//!
//! Deviation: as in the thesis's code, a client also sends its output layer, and the server averages that too: it is used
//! by nobody, but makes the global ranker that the thesis evaluates. The code's shared arrays, through which a client
//! starts from what the one before it learnt, are not reproduced.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::PersonalMethod;
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OwnRanker};
use crate::params::{Params, Shape};

/// The output layer of a network is the device's own, the hidden layer is shared. State: the device's output layer. A
/// linear ranker is all output layer, and nothing of it is shared.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedPer {}

/// The shared layer of `global` with a device's output layer behind it.
fn joined(global: &[f32], own: &[f32]) -> Params {
    global[..global.len() - own.len()].iter().chain(own).copied().collect()
}

impl PersonalMethod for FedPer {
    /// The local model.
    type Scratch = Params;

    fn scratch(&self, shape: Shape, _settings: PdgdSettings) -> Params {
        vec![0.0; shape.n_params()]
    }

    fn state_len(&self, shape: Shape) -> usize {
        match shape {
            Shape::Linear { n_features } => n_features,
            Shape::Mlp { n_hidden, .. } => n_hidden,
        }
    }

    fn start(&self, _client: u32, initial: &[f32], _private: &mut dyn Rng, state: &mut [f32]) {
        state.copy_from_slice(&initial[initial.len() - state.len()..]);
    }

    fn begin(&self, pdgd: &mut Pdgd, _local: &mut Params, models: Models<'_>, state: &[f32]) {
        pdgd.begin_from(&joined(models.global, state), models.global);
    }

    fn leave(&self, pdgd: &Pdgd, local: &mut Params, state: &mut [f32]) -> Option<usize> {
        pdgd.local_params(local);
        state.copy_from_slice(&local[local.len() - state.len()..]);
        None
    }

    fn own_ranker(&self, shape: Shape, models: Models<'_>, state: &[f32]) -> OwnRanker {
        OwnRanker { shape, params: joined(models.global, state) }
    }
}
