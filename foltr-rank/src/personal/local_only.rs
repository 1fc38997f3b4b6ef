//! Every device learns alone: the other end of the scale from one model for all.

use serde::{Deserialize, Serialize};

use super::{Destination, PersonalMethod};
use crate::learn::Models;
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::params::Shape;

/// Every device learns alone and sends nothing. State: the device's model.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalOnly {}

impl PersonalMethod for LocalOnly {
    type Scratch = ();

    fn destination(&self) -> Destination {
        Destination::Nobody
    }

    fn scratch(&self, _shape: Shape, _settings: PdgdSettings) {}

    fn begin(&self, pdgd: &mut Pdgd, _scratch: &mut (), _models: Models<'_>, state: &[f32]) {
        pdgd.begin_from(state, state);
    }
}
