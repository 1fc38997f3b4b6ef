//! Everything that defines a federation but its data, and what contradicts itself.

use foltr_federation::{BadSetup, Defence, Kind, LocalPrivacy, Privacy, Rule, ServerOptimiser};
use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::{BadPersonalisation, Personalisation};
use foltr_rank::{Params, Shape};

use crate::adversary::Attackers;
use crate::click::Users;
use crate::cohort::Cohort;
use crate::partition::Partition;

/// What clients do in a federation.
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
    pub cohort: Cohort,
    /// Probability that a client's message of a round is lost.
    pub dropout: f64,
    /// What happens to an update before it is sent.
    pub privacy: Privacy,
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
pub enum BadFederation {
    /// The coordinator cannot be made.
    #[error(transparent)]
    Setup(#[from] BadSetup),
    /// A parameter of the personalisation.
    #[error(transparent)]
    Personalisation(#[from] BadPersonalisation),
    /// A personalisation of something else than PDGD after every interaction.
    #[error("personalisation needs PDGD with immediate updates")]
    Impersonal,
    /// A mechanism that rests on clipping the one model.
    #[error("this privacy mechanism bounds a message by clipping the model; a ranker of one's own is another model")]
    ClippedModel,
    /// The server's output layer is the mean of the clients' layers, which only a step of 1 reaches.
    #[error("FedPer averages layers: it needs the learning rate 1 as server optimiser")]
    AveragedLayers,
    /// Nothing is proven about which cluster a message is for.
    #[error("clusters tell which model a client's clicks like best; no privacy mechanism here covers that")]
    ClustersArePublic,
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
    /// Attackers, robust rules and momentum work on plain messages.
    #[error("{what} needs plain messages to one global ranker: no privacy mechanism on steps, no personalisation")]
    SingleMessages {
        /// What was asked for.
        what: &'static str,
    },
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
    #[error(
        "the published random stream needs equal clients, cascade users, all clients in every round, no attack and no defence"
    )]
    Published,
}

impl FederationSettings {
    pub(crate) fn rule(&self) -> Rule {
        let usual = match self.learning {
            Learning::Pdgd(_) => Rule::Averaging,
            Learning::Evolution { settings: EvolutionSettings { sigma, antithetic, .. }, .. } => {
                Rule::Evolution { sigma: f64::from(sigma), antithetic }
            }
        };
        self.privacy.rule(usual, self.cohort.expected(self.n_clients))
    }

    /// Whether the noise of a whole sum is drawn at once: its law is known for any number of Gaussian shares, but for
    /// shares of Laplace noise only if every client that the task counts on takes part, with equal weight (spec section
    /// 9).
    pub(super) fn noise_is_drawn_at_once(&self) -> bool {
        let is_complete = self.dropout == 0.0 && !matches!(self.cohort, Cohort::Coins(_)) && self.absent.is_empty();
        is_complete || matches!(self.privacy, Privacy::DiscreteGaussian(_))
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

    pub(crate) fn check(&self, partition: &Partition) -> Result<(), BadFederation> {
        let is_known =
            |place: usize, client: u32| client < self.n_clients && (place == 0 || self.absent[place - 1] < client);
        if let Some((_, &client)) = self.absent.iter().enumerate().find(|(place, client)| !is_known(*place, **client)) {
            return Err(BadFederation::Absent { client, n_clients: self.n_clients });
        }
        if let Some(personalisation) = &self.personalisation {
            personalisation.check()?;
            if !matches!(self.learning, Learning::Pdgd(PdgdSettings { updates: Updates::Immediate, .. })) {
                return Err(BadFederation::Impersonal);
            }
            // What bounds such a message is the length of the model that it is the step of; here that is another model.
            if self.privacy.clip_radius().is_some() {
                return Err(BadFederation::ClippedModel);
            }
            let plain = ServerOptimiser::LearningRate { rate: 1.0 };
            if *personalisation == Personalisation::FedPer && self.optimiser != plain {
                return Err(BadFederation::AveragedLayers);
            }
            if personalisation.n_clusters() > 0 && !matches!(self.privacy, Privacy::Unprotected(_)) {
                return Err(BadFederation::ClustersArePublic);
            }
        }
        if let Some(attackers) = &self.attackers {
            attackers.check().map_err(BadSetup::from)?;
        }
        if let Some(what) = self.needs_messages()
            && (self.personalisation.is_some()
                || !matches!(self.privacy, Privacy::Unprotected(_) | Privacy::RandomisedResponse(_)))
        {
            return Err(BadFederation::SingleMessages { what });
        }
        let kind = self.rule().kind();
        if !self.privacy.accepts(kind) {
            return Err(BadFederation::Privacy { kind });
        }
        if let Learning::Evolution { settings, published_stream } = self.learning {
            if !partition.has_equal_interactions() {
                return Err(BadFederation::Unequal);
            }
            let n_interactions = partition.most_interactions();
            if settings.antithetic && !n_interactions.is_multiple_of(2) {
                return Err(BadFederation::Odd { n_interactions });
            }
            let everyone = self.cohort == Cohort::Everyone && self.dropout == 0.0 && self.absent.is_empty();
            let as_published = matches!(partition.users(), [Users::Cascade(_)]) && partition.is_shared() && everyone;
            if published_stream && (!as_published || self.needs_messages().is_some()) {
                return Err(BadFederation::Published);
            }
        }
        Ok(())
    }
}
