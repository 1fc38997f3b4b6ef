//! What an upload is answered with.

use foltr_federation::Fingerprint;

use super::{Model, Sent, Vector};
use crate::store::federations::Phase;
use crate::tests::simulation::operation::Twist;
use crate::tests::simulation::plans::{BUFFER, RATE_LIMIT};

/// What a device sends.
#[derive(Clone, Debug)]
pub struct Sending {
    pub number: u32,
    pub twist: Twist,
    /// The number of the plan; nothing if there never was such a plan.
    pub plan: Option<i64>,
    pub round: u32,
    pub version: usize,
    pub delta: Vector,
    pub hash: Fingerprint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// 201, now.
    New,
    /// 200, with the receipt of this time.
    Known(u64),
    Refused(&'static str),
}

impl Verdict {
    pub fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known(_) => "known",
            Self::Refused(name) => name,
        }
    }
}

impl Model {
    pub fn verdict(&self, sending: &Sending) -> Verdict {
        match sending.twist {
            Twist::OtherPath => return Verdict::Refused("other-device"),
            Twist::ForgedSignature => return Verdict::Refused("bad-signature"),
            _ if !self.devices[sending.number as usize].1 => return Verdict::Refused("revoked"),
            _ => {}
        }
        let known = sending.plan.and_then(|plan| self.sent.get(&(plan, sending.round, sending.number)));
        match (known, self.problem(sending)) {
            (Some(sent), _) if sent.hash == sending.hash => Verdict::Known(sent.time),
            (Some(_), _) => Verdict::Refused("already-contributed"),
            (None, Some(problem)) => Verdict::Refused(problem),
            (None, None) => Verdict::New,
        }
    }

    fn problem(&self, sending: &Sending) -> Option<&'static str> {
        let is_round = self.is_asynchronous() || sending.round == self.round;
        let n_buffered = self.open.iter().filter(|(number, _)| *number == sending.number).count();
        let checks = [
            (sending.plan != Some(self.plan_number()), "other-plan"),
            (sending.twist == Twist::OtherBody, "other-device"),
            (self.is_asynchronous() && self.is_held, "unavailable"),
            (self.phase != Phase::Open || !is_round, "round-closed"),
            (!self.is_invited(sending.number), "not-invited"),
            (!self.is_start(sending.version), "unknown-start"),
            (self.is_asynchronous() && n_buffered >= RATE_LIMIT, "buffer-limit"),
        ];
        checks.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, name)| name)
    }

    pub fn is_invited(&self, number: u32) -> bool {
        let id = self.devices[number as usize].0;
        self.lottery.is_none_or(|lottery| (number as usize) < self.n_eligible && lottery.invites(&id))
    }

    /// A new key is no new model: what started before it is as old as it was.
    fn is_start(&self, version: usize) -> bool {
        let newer = self.releases.get(version + 1..).unwrap_or_default();
        let age = newer.iter().filter(|release| !release.is_key).count();
        version >= self.first_start && version <= self.newest() && age < self.kind().n_starts()
    }

    /// Counts an upload that is new.
    pub fn take(&mut self, sending: &Sending) {
        let plan = sending.plan.expect("a plan in force");
        let sent = Sent { hash: sending.hash, time: self.now };
        self.sent.insert((plan, sending.round, sending.number), sent);
        self.open.push((sending.number, sending.delta));
        if self.is_asynchronous() && self.open.len() == BUFFER {
            self.master = self.fold();
            self.publish(false);
            self.end_round(true);
            self.open.clear();
            self.round += 1;
        }
    }
}
