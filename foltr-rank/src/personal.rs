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

use std::fmt::Debug;

use rand::Rng;
use serde::{Deserialize, Serialize};

pub use additive::Additive;
pub use clusters::{Clusters, KnownGroups};
pub use ditto::Ditto;
pub use fed_per::FedPer;
pub use interpolation::Interpolation;
pub use local_only::LocalOnly;

use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::pdgd::{Pdgd, PdgdSettings};
use crate::learn::{LearnerVisitor, Lesson, Models, OnlineLearner, OwnRanker, Update};
use crate::parameter::{ParameterError, require};
use crate::params::Shape;
use crate::query::{Impression, QueryView, Ranking};

/// The parameters of one method, and what it does around the rounds of the PDGD learner that makes the lists.
pub trait PersonalMethod: Copy + Debug + Send + Sync + 'static {
    /// What it needs beside PDGD and the state.
    type Scratch: Debug + Send + Sync;

    /// Refuses the first parameter that is out of range.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    fn destination(&self) -> Destination {
        Destination::Global
    }

    /// Number of models that clusters have, beside the global one.
    fn n_clusters(&self) -> usize {
        0
    }

    /// The learner that makes the lists. It needs updates after every interaction.
    fn pdgd(&self, shape: Shape, settings: PdgdSettings) -> Pdgd {
        Pdgd::new(shape, settings)
    }

    /// Memory for rounds of rankers of this shape.
    fn scratch(&self, shape: Shape, settings: PdgdSettings) -> Self::Scratch;

    /// Numbers that a device stores from round to round.
    fn state_len(&self, shape: Shape) -> usize {
        shape.n_params()
    }

    /// See [`OnlineLearner::start`].
    fn start(&self, _client: u32, initial: &[f32], _private: &mut dyn Rng, state: &mut [f32]) {
        state.copy_from_slice(initial);
    }

    /// Begins a round of PDGD with these models and this state.
    fn begin(&self, pdgd: &mut Pdgd, scratch: &mut Self::Scratch, models: Models<'_>, state: &[f32]);

    /// Learns from the clicks on a list that `pdgd` made and has not learnt from yet.
    fn observe(&self, pdgd: &mut Pdgd, _scratch: &mut Self::Scratch, impression: &Impression<'_>) {
        pdgd.observe(impression);
    }

    fn finish<'a>(&self, pdgd: &'a mut Pdgd, _scratch: &'a mut Self::Scratch) -> Update<'a> {
        pdgd.finish()
    }

    /// Impressions behind what [`Self::finish`] says.
    fn n_interactions(&self, pdgd: &Pdgd, _scratch: &Self::Scratch) -> u32 {
        pdgd.n_interactions()
    }

    /// Writes the state after the round. Says which cluster the update is for, where there are clusters.
    fn leave(&self, pdgd: &Pdgd, _scratch: &mut Self::Scratch, state: &mut [f32]) -> Option<usize> {
        pdgd.local_params(state);
        None
    }

    /// Writes what the scratch memory says about the round.
    fn save(&self, _scratch: &Self::Scratch, _out: &mut Writer) {}

    fn restore(&self, _scratch: &mut Self::Scratch, _input: &mut Reader<'_>) -> Result<(), BytesError> {
        Ok(())
    }

    fn own_ranker(&self, shape: Shape, _models: Models<'_>, state: &[f32]) -> OwnRanker {
        OwnRanker { shape, params: state.to_vec() }
    }
}

/// A client's learner by one method.
#[derive(Debug)]
struct PersonalLearner<M: PersonalMethod> {
    method: M,
    shape: Shape,
    pdgd: Pdgd,
    scratch: M::Scratch,
}

impl<M: PersonalMethod> OnlineLearner for PersonalLearner<M> {
    /// The round has begun with [`Self::enter`].
    fn begin(&mut self, _global: &[f32], _public: &mut dyn Rng) {}

    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        self.method.observe(&mut self.pdgd, &mut self.scratch, impression);
    }

    fn finish(&mut self) -> Update<'_> {
        self.method.finish(&mut self.pdgd, &mut self.scratch)
    }

    fn lesson(&mut self, ranking: &Ranking) -> Option<Lesson> {
        self.pdgd.lesson(ranking)
    }

    fn n_interactions(&self) -> u32 {
        self.method.n_interactions(&self.pdgd, &self.scratch)
    }

    fn save(&self, out: &mut Writer) {
        self.pdgd.save(out);
        self.method.save(&self.scratch, out);
    }

    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        self.pdgd.restore(input)?;
        self.method.restore(&mut self.scratch, input)
    }

    fn state_len(&self) -> usize {
        self.method.state_len(self.shape)
    }

    fn start(&self, client: u32, initial: &[f32], private: &mut dyn Rng, state: &mut [f32]) {
        self.method.start(client, initial, private, state);
    }

    fn enter(&mut self, models: Models<'_>, state: &[f32]) {
        self.method.begin(&mut self.pdgd, &mut self.scratch, models, state);
    }

    fn leave(&mut self, state: &mut [f32]) -> Option<usize> {
        self.method.leave(&self.pdgd, &mut self.scratch, state)
    }

    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> Option<OwnRanker> {
        Some(self.method.own_ranker(self.shape, models, state))
    }
}

fn learner<M: PersonalMethod>(method: M, shape: Shape, settings: PdgdSettings) -> PersonalLearner<M> {
    PersonalLearner { method, shape, pdgd: method.pdgd(shape, settings), scratch: method.scratch(shape, settings) }
}

/// Defines [`Personalisation`], its list, its examples and its delegation from one line a method.
macro_rules! personal_methods {
    ($($name:literal: $method:ident $example:tt, $about:literal;)*) => {
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
                vec![$(Self::$method($method $example)),*]
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

            /// Numbers that a device stores from round to round.
            pub fn state_len(&self, shape: Shape) -> usize {
                match self {
                    $(Self::$method(method) => method.state_len(shape),)*
                }
            }

            /// The learner of a client, handed to a visitor. It needs updates after every interaction.
            pub fn learner<V: LearnerVisitor>(&self, shape: Shape, pdgd: PdgdSettings, visitor: V) -> V::Output {
                match self {
                    $(Self::$method(method) => visitor.visit(learner(*method, shape, pdgd)),)*
                }
            }
        }
    };
}

personal_methods! {
    "local-only": LocalOnly {}, "Every device learns alone and sends nothing";
    "fed-per": FedPer {}, "The output layer of a network is the device's own (FedPer)";
    "interpolation": Interpolation { memory: 0.99 },
        "Mixes scores of its own and the shared model, weight chosen by its clicks";
    "ditto": Ditto { pull: 0.01 }, "A model of its own, pulled towards the shared one (Ditto)";
    "clusters": Clusters { n_clusters: 3, memory: 0.99 },
        "Several shared models; helps the one that explains its clicks best (IFCA)";
    "known-groups": KnownGroups { n_groups: 2 }, "As clusters, but every device knows its group: a yardstick";
    "additive": Additive { n_clusters: 3, memory: 0.99, own_rate: 0.5, own_decay: 0.01 },
        "Shared model + model of a cluster + its own";
}

/// Where what a device sends goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    Nobody,
    Global,
    Cluster,
    /// The models of clusters are added to the global one, so that they begin at zero.
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
