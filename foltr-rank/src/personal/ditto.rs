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
use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{Models, OnlineLearner, Update};
use crate::parameter::{ParameterError, require};
use crate::params::Shape;
use crate::query::Impression;

/// A model of the device's own, pulled towards the shared one. State: the device's model.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ditto {
    /// Strength of the pull.
    pub pull: f64,
}

impl PersonalMethod for Ditto {
    type Scratch = SharedModel;

    fn check(&self) -> Result<(), ParameterError> {
        require("pull", self.pull, self.pull >= 0.0, "0 or a positive number")
    }

    fn pdgd(&self, shape: Shape, settings: PdgdSettings) -> Pdgd {
        Pdgd::new(shape, PdgdSettings { proximal: self.pull as f32, ..settings })
    }

    fn scratch(&self, shape: Shape, settings: PdgdSettings) -> SharedModel {
        SharedModel::new(shape, settings.learning_rate)
    }

    fn begin(&self, pdgd: &mut Pdgd, shared: &mut SharedModel, models: Models<'_>, state: &[f32]) {
        pdgd.begin_from(state, models.global);
        shared.begin(models.global);
    }

    fn observe(&self, pdgd: &mut Pdgd, shared: &mut SharedModel, impression: &Impression<'_>) {
        if shared.read(pdgd, impression) {
            let scores = shared.scores();
            shared.learn(&scores);
        }
        pdgd.observe(impression);
    }

    fn finish<'a>(&self, _pdgd: &'a mut Pdgd, shared: &'a mut SharedModel) -> Update<'a> {
        shared.finish()
    }

    fn n_interactions(&self, _: &Pdgd, shared: &SharedModel) -> u32 {
        shared.n_interactions
    }

    fn save(&self, shared: &SharedModel, out: &mut Writer) {
        shared.save(out);
    }

    fn restore(&self, shared: &mut SharedModel, input: &mut Reader<'_>) -> Result<(), BytesError> {
        shared.restore(input)
    }
}
