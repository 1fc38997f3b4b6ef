//! Rankers of one's own: what a device stores from round to round, and how that and the server's models make its ranker.
//!
//! One model for all cannot be right when people want different things from the same documents (spec section 10, type 1).
//! Each method here is a client's learner with a *state*: a flat vector that stays on the device and is handed in at the
//! start of a round and taken back at its end, so that whoever simulates or runs many clients owns and counts it.
//!
//! All methods learn by PDGD from lists that the client's own ranker makes. A method is one file and one line in the list.

mod additive;
mod clusters;
mod ditto;
mod fed_per;
mod interpolation;
mod local_only;
mod shown;

use serde::{Deserialize, Serialize};

pub use additive::Additive;
pub use clusters::{Clusters, KnownGroups};
pub use ditto::Ditto;
pub use fed_per::FedPer;
pub use interpolation::Interpolation;
pub use local_only::LocalOnly;

use crate::learn::pdgd::{PdgdSettings, Updates};
use crate::learn::{LearnerVisitor, OnlineLearner};
use crate::parameter::{ParameterError, require};
use crate::params::Shape;

/// The parameters of one method.
pub trait PersonalMethod: Copy {
    /// A client's learner.
    type Learner: OnlineLearner + 'static;

    /// Whether the models of clusters are added to the global one, so that they begin at zero.
    const ADDS_CLUSTERS: bool = false;

    /// Parameters with which every conformance test runs.
    fn example() -> Self;

    /// Refuses the first parameter that is out of range.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Where what a device sends goes.
    fn destination(&self) -> Destination {
        Destination::Global
    }

    /// Number of models that clusters have, beside the global one.
    fn n_clusters(&self) -> usize {
        0
    }

    /// The learner of a client. It needs updates after every interaction.
    fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> Self::Learner;
}

/// Defines [`Personalisation`], its list and its delegation from one line a method.
macro_rules! personal_methods {
    ($($name:literal: $method:ident, $about:literal;)*) => {
        /// How a device makes a ranker of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Personalisation {
            $(#[doc = $about] #[serde(rename = $name)] $method($method),)*
        }

        impl Personalisation {
            /// Every method: its name in an experiment file, and what it does.
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            /// One of each kind, for conformance tests.
            pub fn examples() -> Vec<Self> {
                vec![$(Self::$method($method::example())),*]
            }

            pub fn check(&self) -> Result<(), ParameterError> {
                match self {
                    $(Self::$method(method) => method.check(),)*
                }
            }

            pub fn destination(&self) -> Destination {
                match self {
                    $(Self::$method(method) => method.destination(),)*
                }
            }

            pub fn n_clusters(&self) -> usize {
                match self {
                    $(Self::$method(method) => method.n_clusters(),)*
                }
            }

            pub const fn clusters_are_added(&self) -> bool {
                match self {
                    $(Self::$method(_) => $method::ADDS_CLUSTERS,)*
                }
            }

            /// The learner of a client, handed to a visitor. It needs updates after every interaction.
            pub fn learner<V: LearnerVisitor>(&self, shape: Shape, pdgd: PdgdSettings, visitor: V) -> V::Output {
                match self {
                    $(Self::$method(method) => visitor.visit(method.learner(shape, pdgd)),)*
                }
            }
        }
    };
}

personal_methods! {
    "local-only": LocalOnly, "Every device learns alone and sends nothing";
    "fed-per": FedPer, "The output layer of a network is the device's own (FedPer)";
    "interpolation": Interpolation, "Mixes scores of its own and the shared model, weight chosen by its clicks";
    "ditto": Ditto, "A model of its own, pulled towards the shared one (Ditto)";
    "clusters": Clusters, "Several shared models; helps the one that explains its clicks best (IFCA)";
    "known-groups": KnownGroups, "As clusters, but every device knows its group: a yardstick";
    "additive": Additive, "Shared model + model of a cluster + its own";
}

impl Personalisation {
    /// Numbers that a device stores from round to round.
    pub fn state_len(&self, shape: Shape) -> usize {
        struct StateLen;
        impl LearnerVisitor for StateLen {
            type Output = usize;

            fn visit(self, learner: impl OnlineLearner + 'static) -> usize {
                learner.state_len()
            }
        }
        let updates = Updates::Immediate;
        let any = PdgdSettings { learning_rate: 0.0, updates, n_shown: 1, clip_radius: None, proximal: 0.0 };
        self.learner(shape, any, StateLen)
    }
}

/// Where what a device sends goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    Nobody,
    Global,
    Cluster,
    GlobalAndCluster,
}

/// More clusters than any device could download and try.
const MAX_CLUSTERS: usize = 64;

fn check_memory(memory: f64) -> Result<(), ParameterError> {
    require("memory", memory, (0.0..1.0).contains(&memory), "at least 0 and below 1")
}

/// The index of the largest value; the first of equal ones.
fn best(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests;
