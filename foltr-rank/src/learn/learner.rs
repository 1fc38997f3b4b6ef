//! How a ranker is learned, as files name it: online from clicks by clients or in one place, or offline from labels.

use serde::{Deserialize, Serialize};

use super::evolution::{EvolutionSettings, Reward};
use super::pdgd::{PdgdSettings, Updates};

/// How a ranker is learned.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Learns nothing: the expected nDCG of a random ranking.
    Random,
}

/// What clients do in a round, in the precision in which they do it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Learning {
    /// FPDGD.
    Pdgd(PdgdSettings),
    /// FOLtR-ES.
    Evolution {
        /// Its settings.
        settings: EvolutionSettings,
        /// Whether to use the published code's random stream, which biases the gradient (spec section 4).
        published_stream: bool,
    },
}

/// Which random numbers drive the queries and clicks of an evolution client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvolutionStream {
    /// Independent of the transmitted seed.
    Separate,
    /// The published code's single generator, bit for bit; biases the gradient (spec section 4).
    Published,
}

impl Learner {
    /// Every learner: its name, and what it does.
    pub const LIST: &[(&str, &str)] = &[
        ("pdgd", "FPDGD: clients learn from pairs of documents, the server averages"),
        ("evolution", "FOLtR-ES: clients try perturbed rankers, the server follows what users liked"),
        ("centralised-pdgd", "PDGD with all interactions in one place"),
        ("least-squares", "Offline baseline: least squares of the label on the features"),
        ("ranking-svm", "Offline baseline: pairwise hinge loss"),
        ("random", "Offline baseline: documents in random order"),
    ];

    /// What a client does in a round; nothing for a learner without clients. `n_interactions` of one client in one round;
    /// a mechanism may ask for models no longer than `clip_radius`.
    pub fn client(&self, n_shown: usize, n_interactions: usize, clip_radius: Option<f32>) -> Option<Learning> {
        match *self {
            Self::Pdgd { learning_rate, updates, proximal } => Some(Learning::Pdgd(PdgdSettings {
                learning_rate: learning_rate as f32,
                updates,
                n_shown,
                clip_radius,
                proximal: proximal.unwrap_or(0.0) as f32,
            })),
            Self::Evolution { sigma, antithetic, reward, stream } => Some(Learning::Evolution {
                settings: EvolutionSettings { sigma: sigma as f32, antithetic, reward, n_interactions, n_shown },
                published_stream: stream == EvolutionStream::Published,
            }),
            _ => None,
        }
    }

    /// The kind, as experiment files spell it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pdgd { .. } => "pdgd",
            Self::Evolution { .. } => "evolution",
            Self::CentralisedPdgd { .. } => "centralised-pdgd",
            Self::LeastSquares => "least-squares",
            Self::RankingSvm { .. } => "ranking-svm",
            Self::Random => "random",
        }
    }

    /// Whether it learns from labels instead of clicks, all at once.
    pub const fn is_baseline(&self) -> bool {
        matches!(self, Self::LeastSquares | Self::RankingSvm { .. } | Self::Random)
    }

    /// Whether clients learn and a server combines.
    pub const fn is_federated(&self) -> bool {
        matches!(self, Self::Pdgd { .. } | Self::Evolution { .. })
    }
}
