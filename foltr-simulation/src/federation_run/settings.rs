//! Everything that defines a federation but its data, and what contradicts itself.

use foltr_federation::privacy::{NoiseShares, Unprotected};
use foltr_federation::{
    Combination, Defence, Kind, Mechanism, Part, Participation, PayloadError, PayloadSemantics, RoundTask,
    ServerOptimiser, Setup, SetupError, Staleness,
};
pub use foltr_rank::Learning;
use foltr_rank::adoption::AdoptionError;
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::{Destination, Personalisation};
use foltr_rank::rng::{Lineage, Streams};
use foltr_rank::{ParameterError, Params, Shape};

use crate::adversary::Attackers;
use crate::click::Users;
use crate::client_data::ClientData;
use crate::client_round::{Boxed, ClientLearner, Round};

/// Everything that defines a federation but its data.
#[derive(Clone, Debug)]
pub struct FederationSettings {
    pub seed: u64,
    pub shape: Shape,
    pub initial: Params,
    pub learning: Learning,
    /// How clients make rankers of their own; none if all use the global one.
    pub personalisation: Option<Personalisation>,
    pub n_clients: u32,
    pub participation: Participation,
    /// Probability that a client's message of a round is lost.
    pub dropout: f64,
    pub privacy: Mechanism,
    pub defence: Defence,
    /// Which old releases messages may start from; slow clients then join later rounds.
    pub staleness: Staleness,
    /// Whether every message is handed over alone, with its own noise, where sums with noise drawn at once would do.
    pub single_messages: bool,
    pub attackers: Option<Attackers>,
    pub optimiser: ServerOptimiser,
    /// The round (from 1) from which models are averaged into the published one; none for the newest model.
    pub average_from: Option<u32>,
    /// Clients that have left, in rising order. They are drawn into rounds like all others and then taken out, so that
    /// everybody else draws the same random numbers as with them.
    pub absent: Vec<u32>,
    /// Requests to forget that are behind the run; a history knows its own.
    pub lineage: Lineage,
}

/// Why a federation cannot be made, recorded or resumed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FederationError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Personalisation(#[from] ParameterError),
    #[error(transparent)]
    Combination(#[from] Combination),
    #[error(transparent)]
    Adoption(#[from] AdoptionError),
    #[error("this privacy mechanism is not defined for what these clients send ({kind:?})")]
    Privacy { kind: Kind },
    /// Half of the interactions try the mirrored perturbation.
    #[error("{n_interactions} interactions cannot be halved; with mirrored perturbations their number must be even")]
    Odd { n_interactions: u32 },
    /// A reward is the mean over a fixed number of interactions.
    #[error("FOLtR-ES needs clients with equally many interactions in a round")]
    Unequal,
    #[error("absent clients must be some of the {n_clients}, in rising order; client {client} is not")]
    Absent { client: u32, n_clients: u32 },
    /// The published code did nothing else.
    #[error("the published random stream needs equal clients and cascade users")]
    Published,
    #[error(transparent)]
    Model(#[from] PayloadError),
    #[error("{memory} cannot be resumed: a stored state does not have all that it remembers")]
    Remembers { memory: &'static str },
    #[error("the stored memory of devices is not that of this federation's devices")]
    Devices,
    #[error("the history has {history} rounds, the stored state {state}")]
    Rounds { history: u32, state: u32 },
}

impl FederationSettings {
    /// Federated averaging from parameters of 0: everyone takes part in every round, and nothing is protected, attacked or
    /// defended.
    ///
    /// ```
    /// use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
    /// use foltr_rank::{Learning, Shape};
    /// use foltr_federation::Participation;
    /// use foltr_simulation::federation_run::FederationSettings;
    ///
    /// let pdgd = PdgdSettings {
    ///     learning_rate: 0.1,
    ///     updates: Updates::Immediate,
    ///     n_shown: 10,
    ///     clip_radius: None,
    ///     proximal: 0.0,
    ///     max_displacement: None,
    /// };
    /// let everyone = FederationSettings::averaging(1, Shape::Linear { n_features: 46 }, Learning::Pdgd(pdgd), 1_000);
    /// let a_tenth = FederationSettings { participation: Participation::Sample(100), ..everyone };
    /// assert_eq!(a_tenth.initial, vec![0.0; 46]);
    /// ```
    pub fn averaging(seed: u64, shape: Shape, learning: Learning, n_clients: u32) -> Self {
        let reward = learning.evolution().map_or(Reward::MaxRr, |evolution| evolution.reward);
        Self {
            seed,
            shape,
            initial: vec![0.0; shape.n_params()],
            learning,
            personalisation: None,
            n_clients,
            participation: Participation::Everyone,
            dropout: 0.0,
            privacy: Mechanism::Unprotected(Unprotected { reward }),
            defence: Defence::NONE,
            staleness: Staleness::NONE,
            single_messages: false,
            attackers: None,
            optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
            average_from: None,
            absent: Vec::new(),
            lineage: Lineage::TRAINING,
        }
    }

    /// All streams of the run.
    pub(crate) fn streams(&self) -> Streams {
        Streams::new(self.seed).of_lineage(&self.lineage)
    }

    pub fn setup(&self, partition: &ClientData) -> Setup {
        // Where single messages matter a client has the same slot in every round.
        let most = self.participation.most(self.n_clients);
        Setup {
            initial: self.initial.clone(),
            n_clients: if self.needs_messages() { self.n_clients } else { most },
            n_interactions: partition.most_interactions(),
            rule: self.usual_rule(),
            privacy: self.privacy.clone().into(),
            noise_shares: self.noise_shares(),
            divisor: self.participation.expected(self.n_clients),
            defence: self.defence,
            optimiser: self.optimiser,
            staleness: self.staleness,
            average_from: self.average_from,
            clusters: self.first_cluster_models(),
            is_simulated: true,
        }
    }

    /// What models of clusters begin with: zero where they are added to that of all clients.
    fn first_cluster_models(&self) -> Vec<Params> {
        let n_clusters = self.personalisation.map_or(0, |method| method.n_clusters());
        let is_added = self.personalisation.is_some_and(|it| it.destination() == Destination::GlobalAndCluster);
        let initial = if is_added { vec![0.0; self.initial.len()] } else { self.initial.clone() };
        vec![initial; n_clusters]
    }

    pub fn client_learner(&self) -> Box<dyn ClientLearner> {
        match (self.personalisation, self.learning) {
            (Some(method), Learning::Pdgd(pdgd)) => method.learner(self.shape, pdgd, Boxed),
            (_, learning) => learning.learner(self.shape, Boxed),
        }
    }

    /// A round of clients without clusters whose single messages are looked at.
    pub fn round<'a>(&'a self, task: &'a RoundTask, partition: &'a ClientData, streams: &'a Streams) -> Round<'a> {
        let (privacy, noise_shares) = (&self.privacy, NoiseShares::InMessages);
        Round { task, clusters: &[], partition, privacy, noise_shares, rule: self.rule(task.clip_norm), streams }
    }

    /// How messages are read that no mechanism has changed.
    pub(crate) fn usual_rule(&self) -> PayloadSemantics {
        match self.learning.evolution() {
            None => PayloadSemantics::Averaging,
            Some(&EvolutionSettings { sigma, antithetic, .. }) => {
                PayloadSemantics::Evolution { sigma: f64::from(sigma), antithetic }
            }
        }
    }

    /// How messages are read in a round with this clip norm.
    pub(crate) fn rule(&self, clip_norm: Option<f32>) -> PayloadSemantics {
        self.privacy.rule(self.usual_rule(), self.participation.expected(self.n_clients), clip_norm)
    }

    /// Where devices' shares of noise are. The noise of a whole sum is drawn at once where its law is known: that is known
    /// for any number of Gaussian shares, but for shares of Laplace noise only if every client that the task counts on
    /// takes part, with equal weight (spec section 9). Single messages have their own.
    pub(super) fn noise_shares(&self) -> NoiseShares {
        let is_complete = self.dropout == 0.0
            && !matches!(self.participation, Participation::PoissonSampling(_))
            && self.absent.is_empty();
        let is_drawn_at_once = is_complete || matches!(self.privacy, Mechanism::DiscreteGaussian(_));
        if is_drawn_at_once && !self.needs_messages() { NoiseShares::DrawnAtClosing } else { NoiseShares::InMessages }
    }

    /// Whether an attack, a defence or a device's memory needs single messages, or they are asked for.
    pub(crate) fn needs_messages(&self) -> bool {
        let alone = self.single_messages && self.personalisation.is_none();
        self.attackers.is_some() || self.is_defended() || self.staleness.most > 0 || alone
    }

    /// Whether there is a robust rule, worker momentum, or a bound on the length of a message.
    fn is_defended(&self) -> bool {
        !self.defence.only_sums() || self.defence.momentum.is_some() || self.defence.bounds_length()
    }

    /// A server that moves the model by the mean of steps. Statistics of PairRank are added instead: the mean, as many times as
    /// there are clients in it.
    pub fn plain_optimiser(learning: &Learning, participation: Participation, n_clients: u32) -> ServerOptimiser {
        let is_sum = matches!(learning, Learning::PairRank(_));
        ServerOptimiser::LearningRate { rate: if is_sum { participation.expected(n_clients) } else { 1.0 } }
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
            Learning::Dueling(_) => [(true, Part::Dueling), (false, Part::Evolution)],
            Learning::PairRank(_) => [(true, Part::PairRank), (false, Part::Evolution)],
        };
        let plain = Self::plain_optimiser(&self.learning, self.participation, self.n_clients);
        let others = [
            (matches!(self.participation, Participation::Sample(_)), Part::Cohort),
            (matches!(self.participation, Participation::PoissonSampling(_)), Part::PoissonSampling),
            (self.dropout > 0.0, Part::Dropout),
            (self.staleness.most > 0, Part::Staleness),
            (!self.absent.is_empty(), Part::AbsentClients),
            (self.optimiser != plain, Part::OtherOptimiser),
            (self.attackers.is_some(), Part::Attack),
            (self.is_defended(), Part::Defence),
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
        let is_known = |i: usize, client: u32| client < self.n_clients && (i == 0 || self.absent[i - 1] < client);
        if let Some((_, &client)) = self.absent.iter().enumerate().find(|(i, client)| !is_known(*i, **client)) {
            return Err(FederationError::Absent { client, n_clients: self.n_clients });
        }
        if let Some(personalisation) = &self.personalisation {
            personalisation.check()?;
        }
        if let Some(attackers) = &self.attackers {
            attackers.check().map_err(SetupError::from)?;
        }
        Combination::check(&self.parts())?;
        let kind = self.rule(None).kind();
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
