//! What must be true, said without the server's code: who is enrolled, what was acknowledged, what each release is made of.

pub mod closing;
mod uploads;

use std::collections::BTreeMap;

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{DeviceId, Lottery};

use super::plans::{Kind, QUORUM};
use crate::store::federations::Phase;

pub use uploads::{Sending, Verdict};

/// Of federations without rounds.
const NEVER: u64 = i64::MAX as u64;
use crate::rounds::LEASE_SECONDS as LEASE;

pub type Vector = [f64; 2];

/// An acknowledged contribution.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub hash: Fingerprint,
    pub time: u64,
}

pub struct PlanModel {
    pub kind: Kind,
    pub hash: Fingerprint,
    pub n_rounds: u32,
}

pub struct ReleaseModel {
    /// Of every shard.
    pub params: Vec<Vector>,
    /// Says a new key, and has the model of the one before.
    pub is_key: bool,
}

/// A round that is over: its plan, its number, and the numbers of those in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    pub plan: i64,
    pub round: u32,
    pub numbers: Vec<u32>,
    pub is_buffer: bool,
}

#[derive(Clone, Copy)]
pub struct InvitationModel {
    pub uses: u32,
    pub expires_at: u64,
    pub is_revoked: bool,
}

pub struct Settings {
    pub round_seconds: u64,
    pub minimum: usize,
    /// Seconds in which only some devices see a task; 0 for none.
    pub stage: u64,
    pub seed: u64,
}

pub struct Model {
    pub settings: Settings,
    pub now: u64,
    pub plans: Vec<PlanModel>,
    pub is_held: bool,
    pub phase: Phase,
    pub round: u32,
    pub deadline: u64,
    staged_until: u64,
    lease_until: u64,
    pub fence: u64,
    n_eligible: usize,
    pub lottery: Option<Lottery>,
    n_wanted: usize,
    /// By number: the id, and whether it is active.
    pub devices: Vec<(DeviceId, bool)>,
    pub sent: BTreeMap<(i64, u32, u32), Sent>,
    /// In the open round or the buffer: numbers and updates.
    pub open: Vec<(u32, Vector)>,
    pub releases: Vec<ReleaseModel>,
    first_start: usize,
    master: Vec<Vector>,
    pub over: Vec<Over>,
    pub invitations: Vec<InvitationModel>,
}

/// What decides about a lottery.
pub fn lottery_value(seed: u64, round: u32) -> [u8; 32] {
    *Fingerprint::of(&[seed.to_le_bytes(), u64::from(round).to_le_bytes()].concat()).as_bytes()
}

impl Model {
    pub fn new(settings: Settings, plan: PlanModel, now: u64) -> Self {
        let zero = vec![[0.0; 2]; plan.kind.n_shards() as usize];
        Self {
            settings,
            now,
            plans: vec![plan],
            is_held: false,
            phase: Phase::Waiting,
            round: 0,
            deadline: now,
            staged_until: 0,
            lease_until: 0,
            fence: 0,
            n_eligible: 0,
            lottery: None,
            n_wanted: 0,
            devices: Vec::new(),
            sent: BTreeMap::new(),
            open: Vec::new(),
            releases: vec![ReleaseModel { params: zero.clone(), is_key: false }],
            first_start: 0,
            master: zero,
            over: Vec::new(),
            invitations: Vec::new(),
        }
    }

    pub fn plan(&self) -> &PlanModel {
        &self.plans[self.plans.len() - 1]
    }

    pub fn kind(&self) -> Kind {
        self.plan().kind
    }

    pub fn plan_number(&self) -> i64 {
        self.plans.len() as i64
    }

    pub fn is_asynchronous(&self) -> bool {
        self.kind() == Kind::Buffered
    }

    pub fn newest(&self) -> usize {
        self.releases.len() - 1
    }

    pub fn n_active(&self) -> usize {
        self.devices.iter().filter(|(_, is_active)| *is_active).count()
    }

    fn open_round(&mut self) {
        self.phase = Phase::Open;
        self.open.clear();
        self.staged_until = if self.settings.stage > 0 { self.now + self.settings.stage } else { 0 };
        self.deadline = match self.is_asynchronous() {
            true => NEVER,
            false => self.staged_until.max(self.now) + self.settings.round_seconds,
        };
        (self.lottery, self.n_eligible) = (None, self.devices.len());
        if self.kind() == Kind::Lottery {
            let active = self.devices.iter().filter(|(_, is_active)| *is_active);
            let ids: Vec<DeviceId> = active.map(|(id, _)| *id).collect();
            let lottery = Lottery::drawing(lottery_value(self.settings.seed, self.round), QUORUM as usize, &ids);
            self.n_wanted = ids.iter().filter(|id| lottery.invites(id)).count();
            self.lottery = Some(lottery);
        }
    }

    fn open_if_ready(&mut self) {
        if self.phase == Phase::Waiting && !self.is_held && self.n_active() >= self.settings.minimum {
            self.open_round();
        }
    }

    fn next_round(&mut self) {
        let is_over = !self.is_asynchronous() && self.round >= self.plan().n_rounds;
        self.phase = if is_over { Phase::Finished } else { Phase::Waiting };
        self.open.clear();
        self.open_if_ready();
    }

    fn publish(&mut self, is_key: bool) {
        let published = |master: &Vector| master.map(|value| f64::from(value as f32));
        self.releases.push(ReleaseModel { params: self.master.iter().map(published).collect(), is_key });
    }

    pub fn hold(&mut self, is_held: bool) {
        match is_held {
            true if !self.is_held && self.staged_until > self.now => self.staged_until = NEVER,
            false if self.is_held && self.staged_until == NEVER => {
                self.staged_until = self.now + self.settings.stage;
                self.deadline = self.deadline.max(self.staged_until + self.settings.round_seconds);
            }
            _ => {}
        }
        if self.is_held && !is_held && self.phase == Phase::Open && !self.is_asynchronous() {
            self.deadline = self.deadline.max(self.now + self.settings.round_seconds);
        }
        self.is_held = is_held;
    }

    fn abandon(&mut self) {
        self.fence += 1;
        if !self.is_asynchronous() && matches!(self.phase, Phase::Open | Phase::Closing) {
            self.end_round(false);
        }
        self.open.clear();
    }

    fn end_round(&mut self, is_buffer: bool) {
        let mut numbers: Vec<u32> = self.open.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        self.over.push(Over { plan: self.plan_number(), round: self.round, numbers, is_buffer });
    }

    pub fn roll_back(&mut self, version: usize) {
        self.abandon();
        self.master.clone_from(&self.releases[version].params);
        self.publish(false);
        self.first_start = self.newest();
        self.round += 1;
        self.next_round();
    }

    pub fn change_plan(&mut self, plan: PlanModel) {
        self.abandon();
        // Every shard begins with the model of the first one.
        self.master = vec![self.releases[self.newest()].params[0]; self.master.len()];
        self.plans.push(plan);
        self.publish(false);
        self.first_start = self.newest();
        self.round = 0;
        self.next_round();
    }

    /// What a device sent to a round that is open is taken out; it takes part no more.
    pub fn forget(&mut self, number: u32) {
        self.devices[number as usize].1 = false;
        if self.phase == Phase::Open && !self.is_asynchronous() {
            self.sent.remove(&(self.plan_number(), self.round, number));
            self.open.retain(|(own, _)| *own != number);
        }
    }

    pub fn rotate_key(&mut self) {
        let params = self.releases[self.newest()].params.clone();
        self.releases.push(ReleaseModel { params, is_key: true });
    }
}
