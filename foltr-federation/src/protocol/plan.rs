//! What a server signs and a device obeys.

use foltr_rank::{Learning, Params, Shape};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::asynchronous::AsynchronousCoordinator;
use crate::coordinator::{Coordinator, Setup, SetupError};
use crate::fingerprint::Fingerprint;
use crate::message::Expected;
use crate::participation::Participation;
use crate::plan::{FederationPlan, PlanProblem};
use crate::privacy::{Mechanism, MechanismError};
use crate::protocol::VERSION;
use crate::protocol::canonical::{self, CanonicalError};
use crate::protocol::features::FeatureSchema;
use crate::protocol::signed::Document;
use crate::sharded::ShardedCoordinator;
use crate::unlearn::ShardIsolation;
use foltr_rank::bytes::BytesError;
use foltr_rank::session::{Session, SessionError};

/// Everything that a device must know to take part. Immutable: a change is a new plan with another hash.
///
/// ```
/// use foltr_federation::FederationPlan;
/// use foltr_federation::protocol::{Document, FeatureSchema, Normalisation, Plan, SecretKey, Signed};
/// use foltr_rank::learn::PdgdParameters;
/// use foltr_rank::learn::pdgd::Updates;
/// use foltr_rank::{Initialisation, Learner, RankerShape};
///
/// let pdgd = PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
/// let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
/// let federation = FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, 100, 4, 50);
/// let features = FeatureSchema::numbered(46, Normalisation::Query);
/// let plan = Plan::new(federation, &features, false)?;
/// let key = SecretKey::from_bytes(&[7; 32]);
/// let sent = Signed::sign(plan, &key)?.as_bytes().to_vec();
///
/// let received = Signed::<Plan>::decode(&sent)?;
/// let plan = received.verify(&key.public_key())?;
/// plan.admit(&features)?;
/// assert_eq!(plan.hash()?, received.hash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    protocol: u8,
    n_features: usize,
    features: Fingerprint,
    federation: FederationPlan,
    simulated: bool,
}

#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    #[error("the plan is of protocol {got}; this program speaks protocol {VERSION}")]
    Protocol { got: u8 },
    #[error("the plan has {}: {}", count(.0.len()), list(.0))]
    Problems(Vec<PlanProblem>),
    #[error("the plan names the features {plan}, this device computes {own}: a server may not choose them")]
    Features { plan: Fingerprint, own: Fingerprint },
    #[error("the plan is for documents with {plan} features, this device computes {own}")]
    FeatureCount { plan: usize, own: usize },
    #[error("the plan is for simulations: its noise can be foreseen")]
    Simulated,
    #[error("the plan is for another kind of server: with rounds, with shards, or without rounds")]
    OtherServer,
    #[error("no server can work by this plan: {0}")]
    Setup(#[from] SetupError),
    #[error("no device can work by this plan: {0}")]
    Session(#[from] SessionError),
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl From<BytesError> for PlanError {
    fn from(error: BytesError) -> Self {
        Self::Canonical(error.into())
    }
}

fn count(n: usize) -> String {
    if n == 1 { "a problem".into() } else { format!("{n} problems") }
}

fn list(problems: &[PlanProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Plan {
    /// `simulated` marks a plan whose noise may come from a seed: no device and no server takes it.
    pub fn new(federation: FederationPlan, features: &FeatureSchema, simulated: bool) -> Result<Self, PlanError> {
        let (n_features, features) = (features.features.len(), features.hash()?);
        let plan = Self { protocol: VERSION, n_features, features, federation, simulated };
        plan.check_form()?;
        plan.check()?;
        Ok(plan)
    }

    /// What the parameters of releases mean.
    pub fn shape(&self) -> Shape {
        let n_features = self.n_features;
        self.federation.ranker.map_or(Shape::Linear { n_features }, |ranker| ranker.shape(n_features))
    }

    /// The hash of the [`FeatureSchema`].
    pub const fn features(&self) -> Fingerprint {
        self.features
    }

    pub const fn federation(&self) -> &FederationPlan {
        &self.federation
    }

    pub const fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Whether a device with these features, or a server, may work by this plan. Looks at its parts together, which takes
    /// some time: verify the signature first.
    pub fn admit(&self, features: &FeatureSchema) -> Result<(), PlanError> {
        if self.simulated { Err(PlanError::Simulated) } else { self.check_for(features) }
    }

    /// The same for a plan that may be for simulations.
    pub fn check_for(&self, features: &FeatureSchema) -> Result<(), PlanError> {
        let (own, n_own) = (features.hash()?, features.features.len());
        match () {
            () if self.features != own => Err(PlanError::Features { plan: self.features, own }),
            () if self.n_features != n_own => Err(PlanError::FeatureCount { plan: self.n_features, own: n_own }),
            () => self.check_device(),
        }
    }

    /// How devices protect what they send, and how the server adds it up.
    pub fn mechanism(&self) -> Result<Mechanism, PlanError> {
        self.federation.mechanism(self.shape().n_params()).map_err(|error| refusal("privacy", error))
    }

    /// What a device does in a round.
    pub fn learning(&self) -> Result<Learning, PlanError> {
        let FederationPlan { learner, list_length, n_interactions, .. } = self.federation;
        let learning = learner.client(list_length, n_interactions, self.mechanism()?.clip_radius());
        learning.ok_or_else(|| PlanError::Problems(self.federation.undeployable()))
    }

    /// The server of the plan, with these first parameters; for plans with rounds and without shards.
    pub fn coordinator(&self, initial: Params) -> Result<Coordinator, PlanError> {
        match (self.federation.asynchrony, self.federation.shards) {
            (None, None) => Ok(Coordinator::new(self.setup(initial)?)?),
            _ => Err(PlanError::OtherServer),
        }
    }

    /// The same for plans with shards.
    pub fn sharded_coordinator(&self, initial: Params) -> Result<ShardedCoordinator, PlanError> {
        let shards = self.federation.shards.ok_or(PlanError::OtherServer)?;
        Ok(ShardedCoordinator::new(&self.setup(initial)?, ShardIsolation { shards })?)
    }

    /// The same for plans without rounds.
    pub fn asynchronous_coordinator(&self, initial: Params) -> Result<AsynchronousCoordinator, PlanError> {
        let asynchrony = self.federation.asynchrony.ok_or(PlanError::OtherServer)?;
        Ok(AsynchronousCoordinator::new(self.setup(initial)?, asynchrony)?)
    }

    fn setup(&self, initial: Params) -> Result<Setup, PlanError> {
        let n_params = self.shape().n_params();
        if initial.len() != n_params {
            let message = format!("must have the {n_params} values of the plan's model, not {}", initial.len());
            return Err(PlanError::Problems(vec![PlanProblem { key: "initial".into(), message }]));
        }
        self.federation.setup(initial, self.simulated).map_err(|error| refusal("privacy", error))
    }

    /// What the payload of a contribution must be.
    pub fn expected(&self) -> Result<Expected, PlanError> {
        self.federation.expected(self.shape().n_params()).map_err(|error| refusal("privacy", error))
    }

    /// The shard of the device with this number; 0 without shards.
    pub fn shard_of(&self, number: u32) -> u32 {
        self.federation.shards.map_or(0, |shards| ShardIsolation { shards }.shard_of(number))
    }

    /// The number of contributions at which a round may close before its deadline: that of a cohort of fixed size, in which
    /// somebody else takes the place of who is not there. Without one a round waits for everybody: closed at any smaller
    /// number it would have such a cohort, and its guarantee would not be that of the plan.
    pub fn quorum(&self) -> Option<u32> {
        match self.federation.participation {
            Participation::Sample(size) => Some(size),
            Participation::Everyone | Participation::PoissonSampling(_) => None,
        }
    }

    /// What can be seen at once: the protocol, sizes, and what is for simulations only.
    fn check_form(&self) -> Result<(), PlanError> {
        if self.protocol != VERSION {
            return Err(PlanError::Protocol { got: self.protocol });
        }
        let mut problems = self.federation.undeployable();
        problems.extend(self.federation.check_model(self.n_features));
        refuse(problems)
    }

    /// Whether the parts of the plan go together, and a device can work by them: it makes nothing of a server's size.
    pub(crate) fn check_device(&self) -> Result<(), PlanError> {
        refuse(self.federation.check())?;
        Session::new(self.shape(), self.learning()?)?;
        Ok(())
    }

    /// The same for a device and a server.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        self.check_device()?;
        let initial = vec![0.0; self.shape().n_params()];
        match (self.federation.asynchrony, self.federation.shards) {
            (Some(_), _) => self.asynchronous_coordinator(initial).map(drop),
            (None, Some(_)) => self.sharded_coordinator(initial).map(drop),
            (None, None) => self.coordinator(initial).map(drop),
        }
    }
}

fn refusal(section: &str, error: MechanismError) -> PlanError {
    let key = if error.key.is_empty() { section.into() } else { format!("{section}.{}", error.key) };
    PlanError::Problems(vec![PlanProblem { key, message: error.message }])
}

fn refuse(problems: Vec<PlanProblem>) -> Result<(), PlanError> {
    if problems.is_empty() { Ok(()) } else { Err(PlanError::Problems(problems)) }
}

impl Document for Plan {
    const NAME: &'static str = "foltr plan";

    type Error = PlanError;

    fn encode(&self) -> Result<Vec<u8>, PlanError> {
        Ok(canonical::encode(self)?)
    }

    fn decode(bytes: &[u8]) -> Result<Self, PlanError> {
        let plan: Self = canonical::decode(bytes)?;
        plan.check_form()?;
        Ok(plan)
    }
}
