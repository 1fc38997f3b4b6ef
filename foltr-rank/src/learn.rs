//! Learners: one client, one round. Event driven, so that the same code serves a loop in the lab and a day on a phone.
//!
//! A learner is one file and one line in the list below.

mod baseline;
mod centralised_pdgd;
pub mod dueling;
pub mod evolution;
mod lesson;
mod own_ranker;
pub mod pair_rank;
pub mod pdgd;

use rand::Rng;
use serde::{Deserialize, Serialize};

pub use baseline::{LeastSquares, Random, RankingSvm};
pub use centralised_pdgd::CentralisedPdgd;
pub use dueling::{DbgdParameters, MgdParameters};
pub use evolution::{EvolutionParameters, EvolutionStream};
pub use lesson::Lesson;
pub use own_ranker::{OwnRanker, OwnRankerError};
pub use pair_rank::PairRankParameters;
pub use pdgd::PdgdParameters;

use crate::bytes::{BytesError, Reader, Writer};
use crate::parameter::ParameterError;
use crate::params::{Params, Shape};
use crate::query::{Impression, QueryView, Ranking};
use dueling::{DuelSettings, Dueling};
use evolution::{Evolution, EvolutionSettings};
use pair_rank::{PairRank, PairRankSettings};
use pdgd::{Pdgd, PdgdSettings};

/// One client's learner. It is begun with the global model, shown clicks, and finished into an [`Update`].
///
/// A learner owns its scratch memory and is begun anew each round: nothing is allocated between interactions. One with a
/// *state* makes a ranker of the client's own (see [`personal`](crate::personal)): its round is [`Self::enter`],
/// [`Self::begin`], interactions, [`Self::finish`], [`Self::leave`].
pub trait OnlineLearner: Send + Sync + std::fmt::Debug {
    /// Starts a round from the global parameters. What is drawn from `public` may be transmitted.
    fn begin(&mut self, global: &[f32], public: &mut dyn Rng);

    /// The list to show for this query. `private` never leaves the device.
    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking);

    /// Learns from the clicks on the list that [`Self::rank`] returned last, or on one with a lesson of its own.
    fn observe(&mut self, impression: &Impression<'_>);

    /// The raw outcome of the round. It must pass a privacy mechanism before it can leave the device.
    fn finish(&mut self) -> Update<'_>;

    /// Impressions that have taught in this round.
    fn n_interactions(&self) -> u32;

    /// What the list that [`Self::rank`] returned last will teach; none if its scores are not all finite.
    fn lesson(&mut self, ranking: &Ranking) -> Option<Lesson>;

    /// Writes the round as it stands.
    fn save(&self, out: &mut Writer);

    /// Takes up the round of a learner with the same settings where it was saved. An error leaves no round.
    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError>;

    /// The direction that the seed of an [`Update::Evolution`] generates, to spare the simulation generating it again.
    fn direction(&self) -> &[f32] {
        &[]
    }

    /// Length of a client's state; 0 without one.
    fn state_len(&self) -> usize {
        0
    }

    /// Writes the state of the client with this number, which has never learnt.
    fn start(&self, _client: u32, _initial: &[f32], _private: &mut dyn Rng, _state: &mut [f32]) {}

    /// Takes the models and the state that the round begins with.
    fn enter(&mut self, _models: Models<'_>, _state: &[f32]) {}

    /// Writes the state after the round. Says which cluster the update is for, where there are clusters.
    fn leave(&mut self, _state: &mut [f32]) -> Option<usize> {
        None
    }

    /// The ranker of a client with this state; none if it uses the global one.
    fn own_ranker(&self, _models: Models<'_>, _state: &[f32]) -> Option<OwnRanker> {
        None
    }
}

/// The server's models of a round.
#[derive(Clone, Copy, Debug)]
pub struct Models<'a> {
    pub global: &'a [f32],
    /// Of the clusters; none where there are none.
    pub clusters: &'a [Params],
}

/// The raw outcome of a client's round. Not serialisable: it cannot leave the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update<'a> {
    /// Local parameters minus global parameters, after `n_interactions` interactions, clicked or not.
    Step { delta: &'a [f32], n_interactions: u32 },
    /// What users did with a ranker perturbed in the direction that `seed` generates.
    Evolution {
        /// Generates the perturbation. Public.
        seed: u32,
        /// One outcome index an interaction with global + perturbation; see [`Reward::value`](evolution::Reward::value).
        plus: &'a [u16],
        /// The same with global - perturbation; empty when not antithetic.
        minus: &'a [u16],
    },
}

/// Who learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Clients learn from clicks, a server combines.
    Federated,
    /// Clicks are learned from in one place.
    Centralised,
    /// Labels instead of clicks, all at once: an offline baseline.
    Offline,
}

/// The parameters of one learner.
pub trait LearnerParameters: Copy {
    /// Who learns.
    const SCHEME: Scheme;

    /// Every parameter that is out of range.
    fn check(&self) -> Vec<ParameterError> {
        Vec::new()
    }

    fn client(&self, _n_shown: usize, _n_interactions: usize, _clip_radius: Option<f32>) -> Option<Learning> {
        None
    }
}

/// Defines [`Learner`], its list and its delegation from one line a learner.
macro_rules! learners {
    ($($name:literal: $learner:ident($parameters:ident), $about:literal;)*) => {
        /// How a ranker is learned, as files name it.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Learner {
            $(#[doc = $about] #[serde(rename = $name)] $learner($parameters),)*
        }

        impl Learner {
            /// Every learner: its name in an experiment file, and what it does.
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            /// The kind, as experiment files spell it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$learner(_) => $name,)*
                }
            }

            pub const fn scheme(&self) -> Scheme {
                match self {
                    $(Self::$learner(_) => <$parameters as LearnerParameters>::SCHEME,)*
                }
            }

            pub fn check(&self) -> Vec<ParameterError> {
                match self {
                    $(Self::$learner(parameters) => parameters.check(),)*
                }
            }

            /// What a client does in a round; nothing for a learner without clients. `n_interactions` of one client in
            /// one round; a mechanism may ask for models no longer than `clip_radius`.
            pub fn client(&self, n_shown: usize, n_interactions: usize, clip_radius: Option<f32>) -> Option<Learning> {
                match self {
                    $(Self::$learner(parameters) => parameters.client(n_shown, n_interactions, clip_radius),)*
                }
            }
        }
    };
}

learners! {
    "pdgd": Pdgd(PdgdParameters), "FPDGD: clients learn from pairs of documents, the server averages";
    "evolution": Evolution(EvolutionParameters),
        "FOLtR-ES: clients try perturbed rankers, the server follows what users liked";
    "dbgd": Dbgd(DbgdParameters), "DBGD: clients move towards a random neighbour if it wins an interleaved list";
    "mgd": Mgd(MgdParameters), "MGD: clients move towards the mean of the random neighbours that win a multileaved list";
    "pair-rank": PairRank(PairRankParameters),
        "PairRank: only pairs in uncertain order are explored, the server adds statistics of pairs; simulations only";
    "centralised-pdgd": CentralisedPdgd(CentralisedPdgd), "PDGD with all interactions in one place";
    "least-squares": LeastSquares(LeastSquares), "Offline baseline: least squares of the label on the features";
    "ranking-svm": RankingSvm(RankingSvm), "Offline baseline: pairwise hinge loss";
    "random": Random(Random), "Offline baseline: documents in random order";
}

impl Learner {
    /// Whether clients learn and a server combines.
    pub fn is_federated(&self) -> bool {
        self.scheme() == Scheme::Federated
    }

    /// Whether it learns from labels instead of clicks, all at once.
    pub fn is_baseline(&self) -> bool {
        self.scheme() == Scheme::Offline
    }
}

/// What clients do in a round, in the precision in which they do it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Learning {
    Pdgd(PdgdSettings),
    Evolution {
        settings: EvolutionSettings,
        /// Whether to use the published code's random stream, which biases the gradient (spec section 4).
        published_stream: bool,
    },
    /// DBGD and MGD.
    Dueling(DuelSettings),
    PairRank(PairRankSettings),
}

impl Learning {
    /// The learner of a client, handed to a visitor that is compiled for each kind.
    pub fn learner<V: LearnerVisitor>(&self, shape: Shape, visitor: V) -> V::Output {
        match *self {
            Self::Pdgd(settings) => visitor.visit(Pdgd::new(shape, settings)),
            Self::Evolution { settings, .. } => visitor.visit(Evolution::new(shape, settings)),
            Self::Dueling(settings) => visitor.visit(Dueling::new(shape, settings)),
            Self::PairRank(settings) => visitor.visit(PairRank::new(shape, settings)),
        }
    }

    /// The settings of clients that send rewards; none of clients that send steps.
    pub const fn evolution(&self) -> Option<&EvolutionSettings> {
        if let Self::Evolution { settings, .. } = self { Some(settings) } else { None }
    }
}

/// Uses a learner without knowing which: a loop over interactions is compiled for each kind instead of asking each time.
pub trait LearnerVisitor {
    type Output;

    fn visit(self, learner: impl OnlineLearner + 'static) -> Self::Output;
}
