//! A device contributes, in every honest and dishonest way.

use anyhow::{Result, ensure};
use foltr_federation::protocol::{Contribution, ContributionReceipt, ReleaseId, Signed};
use foltr_federation::{Fingerprint, Payload};

use super::Run;
use crate::call::{Answer, Call, Method};
use crate::tests::simulation::model::{Sending, Verdict};
use crate::tests::simulation::operation::{Network, Twist};
use crate::tests::world::{BASE, problem, text};

/// A contribution that was acknowledged.
#[derive(Clone)]
pub struct Past {
    pub sending: Sending,
    pub call: Call,
}

impl Run {
    pub(super) fn upload(&mut self, device: usize, replica: usize, twist: Twist, network: Network) -> Result<()> {
        if self.members.is_empty() {
            return Ok(());
        }
        let number = device % self.members.len();
        let past = &self.members[number].past;
        let (sending, call) = match twist {
            Twist::Earlier(_) if past.is_empty() => return Ok(()),
            Twist::Earlier(which) => {
                let Past { sending, call } = past[which % past.len()].clone();
                (sending, call)
            }
            twist => self.request(number as u32, twist),
        };
        if network == Network::LosesRequest {
            return Ok(());
        }
        let answer = self.replicas[replica].answer(&call);
        if !self.has_key[replica] {
            ensure!(answer.status >= 400, "a replica without the key answered {}", text(&answer));
            return Ok(());
        }
        let verdict = self.model.verdict(&sending);
        self.note((answer.status, problem(&answer)));
        self.compare(&sending, &call, &answer, &verdict)?;
        self.count(&format!("upload: {}", verdict.name()), 1);
        if verdict == Verdict::New {
            self.model.take(&sending);
        }
        let has_answer = network == Network::Works;
        if has_answer && matches!(verdict, Verdict::New | Verdict::Known(_)) {
            self.members[number].past.push(Past { sending, call });
        }
        Ok(())
    }

    /// Each device moves the model by a power of two of its own.
    fn request(&self, number: u32, twist: Twist) -> (Sending, Call) {
        let member = &self.members[number as usize];
        let round = match twist {
            Twist::Round(by) => (i64::from(self.model.round) + by).max(0) as u32,
            _ => self.model.round,
        };
        let sign = if round % 2 == 0 { 1.0 } else { -1.0 };
        let variant = if twist == Twist::OtherBytes { 0.5 } else { 0.0 };
        let delta = [sign * 2.0_f64.powi(number as i32), sign * (3.0 * f64::from(number) + variant)];
        let newest = self.model.newest();
        let version = if let Twist::Stale(by) = twist { newest.saturating_sub(by) } else { newest };
        let is_known = twist != Twist::UnknownPlan;
        let plan = if is_known { self.model.plan().hash } else { Fingerprint::of(b"no plan") };
        let other = &self.members[(number as usize + 1) % self.members.len()].device;
        let contribution = Contribution {
            plan,
            round,
            start: self.start(number, version),
            device: if twist == Twist::OtherBody { other.id } else { member.device.id },
            payload: Payload::Step { n_interactions: 4, delta: delta.map(|value| value as f32).to_vec() },
        };
        let in_path = if twist == Twist::OtherPath { other.id } else { member.device.id };
        let path = format!("{BASE}/rounds/{round}/contributions/{in_path}");
        let mut call = member.device.call(Method::Put, &path, contribution.encode());
        if twist == Twist::ForgedSignature {
            call.signature = other.call(Method::Put, &path, contribution.encode()).signature;
        }
        let (plan, hash) = (is_known.then(|| self.model.plan_number()), contribution.hash());
        (Sending { number, twist: self.effective(twist), plan, round, version, delta, hash }, call)
    }

    /// With one device, another one is the same.
    fn effective(&self, twist: Twist) -> Twist {
        let is_alone = self.members.len() == 1;
        let needs_other = matches!(twist, Twist::OtherPath | Twist::OtherBody | Twist::ForgedSignature);
        if is_alone && needs_other { Twist::Honest } else { twist }
    }

    fn start(&self, number: u32, version: usize) -> ReleaseId {
        self.ids[(number % self.model.kind().n_shards()) as usize][version]
    }

    pub(super) fn compare(&self, sending: &Sending, call: &Call, answer: &Answer, verdict: &Verdict) -> Result<()> {
        let (status, time) = match verdict {
            Verdict::Refused(name) => {
                let found = problem(answer);
                ensure!(found == *name, "{sending:?} must be refused as {name}: {}", text(answer));
                return Ok(());
            }
            Verdict::New => (201, self.model.now),
            Verdict::Known(time) => (200, *time),
        };
        ensure!(answer.status == status, "{sending:?} must be answered by {status}: {}", text(answer));
        let receipt = Signed::<ContributionReceipt>::decode(&answer.body)?;
        let receipt = receipt.verify(&self.key.public_key())?;
        let device = self.members[sending.number as usize].device.id;
        let is_for = receipt.contribution == Contribution::hash_of(&call.body) && receipt.device == device;
        ensure!(is_for && receipt.round == sending.round, "the receipt is for something else: {receipt:?}");
        ensure!(receipt.time == time, "the receipt is of {}, and the contribution of {time}", receipt.time);
        Ok(())
    }
}
