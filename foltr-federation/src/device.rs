//! One device of a federation, without I/O, clock or randomness of its own: what a device library and a test of equality
//! with the simulator have in common.
//!
//! A [`Device`] has a [`Session`], which ranks and learns, and what its owner's messages rest on beside it: the release that
//! the round started from, and the memory of its momentum. Its update leaves through [`Outgoing`], in the order that the
//! simulator has too.

use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::learn::Models;
use foltr_rank::session::{DecodeError, FinishError, ModelsError, Session, SessionError};
use foltr_rank::{Learning, Params, Shape};
use rand::Rng;
use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::message::{Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::outgoing::Outgoing;
use crate::privacy::Mechanism;
use crate::protocol::{Contribution, DeviceId, Document, Plan, PlanError, Release, ReleaseId, Task};
use crate::staleness::Staleness;
use crate::worker_momentum::WorkerMomentum;

/// A device's side of a plan: begin a round from a release, let its [`Session`] rank and learn, make a contribution.
///
/// ```
/// use foltr_federation::protocol::{Document, FeatureSchema, Normalisation, Plan, Release, SecretKey, Task};
/// use foltr_federation::{Device, FederationPlan, Payload};
/// use foltr_rank::learn::PdgdParameters;
/// use foltr_rank::learn::pdgd::Updates;
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Candidates, Initialisation, Learner, RankerShape};
/// # struct Noise(foltr_rank::rng::Stream);
/// # impl rand::TryRng for Noise {
/// #     type Error = std::convert::Infallible;
/// #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { self.0.try_next_u32() }
/// #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { self.0.try_next_u64() }
/// #     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> { self.0.try_fill_bytes(bytes) }
/// # }
/// # impl foltr_federation::NoiseSource for Noise {
/// #     fn is_simulated(&self) -> bool { true }
/// # }
///
/// let pdgd = PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None };
/// let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
/// // One client, one interaction a round.
/// let federation = FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, 1, 1, 10);
/// let features = FeatureSchema::numbered(2, Normalisation::None);
/// let plan = Plan::new(federation, &features, true)?; // for a simulation
/// let key = SecretKey::from_bytes(&[7; 32]);
/// let release = Release::first(plan.hash()?, 0, vec![0.0, 0.0], &key)?;
///
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0); // the operating system's, on a device
/// let mut device = Device::new(&plan, 0, release.params(), &mut random)?;
/// device.begin(&release, &mut random)?;
/// let query = Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2)?;
/// let shown = device.session().rank(query.view(), 100, &mut random)?;
/// device.session().clicked(shown.impression, 1, 101)?;
/// device.session().dismiss(shown.impression)?;
/// assert!(device.is_ready());
///
/// let task = Task {
///     plan: plan.hash()?, round: 0, shard: 0, start: release.id(), clip_norm: None, deadline: 0, n_wanted: 1, lottery: None,
/// };
/// # let mut noise = Noise(Streams::new(1).open(Purpose::Noise, 0, 0));
/// let contribution = device.contribution(&task, key.public_key().device_id(), &mut noise)?;
/// assert!(matches!(contribution.payload, Payload::Step { n_interactions: 1, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Device {
    plan: Fingerprint,
    rules: Rules,
    session: Session,
    /// Of the momentum; zeros before the first message.
    memory: Vec<f32>,
    /// The release that the open round began with.
    start: Option<ReleaseId>,
}

/// What the plan asks of a device.
#[derive(Clone, Debug)]
struct Rules {
    shape: Shape,
    learning: Learning,
    mechanism: Mechanism,
    staleness: Staleness,
    momentum: Option<WorkerMomentum>,
    has_rounds: bool,
    n_clients: u32,
    n_interactions: u32,
    is_simulated: bool,
}

#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Models(#[from] ModelsError),
    #[error(transparent)]
    Finish(#[from] FinishError),
    #[error("this is of plan {got}, the device takes part in {expected}")]
    OtherPlan { expected: Fingerprint, got: Fingerprint },
    #[error("the round started from release {start}, the task asks for release {newest}: the device is ahead of it")]
    Ahead { start: u32, newest: u32 },
    #[error("the round started from a release {staleness} releases ago; at most {most} are allowed")]
    TooStale { staleness: u32, most: u32 },
    #[error("the round has {got} interactions, the plan asks for {needed}")]
    Interactions { needed: u32, got: u32 },
    #[error("this noise follows from a seed and protects nobody; the plan is for people")]
    SimulatedNoise,
    #[error("the saved session is not of this plan: {0}")]
    Saved(#[from] DecodeError),
    #[error("the saved device is not of this plan: {0}")]
    Bytes(#[from] BytesError),
}

impl Rules {
    fn of(plan: &Plan) -> Result<Self, DeviceError> {
        let (federation, shape) = (plan.federation(), plan.shape());
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(Self {
            shape,
            learning: plan.learning()?,
            mechanism: plan.mechanism()?,
            staleness: federation.staleness.unwrap_or_default(),
            momentum: federation.defence.and_then(|defence| defence.momentum),
            has_rounds: federation.asynchrony.is_none(),
            n_clients: count(federation.n_clients),
            n_interactions: count(federation.n_interactions),
            is_simulated: plan.is_simulated(),
        })
    }

    fn memory_len(&self) -> usize {
        self.momentum.map_or(0, |momentum| momentum.state_len(self.shape.n_params()))
    }
}

impl Device {
    /// A device that has never learnt, with the number that enrolment gave to it. A ranker of its own begins at `initial`,
    /// the model of the first release that it has seen.
    pub fn new(plan: &Plan, number: u32, initial: &[f32], private: &mut dyn Rng) -> Result<Self, DeviceError> {
        let rules = Rules::of(plan)?;
        let session = match plan.federation().personalisation {
            Some(method) => Session::personal(rules.shape, rules.learning, method, number, initial, private)?,
            None => Session::new(rules.shape, rules.learning)?,
        };
        Ok(Self { plan: plan.hash()?, memory: vec![0.0; rules.memory_len()], rules, session, start: None })
    }

    /// Begins a round from a release that the device has verified. What is drawn from `public` may be transmitted.
    pub fn begin(&mut self, release: &Release, public: &mut dyn Rng) -> Result<(), DeviceError> {
        self.check_plan(release.header().plan)?;
        let (id, global) = (release.id(), release.params());
        self.session.begin(Models { global, clusters: &[] }, id.version, public)?;
        self.start = Some(id);
        Ok(())
    }

    /// Ranks, takes clicks and ends impressions.
    pub const fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Whether the round has the interactions that the plan asks for.
    pub fn is_ready(&self) -> bool {
        self.start.is_some() && self.session.n_interactions() >= self.rules.n_interactions
    }

    /// Ends the round and makes the message with which the device joins the task's round. Its bytes, what they cost and
    /// [`Self::save`] must be durable before the first of them is sent; a retry sends them again, and never makes others.
    ///
    /// After an error nothing has changed, but for a round that overflowed, which is lost.
    pub fn contribution(
        &mut self,
        task: &Task,
        device: DeviceId,
        noise: &mut dyn NoiseSource,
    ) -> Result<Contribution, DeviceError> {
        self.check_plan(task.plan)?;
        let staleness = self.staleness(task)?;
        if noise.is_simulated() && !self.rules.is_simulated {
            return Err(DeviceError::SimulatedNoise);
        }
        let start = self.start.take().ok_or(FinishError::NoRound)?;
        let Rules { mechanism, staleness: rule, momentum, n_clients, n_interactions, .. } = &self.rules;
        let (n_clients, n_interactions) = (*n_clients, *n_interactions);
        // No mechanism looks at the model.
        let global = Params::new();
        let round = RoundTask { round: task.round, global, n_clients, n_interactions, clip_norm: task.clip_norm };
        let outgoing = Outgoing { staleness: *rule, momentum: *momentum, privacy: &**mechanism };
        let mut payload = Payload::default();
        let update = self.session.finish()?.update;
        outgoing.make(update, staleness, &mut self.memory, &round, noise, &mut payload);
        Ok(Contribution { plan: self.plan, round: task.round, start, device, payload })
    }

    /// How many releases ago the round started; without rounds that is for the server to weigh.
    fn staleness(&self, task: &Task) -> Result<u32, DeviceError> {
        let start = self.start.ok_or(FinishError::NoRound)?.version;
        let (needed, got) = (self.rules.n_interactions, self.session.n_interactions());
        if got < needed {
            return Err(DeviceError::Interactions { needed, got });
        }
        let newest = task.start.version;
        let staleness = newest.checked_sub(start).ok_or(DeviceError::Ahead { start, newest })?;
        match self.rules.staleness.most {
            _ if !self.rules.has_rounds => Ok(0),
            most if staleness > most => Err(DeviceError::TooStale { staleness, most }),
            _ => Ok(staleness),
        }
    }

    fn check_plan(&self, got: Fingerprint) -> Result<(), DeviceError> {
        let expected = self.plan;
        if got == expected { Ok(()) } else { Err(DeviceError::OtherPlan { expected, got }) }
    }

    /// All of it as bytes, at any moment.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        out.bytes(self.plan.as_bytes()).f32s(&self.memory);
        out.option(self.start, |out, release| release.write(out));
        let session = self.session.encode();
        out.len(session.len()).bytes(&session);
        out.0
    }

    /// Goes on from saved bytes with the next bits that the saved device would have had.
    pub fn load(plan: &Plan, bytes: &[u8]) -> Result<Self, DeviceError> {
        let (rules, plan_hash, input) = (Rules::of(plan)?, plan.hash()?, &mut Reader::new(bytes));
        let name = input.text()?;
        input.require(name == NAME, "this is no saved device")?;
        let got = Fingerprint::from_bytes(input.array()?);
        if got != plan_hash {
            return Err(DeviceError::OtherPlan { expected: plan_hash, got });
        }
        let memory = input.f32s(rules.memory_len())?;
        let start = input.option(ReleaseId::read)?;
        let len = input.len(1)?;
        let personalisation = plan.federation().personalisation;
        let session = Session::decode(input.take(len)?, rules.shape, rules.learning, personalisation)?;
        input.require(start.map(|start| start.version) == session.release(), "another release")?;
        input.clone().finish()?;
        Ok(Self { plan: plan_hash, rules, session, memory, start })
    }
}

const NAME: &str = "foltr device 1";
