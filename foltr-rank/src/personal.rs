//! Rankers of one's own: what a device keeps from round to round, and how that and the server's models make its ranker.
//!
//! One model for all cannot be right when people want different things from the same documents (spec section 10, type 1).
//! Each method here is a client's learner with a *state*: a flat vector that stays on the device and is handed in at the
//! start of a round and taken back at its end, so that whoever simulates or runs many clients owns and counts it.
//!
//! All methods learn by PDGD from lists that the client's own ranker makes.

mod additive;
mod clusters;
mod ditto;
mod fed_per;
mod interpolation;
mod local_only;
mod shown;

use serde::{Deserialize, Serialize};

use crate::learn::OnlineLearner;
use crate::learn::pdgd::{PdgdSettings, Updates};
use crate::parameter::ParameterError;
use crate::params::{Params, Shape};
use crate::rng::Stream;

/// How a device makes a ranker of its own.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Personalisation {
    /// Every device learns alone and sends nothing.
    LocalOnly,
    /// The output layer of a network is the device's own, the hidden layer is shared (FedPer).
    FedPer,
    /// Scores of the device's own and of the shared model are mixed; the device chooses the weight by its own clicks.
    Interpolation {
        /// What an interaction counts in the choice of the weight after one more interaction; from 0 to below 1.
        memory: f64,
    },
    /// A model of the device's own, pulled towards the shared one (Ditto).
    Ditto {
        /// Strength of the pull.
        pull: f64,
    },
    /// Several shared models; each device helps the one that explains its own clicks best (IFCA).
    Clusters {
        /// How many models.
        n_clusters: usize,
        /// What an interaction counts in the choice after one more interaction; from 0 to below 1.
        memory: f64,
    },
    /// As clusters, but client c is told to be in group c modulo their number: what clusters could be at best, where
    /// intents are dealt out in the same way.
    KnownGroups {
        /// How many groups.
        n_groups: usize,
    },
    /// The sum of a shared model, the model of a cluster, and the device's own.
    Additive {
        /// How many clusters; 1 for none.
        n_clusters: usize,
        /// As above.
        memory: f64,
        /// Share of a round's step that the device's own part takes.
        own_rate: f64,
        /// Share of the device's own part that is forgotten in a round.
        own_decay: f64,
    },
}

/// More clusters than any device could download and try.
const MAX_CLUSTERS: usize = 64;

impl Personalisation {
    /// Every method: its name in an experiment file, and what it does.
    pub const LIST: &[(&str, &str)] = &[
        ("local-only", "Every device learns alone and sends nothing"),
        ("fed-per", "The output layer of a network is the device's own (FedPer)"),
        ("interpolation", "Mixes scores of its own and the shared model, weight chosen by its clicks"),
        ("ditto", "A model of its own, pulled towards the shared one (Ditto)"),
        ("clusters", "Several shared models; helps the one that explains its clicks best (IFCA)"),
        ("known-groups", "As clusters, each device told its group: a yardstick"),
        ("additive", "Shared model + model of a cluster + its own"),
    ];

    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first one that does not.
    pub fn check(&self) -> Result<(), ParameterError> {
        let bad = |name, value, right| Err(ParameterError { name, value, right });
        let share = |value: f64| (0.0..1.0).contains(&value);
        match *self {
            Self::Interpolation { memory } | Self::Clusters { memory, .. } | Self::Additive { memory, .. }
                if !share(memory) =>
            {
                bad("memory", memory, "at least 0 and below 1")
            }
            Self::Ditto { pull } if !(pull.is_finite() && pull >= 0.0) => bad("pull", pull, "0 or a positive number"),
            Self::Clusters { n_clusters, .. } if !(2..=MAX_CLUSTERS).contains(&n_clusters) => {
                bad("n_clusters", n_clusters as f64, "2 to 64")
            }
            Self::KnownGroups { n_groups } if !(2..=MAX_CLUSTERS).contains(&n_groups) => {
                bad("n_groups", n_groups as f64, "2 to 64")
            }
            Self::Additive { n_clusters, .. } if !(1..=MAX_CLUSTERS).contains(&n_clusters) => {
                bad("n_clusters", n_clusters as f64, "1 (no clusters) to 64")
            }
            Self::Additive { own_rate, .. } if !(own_rate.is_finite() && own_rate >= 0.0) => {
                bad("own_rate", own_rate, "0 or a positive number")
            }
            Self::Additive { own_decay, .. } if !(0.0..=1.0).contains(&own_decay) => {
                bad("own_decay", own_decay, "0 to 1")
            }
            _ => Ok(()),
        }
    }

    /// Where what a device sends goes.
    pub const fn destination(&self) -> Destination {
        match self {
            Self::LocalOnly => Destination::Nobody,
            Self::FedPer | Self::Interpolation { .. } | Self::Ditto { .. } => Destination::Global,
            Self::Additive { n_clusters: 1, .. } => Destination::Global,
            Self::Clusters { .. } | Self::KnownGroups { .. } => Destination::Cluster,
            Self::Additive { .. } => Destination::GlobalAndCluster,
        }
    }

    /// Number of models that clusters have, beside the global one.
    pub const fn n_clusters(&self) -> usize {
        match *self {
            Self::Additive { n_clusters: 1, .. } => 0,
            Self::Clusters { n_clusters, .. } | Self::Additive { n_clusters, .. } => n_clusters,
            Self::KnownGroups { n_groups } => n_groups,
            _ => 0,
        }
    }

    /// Whether the models of clusters are added to the global one, so that they begin at zero.
    pub const fn clusters_are_added(&self) -> bool {
        matches!(self, Self::Additive { .. })
    }

    /// Numbers that a device keeps from round to round.
    pub fn state_len(&self, shape: Shape) -> usize {
        let any = PdgdSettings {
            learning_rate: 0.0,
            updates: Updates::Immediate,
            n_shown: 1,
            clip_radius: None,
            proximal: 0.0,
        };
        self.learner(shape, any).state_len()
    }

    /// The learner of a client. It needs updates after every interaction.
    pub fn learner(&self, shape: Shape, pdgd: PdgdSettings) -> Box<dyn PersonalLearner> {
        match *self {
            Self::LocalOnly => Box::new(local_only::LocalOnly::new(shape, pdgd)),
            Self::FedPer => Box::new(fed_per::FedPer::new(shape, pdgd)),
            Self::Interpolation { memory } => Box::new(interpolation::Interpolation::new(shape, pdgd, memory as f32)),
            Self::Ditto { pull } => Box::new(ditto::Ditto::new(shape, pdgd, pull as f32)),
            Self::Clusters { n_clusters, memory } => {
                Box::new(clusters::Clusters::new(shape, pdgd, n_clusters, memory as f32))
            }
            Self::KnownGroups { n_groups } => Box::new(clusters::Clusters::told(shape, pdgd, n_groups)),
            Self::Additive { n_clusters, memory, own_rate, own_decay } => {
                let own = additive::Own { rate: own_rate as f32, decay: own_decay as f32 };
                Box::new(additive::Additive::new(shape, pdgd, n_clusters, memory as f32, own))
            }
        }
    }
}

/// Where what a device sends goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// It sends nothing.
    Nobody,
    /// Into the model of all.
    Global,
    /// Into the model of its cluster.
    Cluster,
    /// Into both.
    GlobalAndCluster,
}

/// The server's models of a round.
#[derive(Clone, Copy, Debug)]
pub struct Models<'a> {
    /// Of all clients.
    pub global: &'a [f32],
    /// Of the clusters; none where there are none.
    pub clusters: &'a [Params],
}

/// The ranker that a device uses between rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRanker {
    /// What its parameters mean; a mixture of two networks is a wider network.
    pub shape: Shape,
    /// Its parameters.
    pub params: Params,
}

/// A learner with a state of its own. A round is [`Self::enter`], [`OnlineLearner::begin`] with the global model,
/// interactions, [`OnlineLearner::finish`], [`Self::leave`].
pub trait PersonalLearner: OnlineLearner + Send + Sync + std::fmt::Debug {
    /// Length of a client's state.
    fn state_len(&self) -> usize;

    /// Writes the state of the client with this number, which has never learnt.
    fn start(&self, client: u32, initial: &[f32], private: &mut Stream, state: &mut [f32]);

    /// Takes the models and the state that the round begins with.
    fn enter(&mut self, models: Models<'_>, state: &[f32]);

    /// Writes the state after the round. Says which cluster the update is for, where there are clusters.
    fn leave(&mut self, state: &mut [f32]) -> Option<usize>;

    /// The ranker of a client with this state.
    fn own_ranker(&self, models: Models<'_>, state: &[f32]) -> OwnRanker;
}

/// The place of the largest value; the first of equal ones.
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
