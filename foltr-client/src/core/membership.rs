//! A device's place in a federation: its keys, the plan, the releases that it follows, and what waits to be sent.

mod saved;

use std::collections::BTreeMap;
use std::fmt;

use foltr_federation::accountant::PrivacyCost;
use foltr_federation::privacy::MechanismError;
use foltr_federation::protocol::{
    DeviceId, Invitation, Plan, PlanError, PublicKey, Release, ReleaseChain, ReleaseId, SecretKey, Task,
};
use foltr_federation::{Device, Fingerprint, Observer, PlanGuarantee};
use foltr_rank::Learner;
use foltr_rank::bytes::{BytesError, Reader, Writer};

use super::error::LoadError;
use super::event::Consent;
use super::local::OWN_MODEL;
use crate::item::{Item, Records, State, Write};
use saved::{SavedMember, read_enrolled, read_head, read_invitation};

const NAME: &str = "foltr membership 1";

/// The key of a device, with the bytes that it is stored as.
#[derive(Clone)]
pub(super) struct DeviceKey {
    secret: [u8; 32],
    pub key: SecretKey,
    pub id: DeviceId,
}

impl DeviceKey {
    pub fn new(secret: [u8; 32]) -> Self {
        let key = SecretKey::from_bytes(&secret);
        let id = key.public_key().device_id();
        Self { secret, key, id }
    }

    pub const fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceKey(of {})", self.id)
    }
}

#[derive(Debug)]
pub(super) struct Membership {
    pub address: Address,
    pub consent: Consent,
    pub key: DeviceKey,
    pub standing: Standing,
}

/// How far a device got in joining.
#[derive(Debug)]
pub(super) enum Standing {
    Invited(Invitation),
    /// The server knows the device; the plan was not looked at, or not consented to.
    Enrolled(Enrolled),
    Member(Box<Member>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Enrolled {
    pub number: u32,
    /// Signs for the federation.
    pub key: PublicKey,
    pub plan: Fingerprint,
}

#[derive(Debug)]
pub(super) struct Member {
    pub number: u32,
    pub chain: ReleaseChain,
    /// The newest release that the device has adopted or refused.
    pub considered: Option<u32>,
    pub plan: Plan,
    pub signed_plan: Vec<u8>,
    pub cost: PrivacyCost,
    /// How little the plan lets its members be content with.
    pub needed: Consent,
    pub releases: BTreeMap<u32, Release>,
    /// Of the model that lists are made with: a release, or [`OWN_MODEL`].
    pub in_use: u32,
    pub device: Option<Device>,
    pub progress: Progress,
    pub outbox: Option<Outbox>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// The first round that this device has not answered.
    pub next_round: u32,
    /// Lists that ended since the last message, or since a release after which older rounds are of no use.
    pub n_ended: u64,
    /// The newest release when the first of them ended, or before: what a round that counts them began with.
    pub since: Option<ReleaseId>,
    pub n_messages: u64,
    pub n_receipts: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outbox {
    pub round: u32,
    pub message: Vec<u8>,
    /// Not to be sent before, in seconds since 1970.
    pub send_at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address(String);

impl Address {
    pub fn of(invitation: &Invitation) -> Self {
        Self(invitation.address.clone())
    }

    /// One that was stored, if an invitation can have it.
    pub fn read(input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let text = input.text()?;
        match Invitation::new(text, Fingerprint::default(), [0; 32]) {
            Ok(invitation) => Ok(Self::of(&invitation)),
            Err(_) => Err(input.wrong("no address of a federation")),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Scheme, host and port; and the path behind them.
    pub fn split(&self) -> (&str, &str) {
        let host = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0[host..].find('/').map_or(self.0.len(), |at| host + at);
        self.0.split_at(end)
    }
}

impl Member {
    pub fn new(
        plan: Plan,
        signed_plan: Vec<u8>,
        number: u32,
        chain: ReleaseChain,
        needed: Consent,
    ) -> Result<Self, PlanError> {
        let cost = plan.federation().round_cost(plan.shape().n_params()).map_err(|error| problem(&error))?;
        Ok(Self {
            number,
            chain,
            considered: None,
            cost: cost.unseen.1,
            needed,
            plan,
            signed_plan,
            releases: BTreeMap::new(),
            in_use: OWN_MODEL,
            device: None,
            progress: Progress::default(),
            outbox: None,
        })
    }

    /// The name of the plan in the ledger, for this device.
    pub fn task(&self, device: &DeviceId) -> String {
        format!("{}/{device}", self.chain.plan())
    }

    /// The number of the next message in the ledger.
    pub fn ledger_round(&self, task: &Task) -> u32 {
        let next = self.device.as_ref().map_or(0, Device::n_contributions);
        if self.has_rounds() { task.round } else { next }
    }

    /// Lists are counted anew where those before the newest release are of no use any more, whatever became of them.
    pub fn count_from(&mut self, newest: ReleaseId) {
        let Progress { n_ended, since, .. } = &mut self.progress;
        let is_fresh = |since: ReleaseId| {
            self.device.as_ref().is_some_and(|device| device.is_fresh(since.version, newest.version))
        };
        if *n_ended == 0 || !since.is_some_and(is_fresh) {
            (*n_ended, *since) = (0, Some(newest));
        }
    }

    /// Whether the open round can go on with the model in use.
    pub fn goes_on(&self) -> bool {
        let (Some(device), Some(newest)) = (&self.device, self.chain.newest()) else { return false };
        match device.start() {
            Some(start) if start.version == self.in_use => true,
            Some(start) => device.session().n_interactions() > 0 && device.is_fresh(start.version, newest.version),
            // Lists of a model of a former plan.
            None => {
                let is_former = self.release().is_some_and(|release| release.header().plan != self.chain.plan());
                is_former && device.session().release() == Some(self.in_use)
            }
        }
    }

    /// Whether messages are protected: then whether one comes must not depend on clicks.
    pub fn is_private(&self) -> bool {
        self.cost != PrivacyCost::Unbounded
    }

    /// Epsilon of one message, at the delta of the plan.
    pub fn message_epsilon(&self) -> f64 {
        self.cost.after(1, self.plan.federation().delta()).epsilon
    }

    /// Whether the newest release was adopted.
    pub fn uses_newest(&self) -> bool {
        self.considered == Some(self.in_use)
    }

    /// Whether lists are made with the federation's learner.
    pub fn makes_lists(&self) -> bool {
        self.in_use != OWN_MODEL && self.device.is_some()
    }

    /// The release in use, if lists are made with one.
    pub fn release(&self) -> Option<&Release> {
        self.releases.get(&self.in_use).filter(|_| self.in_use != OWN_MODEL)
    }

    pub fn has_rounds(&self) -> bool {
        self.plan.federation().asynchrony.is_none()
    }

    /// Whether releases are tested before they are used: a ranker of one's own and lists that are not drawn from scores give
    /// no evidence.
    pub fn is_testable(&self) -> bool {
        let federation = self.plan.federation();
        federation.personalisation.is_none() && matches!(federation.learner, Learner::Pdgd(_))
    }

    pub fn learns_by_rewards(&self) -> bool {
        matches!(self.plan.federation().learner, Learner::Evolution(_))
    }

    pub fn write_outbox(&self, writes: &mut Vec<Write>) {
        let bytes = self.outbox.as_ref().map(|outbox| {
            let mut out = Writer::default();
            out.u32(outbox.round).u64(outbox.send_at).len(outbox.message.len()).bytes(&outbox.message);
            out.0
        });
        writes.push(Write { item: Item::State(State::Outbox), bytes });
    }

    pub fn write_progress(&self, writes: &mut Vec<Write>) {
        let Progress { next_round, n_ended, since, n_messages, n_receipts } = self.progress;
        let mut out = Writer::default();
        out.u32(next_round).u64(n_ended).u64(n_messages).u64(n_receipts);
        out.option(since, write_release_id);
        writes.push(Write::put(Item::State(State::Progress), out.0));
    }

    /// The device between two lists: its round, and its learner.
    pub fn write_device(&self, writes: &mut Vec<Write>) {
        if let Some(device) = &self.device {
            writes.push(Write::put(Item::State(State::Device), device.save_head()));
            self.write_learner(writes);
        }
    }

    pub fn write_learner(&self, writes: &mut Vec<Write>) {
        if let Some(device) = &self.device {
            writes.push(Write::put(Item::State(State::Learner), device.session().encode_learner()));
        }
    }

    pub fn write_clock(&self, writes: &mut Vec<Write>) {
        if let Some(device) = &self.device {
            writes.push(Write::put(Item::State(State::Clock), device.session().encode_clock()));
        }
    }
}

fn problem(error: &MechanismError) -> PlanError {
    let problem =
        foltr_federation::PlanProblem { key: format!("privacy.{}", error.key), message: error.message.clone() };
    PlanError::Problems(vec![problem])
}

/// What the plan asks of its members' trust, and its promise in words.
pub(super) fn promise(plan: &Plan) -> Result<(Consent, PlanGuarantee), PlanError> {
    let federation = plan.federation();
    let guarantee =
        federation.guarantee(plan.shape().n_params(), federation.delta()).map_err(|error| problem(&error))?;
    let holds = |against: Observer| {
        let mut observers = guarantee.observers.iter().filter(|it| it.against == against);
        observers.any(|it| it.message.is_some_and(|message| message.epsilon.is_finite()))
    };
    let needed = match () {
        () if holds(Observer::Server) => Consent::ProtectedMessages,
        () if holds(Observer::OtherClients) => Consent::TrustedServer,
        () => Consent::NoPromise,
    };
    Ok((needed, guarantee))
}

impl Membership {
    /// What the server is asked to do is signed by the device, and named by its path.
    pub fn write(&self, writes: &mut Vec<Write>) {
        let mut out = Writer::named(NAME);
        out.text(self.address.as_str()).u8(self.consent as u8).bytes(self.key.secret());
        match &self.standing {
            Standing::Invited(invitation) => {
                out.u8(0).text(&invitation.to_string());
            }
            Standing::Enrolled(Enrolled { number, key, plan }) => {
                out.u8(1).u32(*number).bytes(key.as_bytes()).bytes(plan.as_bytes());
            }
            Standing::Member(member) => {
                let Member { number, chain, considered, in_use, needed, .. } = &**member;
                out.u8(2).u8(*needed as u8).u32(*number).bytes(chain.key().as_bytes()).bytes(chain.plan().as_bytes());
                out.u32(chain.shard()).option(chain.newest(), write_release_id);
                out.option(*considered, |out, version| {
                    out.u32(version);
                });
                out.u32(*in_use);
            }
        }
        writes.push(Write::put(Item::State(State::Federation), out.0));
    }

    /// Nothing if the device is alone. Impressions are those of the open round.
    pub fn load(records: &Records, impressions: &[Vec<u8>]) -> Result<Option<Self>, LoadError> {
        let damaged = |error: BytesError| LoadError::damaged(State::Federation.name(), error);
        let Some(record) = records.get(&Item::State(State::Federation)) else { return Ok(None) };
        let mut input = Reader::new(&record.bytes);
        let (address, consent, key) = read_head(&mut input).map_err(damaged)?;
        let standing = match input.u8().map_err(damaged)? {
            0 => Standing::Invited(read_invitation(&mut input).map_err(damaged)?),
            1 => Standing::Enrolled(read_enrolled(&mut input).map_err(damaged)?),
            2 => {
                let saved = SavedMember::read(&mut input).map_err(damaged)?;
                Standing::Member(Box::new(saved.load(records, impressions)?))
            }
            _ => return Err(LoadError::damaged(State::Federation.name(), "an unknown standing")),
        };
        input.finish().map_err(damaged)?;
        Ok(Some(Self { address, consent, key, standing }))
    }

    /// Whether the owner's word covers what the plan does with messages.
    pub fn may_send(&self) -> bool {
        self.member().is_some_and(|member| member.needed <= self.consent)
    }

    pub fn member(&self) -> Option<&Member> {
        if let Standing::Member(member) = &self.standing { Some(member) } else { None }
    }

    pub fn member_mut(&mut self) -> Option<&mut Member> {
        if let Standing::Member(member) = &mut self.standing { Some(member) } else { None }
    }
}

fn write_release_id(out: &mut Writer, id: ReleaseId) {
    out.u32(id.version).bytes(id.hash.as_bytes());
}
