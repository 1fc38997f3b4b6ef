//! Everything that defines a federation but its data, and what contradicts itself.

use foltr_federation::{
    Combination, Defence, Kind, LocalPrivacy, Mechanism, Part, Participation, PayloadSemantics, ServerOptimiser,
    SetupError,
};
pub use foltr_rank::Learning;
use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::Personalisation;
use foltr_rank::{ParameterError, Params, Shape};

use crate::adversary::Attackers;
use crate::click::Users;
use crate::client_data::ClientData;

/// Everything that defines a federation but its data.
#[derive(Clone, Debug)]
pub struct FederationSettings {
    /// Seed of all randomness.
    pub seed: u64,
    /// The ranker.
    pub shape: Shape,
    /// The model of round 0.
    pub initial: Params,
    /// What clients do.
    pub learning: Learning,
    /// How clients make rankers of their own; none if all use the global one.
    pub personalisation: Option<Personalisation>,
    /// All clients.
    pub n_clients: u32,
    /// Clients in a round.
    pub participation: Participation,
    /// Probability that a client's message of a round is lost.
    pub dropout: f64,
    /// What happens to an update before it is sent.
    pub privacy: Mechanism,
    /// What is done against clients that lie.
    pub defence: Defence,
    /// Clients that lie, if any.
    pub attackers: Option<Attackers>,
    /// What the server does with the averaged step.
    pub optimiser: ServerOptimiser,
    /// The round (from 1) from which models are averaged into the published one; none for the newest model.
    pub average_from: Option<u32>,
    /// Clients that have left, in rising order. They are drawn into rounds like all others and then taken out, so that
    /// everybody else draws the same random numbers as with them.
    pub absent: Vec<u32>,
}

/// Why a federation cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FederationError {
    /// The coordinator cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A parameter of the personalisation.
    #[error(transparent)]
    Personalisation(#[from] ParameterError),
    /// Parts that exclude each other.
    #[error(transparent)]
    Combination(#[from] Combination),
    /// A mechanism for another kind of update.
    #[error("this privacy mechanism is not defined for what these clients send ({kind:?})")]
    Privacy {
        /// What they send.
        kind: Kind,
    },
    /// Half of the interactions try the mirrored perturbation.
    #[error("{n_interactions} interactions cannot be halved; with mirrored perturbations their number must be even")]
    Odd {
        /// Interactions of a client in a round.
        n_interactions: u32,
    },
    /// A reward is the mean over a fixed number of interactions.
    #[error("FOLtR-ES needs clients with equally many interactions in a round")]
    Unequal,
    /// An absent client that there is not, or not in its place.
    #[error("absent clients must be some of the {n_clients}, in rising order; client {client} is not")]
    Absent {
        /// The first that is wrong.
        client: u32,
        /// All clients.
        n_clients: u32,
    },
    /// Something of which no history can be kept.
    #[error("no history can be kept of {what}")]
    History {
        /// What was asked for.
        what: &'static str,
    },
    /// The published code did nothing else.
    #[error("the published random stream needs equal clients and cascade users")]
    Published,
}

impl FederationSettings {
    pub(crate) fn rule(&self) -> PayloadSemantics {
        let usual = match self.learning.evolution() {
            None => PayloadSemantics::Averaging,
            Some(&EvolutionSettings { sigma, antithetic, .. }) => {
                PayloadSemantics::Evolution { sigma: f64::from(sigma), antithetic }
            }
        };
        self.privacy.rule(usual, self.participation.expected(self.n_clients))
    }

    /// Whether the noise of a whole sum is drawn at once: its law is known for any number of Gaussian shares, but for
    /// shares of Laplace noise only if every client that the task counts on takes part, with equal weight (spec section
    /// 9).
    pub(super) fn noise_is_drawn_at_once(&self) -> bool {
        let is_complete = self.dropout == 0.0
            && !matches!(self.participation, Participation::PoissonSampling(_))
            && self.absent.is_empty();
        is_complete || matches!(self.privacy, Mechanism::DiscreteGaussian(_))
    }

    /// What looks at single messages, if anything does.
    pub(crate) fn needs_messages(&self) -> Option<&'static str> {
        if self.attackers.is_some() {
            Some("an attack")
        } else if !self.defence.only_sums() {
            Some("a robust rule")
        } else {
            self.defence.momentum.map(|_| "worker momentum")
        }
    }

    /// The parts of this federation that other parts may exclude.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let learning = match self.learning {
            Learning::Pdgd(PdgdSettings { updates, .. }) => {
                [(updates == Updates::Accumulated, Part::AccumulatedUpdates), (false, Part::Evolution)]
            }
            Learning::Evolution { published_stream, .. } => {
                [(true, Part::Evolution), (published_stream, Part::PublishedStream)]
            }
        };
        let plain = ServerOptimiser::LearningRate { rate: 1.0 };
        let is_defended = !self.defence.only_sums() || self.defence.momentum.is_some();
        let others = [
            (matches!(self.participation, Participation::Sample(_)), Part::Cohort),
            (matches!(self.participation, Participation::PoissonSampling(_)), Part::PoissonSampling),
            (self.dropout > 0.0, Part::Dropout),
            (!self.absent.is_empty(), Part::AbsentClients),
            (self.optimiser != plain, Part::OtherOptimiser),
            (self.attackers.is_some(), Part::Attack),
            (is_defended, Part::Defence),
            (self.defence.momentum.is_some(), Part::WorkerMomentum),
            (!matches!(self.privacy, Mechanism::Unprotected(_)), Part::Privacy),
            (!self.privacy.admits_single_updates(), Part::PrivacyOfSums),
            (self.privacy.clip_radius().is_some(), Part::ModelClipping),
        ];
        let is_there = |(is_there, part): (bool, Part)| is_there.then_some(part);
        let mut parts: Vec<Part> = learning.into_iter().chain(others).filter_map(is_there).collect();
        parts.extend(self.personalisation.iter().flat_map(Part::of_personalisation));
        parts
    }

    pub(crate) fn check(&self, partition: &ClientData) -> Result<(), FederationError> {
        let is_known =
            |place: usize, client: u32| client < self.n_clients && (place == 0 || self.absent[place - 1] < client);
        if let Some((_, &client)) = self.absent.iter().enumerate().find(|(place, client)| !is_known(*place, **client)) {
            return Err(FederationError::Absent { client, n_clients: self.n_clients });
        }
        if let Some(personalisation) = &self.personalisation {
            personalisation.check()?;
        }
        if let Some(attackers) = &self.attackers {
            attackers.check().map_err(SetupError::from)?;
        }
        Combination::check(&self.parts())?;
        let kind = self.rule().kind();
        if !self.privacy.accepts(kind) {
            return Err(FederationError::Privacy { kind });
        }
        if let Learning::Evolution { settings, published_stream } = self.learning {
            if !partition.has_equal_interactions() {
                return Err(FederationError::Unequal);
            }
            let n_interactions = partition.most_interactions();
            if settings.antithetic && !n_interactions.is_multiple_of(2) {
                return Err(FederationError::Odd { n_interactions });
            }
            let as_published = matches!(partition.users(), [Users::Cascade(_)]) && partition.is_shared();
            if published_stream && !as_published {
                return Err(FederationError::Published);
            }
        }
        Ok(())
    }
}
