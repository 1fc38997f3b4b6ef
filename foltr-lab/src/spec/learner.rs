//! `[ranker]` and `[learner]`: what is learned, and how.

use foltr_rank::learn::evolution::Reward;
pub use foltr_rank::learn::pdgd::Updates;
use foltr_rank::{Activation, Initialisation, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of the ranking function and its first parameters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Ranker {
    /// A weighted sum of the features.
    Linear {
        /// First parameters.
        initialisation: Initialisation,
    },
    /// One hidden layer.
    Mlp {
        /// Hidden units.
        hidden: usize,
        /// Of the hidden units.
        activation: Activation,
        /// First parameters.
        initialisation: Initialisation,
    },
}

/// How a ranker is learned.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Learner {
    /// FPDGD: every client learns by PDGD, the server averages (spec sections 6 and 8).
    Pdgd {
        /// Of the client's steps.
        learning_rate: f64,
        /// When a client steps.
        updates: Updates,
        /// mu of FedProx: how strongly every step is pulled back to the global model (spec section 11); 0 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proximal: Option<f64>,
    },
    /// FOLtR-ES: clients try perturbed rankers, the server follows what users liked (spec section 4).
    Evolution {
        /// Standard deviation of the perturbation.
        sigma: f64,
        /// Whether every perturbation is also tried with opposite sign.
        antithetic: bool,
        /// What an interaction is worth.
        reward: Reward,
        /// Which random numbers drive queries and clicks.
        stream: EvolutionStream,
    },
    /// PDGD with all interactions in one place (spec section 6.6).
    CentralisedPdgd {
        /// Of a step.
        learning_rate: f64,
        /// Interactions a step; their gradients are summed, not averaged.
        batch: usize,
        /// The learning rate is multiplied by this after every step; 1 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decay: Option<f64>,
        /// Interactions of the whole run.
        budget: usize,
        /// What counts as one round: the stretch of interactions between two evaluations.
        interactions_per_round: usize,
    },
    /// Offline baseline: least squares of the label on the features (spec section 17).
    LeastSquares,
    /// Offline baseline: pairwise hinge loss (spec section 17).
    RankingSvm {
        /// Weight of the slack, divided among the training queries.
        c: f64,
    },
}

/// Which random numbers drive the queries and clicks of an evolution client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvolutionStream {
    /// Independent of the transmitted seed.
    Separate,
    /// The published code's single generator, bit for bit; biases the gradient (spec section 4).
    Published,
}

impl Ranker {
    /// What the parameter vector means for documents with `n_features` features.
    pub const fn shape(&self, n_features: usize) -> Shape {
        match *self {
            Self::Linear { .. } => Shape::Linear { n_features },
            Self::Mlp { hidden, activation, .. } => Shape::Mlp { n_features, n_hidden: hidden, activation },
        }
    }

    /// First parameters.
    pub const fn initialisation(&self) -> Initialisation {
        match *self {
            Self::Linear { initialisation } | Self::Mlp { initialisation, .. } => initialisation,
        }
    }

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Linear { .. } => "linear".into(),
            Self::Mlp { hidden, .. } => format!("mlp-{hidden}"),
        }
    }
}

impl Learner {
    /// The kind, as experiment files spell it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pdgd { .. } => "pdgd",
            Self::Evolution { .. } => "evolution",
            Self::CentralisedPdgd { .. } => "centralised-pdgd",
            Self::LeastSquares => "least-squares",
            Self::RankingSvm { .. } => "ranking-svm",
        }
    }

    /// Whether it learns from labels instead of clicks, all at once.
    pub const fn is_baseline(&self) -> bool {
        matches!(self, Self::LeastSquares | Self::RankingSvm { .. })
    }

    /// Whether clients learn and a server combines.
    pub const fn is_federated(&self) -> bool {
        matches!(self, Self::Pdgd { .. } | Self::Evolution { .. })
    }
}
