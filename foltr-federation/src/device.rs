//! One device of a federation, without I/O, clock or randomness of its own: what a device library and a test of equality
//! with the simulator have in common.
//!
//! A [`Device`] has a [`Session`], which ranks and learns, and what its owner's messages rest on beside it: the release that
//! the round started from, and the memory of its momentum. Its update leaves through [`Outgoing`], in the order that the
//! simulator has too.

use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::learn::Models;
use foltr_rank::session::{
    ClickError, DecodeError, FinishError, ImpressionId, ModelsError, RankError, Session, SessionError, Shown,
    StoredImpression,
};
use foltr_rank::{Learning, Params, QueryView, Shape, Update};
use rand::Rng;
use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::message::{Payload, RoundTask};
use crate::noise::NoiseSource;
use crate::outgoing::Outgoing;
use crate::privacy::Mechanism;
use crate::protocol::{Contribution, DeviceId, Document, Plan, PlanError, Release, ReleaseHeader, ReleaseId, Task};
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
/// let pdgd = PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
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
/// let shown = device.rank(query.view(), 100, &mut random)?;
/// device.clicked(shown.impression, 1, 101)?;
/// device.dismiss(shown.impression)?;
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
    shard: u32,
    session: Session,
    /// Of the momentum; zeros before the first message.
    memory: Vec<f32>,
    /// The release that the open round began with.
    start: Option<ReleaseId>,
    /// Contributions so far: without rounds each has its own number.
    n_contributions: u32,
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
    n_rounds: u32,
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
    #[error("this is of shard {got}, the device belongs to {expected}")]
    OtherShard { expected: u32, got: u32 },
    #[error("the task is of round {round}; the plan has {n_rounds}, and its noise is for no more")]
    BeyondPlan { round: u32, n_rounds: u32 },
    #[error("the task says to which norm updates are clipped, which the plan does not leave to the server")]
    ClipNorm,
    #[error("the task does not invite this device")]
    NotInvited,
    #[error("the task names another release {version} than the one that this device has")]
    Fork { version: u32 },
    #[error("a device that learns by rewards has no update of zero")]
    NoZeroUpdate,
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
        plan.check_device()?;
        let (federation, shape) = (plan.federation(), plan.shape());
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(Self {
            shape,
            learning: plan.learning()?,
            mechanism: plan.mechanism()?,
            staleness: federation.staleness.unwrap_or_default(),
            momentum: federation.defence.and_then(|defence| defence.momentum),
            has_rounds: federation.asynchrony.is_none(),
            n_rounds: count(federation.n_rounds),
            n_clients: count(federation.n_clients),
            n_interactions: count(federation.n_interactions),
            is_simulated: plan.is_simulated(),
        })
    }

    fn memory_len(&self) -> usize {
        self.momentum.map_or(0, |momentum| momentum.state_len(self.shape.n_params()))
    }

    fn payload(
        &self,
        update: Update<'_>,
        staleness: u32,
        memory: &mut [f32],
        task: &Task,
        noise: &mut dyn NoiseSource,
    ) -> Payload {
        let Self { ref mechanism, staleness: rule, momentum, n_clients, n_interactions, .. } = *self;
        // No mechanism looks at the model.
        let global = Params::new();
        let round = RoundTask { round: task.round, global, n_clients, n_interactions, clip_norm: task.clip_norm };
        let outgoing = Outgoing { staleness: rule, momentum, privacy: &**mechanism };
        let mut payload = Payload::default();
        outgoing.make(update, staleness, memory, &round, noise, &mut payload);
        payload
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
        Ok(Self {
            plan: plan.hash()?,
            memory: vec![0.0; rules.memory_len()],
            rules,
            shard: plan.shard_of(number),
            session,
            start: None,
            n_contributions: 0,
        })
    }

    /// Begins a round from a release that the device has verified. What is drawn from `public` may be transmitted.
    pub fn begin(&mut self, release: &Release, public: &mut dyn Rng) -> Result<(), DeviceError> {
        let ReleaseHeader { plan, shard, .. } = *release.header();
        self.check_origin(plan, shard)?;
        let (id, global) = (release.id(), release.params());
        self.session.begin(Models { global, clusters: &[] }, id.version, public)?;
        self.start = Some(id);
        Ok(())
    }

    /// Makes lists with another model than one of the plan's releases, and learns from them for itself: there is nothing to
    /// contribute until the next [`Self::begin`].
    pub fn rest(&mut self, model: &[f32], version: u32, public: &mut dyn Rng) -> Result<(), DeviceError> {
        self.session.begin(Models { global: model, clusters: &[] }, version, public)?;
        self.start = None;
        Ok(())
    }

    /// See [`Session::rank`].
    pub fn rank(&mut self, query: QueryView<'_>, now: u64, private: &mut dyn Rng) -> Result<Shown, RankError> {
        self.session.rank(query, now, private)
    }

    /// See [`Session::clicked`].
    pub fn clicked(&mut self, impression: ImpressionId, position: usize, now: u64) -> Result<(), ClickError> {
        self.session.clicked(impression, position, now)
    }

    /// See [`Session::dismiss`].
    pub fn dismiss(&mut self, impression: ImpressionId) -> Result<StoredImpression, ClickError> {
        self.session.dismiss(impression)
    }

    /// See [`Session::withdraw`].
    pub fn withdraw(&mut self, impression: ImpressionId) -> Result<StoredImpression, ClickError> {
        self.session.withdraw(impression)
    }

    /// See [`Session::expire`].
    pub fn expire(&mut self, now: u64, after: u64) -> Option<StoredImpression> {
        self.session.expire(now, after)
    }

    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// See [`Session::continue_from`].
    pub fn continue_from(&mut self, next: ImpressionId) {
        self.session.continue_from(next);
    }

    /// The release that the open round began with.
    pub const fn start(&self) -> Option<ReleaseId> {
        self.start
    }

    /// Contributions so far.
    pub const fn n_contributions(&self) -> u32 {
        self.n_contributions
    }

    /// Numbers of contributions begin here, in a device that takes the place of another with the same id.
    pub fn continue_contributions(&mut self, next: u32) {
        self.n_contributions = self.n_contributions.max(next);
    }

    /// Interactions that a round needs.
    pub const fn n_interactions(&self) -> u32 {
        self.rules.n_interactions
    }

    /// Whether a round that began with this release can still join one that starts from the newest version.
    pub const fn is_fresh(&self, start: u32, newest: u32) -> bool {
        !self.rules.has_rounds || newest.saturating_sub(start) <= self.rules.staleness.most
    }

    /// Whether the round has the interactions that the plan asks for. It may get more while no task is open; they count in
    /// the update, and not in its weight.
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
        self.check_task(task, &device, noise)?;
        let start = self.start.ok_or(FinishError::NoRound)?;
        let staleness = self.staleness(task, start)?;
        self.start = None;
        let update = match self.session.finish()?.update {
            Update::Step { delta, n_interactions } => {
                Update::Step { delta, n_interactions: n_interactions.min(self.rules.n_interactions) }
            }
            update => update,
        };
        let payload = self.rules.payload(update, staleness, &mut self.memory, task, noise);
        Ok(self.number(Contribution { plan: self.plan, round: task.round, start, device, payload }))
    }

    /// The message of a device that has nothing to say in this round: an update of zero, protected like any other, that says to
    /// have started from this release. The open round goes on.
    ///
    /// For devices that refuse a release, in a plan that protects single messages or sums: whether a device sends anything
    /// must not depend on its owner's clicks.
    pub fn zero_contribution(
        &mut self,
        task: &Task,
        start: ReleaseId,
        device: DeviceId,
        noise: &mut dyn NoiseSource,
    ) -> Result<Contribution, DeviceError> {
        self.check_task(task, &device, noise)?;
        if let Learning::Evolution { .. } = self.rules.learning {
            return Err(DeviceError::NoZeroUpdate);
        }
        let zero = vec![0.0; self.rules.shape.n_params()];
        let update = Update::Step { delta: &zero, n_interactions: self.rules.n_interactions };
        let payload = self.rules.payload(update, 0, &mut self.memory, task, noise);
        Ok(self.number(Contribution { plan: self.plan, round: task.round, start, device, payload }))
    }

    /// Without rounds a contribution is named by how many this device has made before it.
    const fn number(&mut self, mut contribution: Contribution) -> Contribution {
        if !self.rules.has_rounds {
            contribution.round = self.n_contributions;
        }
        self.n_contributions = self.n_contributions.saturating_add(1);
        contribution
    }

    /// Whether the device may be asked this, by its plan.
    fn check_task(&self, task: &Task, device: &DeviceId, noise: &dyn NoiseSource) -> Result<(), DeviceError> {
        self.check_origin(task.plan, task.shard)?;
        let Rules { has_rounds, n_rounds, is_simulated, ref mechanism, .. } = self.rules;
        match () {
            () if noise.is_simulated() && !is_simulated => Err(DeviceError::SimulatedNoise),
            () if has_rounds && task.round >= n_rounds => Err(DeviceError::BeyondPlan { round: task.round, n_rounds }),
            () if task.clip_norm.is_some() && !mechanism.has_moving_norm() => Err(DeviceError::ClipNorm),
            () if !task.invites(device) => Err(DeviceError::NotInvited),
            () => Ok(()),
        }
    }

    /// How many releases ago the round started; without rounds that is for the server to weigh.
    fn staleness(&self, task: &Task, start: ReleaseId) -> Result<u32, DeviceError> {
        let (needed, got) = (self.rules.n_interactions, self.session.n_interactions());
        if got < needed {
            return Err(DeviceError::Interactions { needed, got });
        }
        let (start, newest) = (start, task.start);
        let ahead = DeviceError::Ahead { start: start.version, newest: newest.version };
        let staleness = newest.version.checked_sub(start.version).ok_or(ahead)?;
        if staleness == 0 && start != newest {
            return Err(DeviceError::Fork { version: start.version });
        }
        match self.rules.staleness.most {
            _ if !self.rules.has_rounds => Ok(0),
            most if staleness > most => Err(DeviceError::TooStale { staleness, most }),
            _ => Ok(staleness),
        }
    }

    fn check_origin(&self, plan: Fingerprint, shard: u32) -> Result<(), DeviceError> {
        match () {
            () if plan != self.plan => Err(DeviceError::OtherPlan { expected: self.plan, got: plan }),
            () if shard != self.shard => Err(DeviceError::OtherShard { expected: self.shard, got: shard }),
            () => Ok(()),
        }
    }

    /// All of it as bytes, at any moment.
    pub fn save(&self) -> Vec<u8> {
        Self::join(&self.save_head(), &self.session.encode())
    }

    /// All but the session, which [has parts](Session::encode_learner): it changes when a round begins and when a message is
    /// made.
    pub fn save_head(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        out.bytes(self.plan.as_bytes()).u32(self.shard).u32(self.n_contributions).f32s(&self.memory);
        out.option(self.start, |out, release| release.write(out));
        out.0
    }

    /// The bytes of a whole device whose parts were stored one by one.
    pub fn join(head: &[u8], session: &[u8]) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(head).len(session.len()).bytes(session);
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
        let (shard, n_contributions) = (input.u32()?, input.u32()?);
        input.require(shard < plan.federation().shards.unwrap_or(1), "a shard that the plan does not have")?;
        let memory = input.f32s(rules.memory_len())?;
        let start = input.option(ReleaseId::read)?;
        let len = input.len(1)?;
        let personalisation = plan.federation().personalisation;
        let session = Session::decode(input.take(len)?, rules.shape, rules.learning, personalisation)?;
        input.require(start.is_none_or(|start| session.release() == Some(start.version)), "another release")?;
        input.clone().finish()?;
        Ok(Self { plan: plan_hash, rules, shard, session, memory, start, n_contributions })
    }
}

const NAME: &str = "foltr device 1";
