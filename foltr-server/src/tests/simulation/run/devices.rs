//! Devices join, and look at what the server gives out.

use anyhow::{Context, Result, ensure};
use foltr_federation::protocol::{Enrolment, ForgetRequest, MOST_HEADERS, ReleaseChain, Signed, Task, decode_headers};

use super::{Member, Run};
use crate::call::Method;
use crate::store::federations::Phase;
use crate::tests::simulation::operation::Network;
use crate::tests::simulation::plans::N_CLIENTS;
use crate::tests::world::{BASE, NAME, TestDevice, problem, text};

impl Run {
    pub(super) fn enrol(&mut self, replica: usize, again: Option<usize>) -> Result<()> {
        let Some((invitation, _)) = self.invitation.clone() else { return Ok(()) };
        let again = again.filter(|_| !self.members.is_empty()).map(|device| device % self.members.len());
        let number = again.unwrap_or(self.members.len());
        let device = TestDevice::new(number as u64 + 1);
        let answer = self.replicas[replica].answer(&device.enrolment(&invitation));
        self.note((answer.status, problem(&answer)));
        let expected = self.enrolment(again);
        let found = if answer.status < 300 { answer.status.to_string() } else { problem(&answer) };
        ensure!(found == expected, "enrolment must be answered by {expected}: {}", text(&answer));
        if answer.status < 300 {
            let enrolment = Signed::<Enrolment>::decode(&answer.body)?;
            let enrolment = *enrolment.verify(&self.key.public_key())?;
            ensure!(enrolment.number as usize == number, "the device is number {}", enrolment.number);
        }
        if answer.status == 201 {
            self.model.invitations.last_mut().context("an invitation")?.uses -= 1;
            self.model.devices.push((device.id, true));
            let shard = number as u32 % self.model.kind().n_shards();
            let newest = self.ids[shard as usize].last().copied();
            let (plan, key) = (self.model.plan().hash, self.key.public_key());
            let chain = ReleaseChain::resume(plan, shard, key, newest);
            self.members.push(Member { device, chain, past: Vec::new() });
        }
        Ok(())
    }

    fn enrolment(&self, again: Option<usize>) -> String {
        if let Some(number) = again {
            return if self.model.devices[number].1 { "200" } else { "revoked" }.to_owned();
        }
        let invitation = self.model.invitations.last().expect("it was asked for");
        let may_join = invitation.uses > 0 && !invitation.is_revoked && invitation.expires_at > self.model.now;
        match () {
            () if !may_join => "invitation-refused".to_owned(),
            () if self.members.len() >= N_CLIENTS => "federation-full".to_owned(),
            () => "201".to_owned(),
        }
    }

    /// These plans cannot unlearn. Who asks leaves all the same, with what it sent to the open round.
    pub(super) fn forget(&mut self, device: usize, replica: usize, network: Network) -> Result<()> {
        // Some stay, or there is nothing to see any more.
        if self.members.is_empty() || self.model.n_active() <= 3 || network == Network::LosesRequest {
            return Ok(());
        }
        let (number, replica) = (device % self.members.len(), self.signer(replica));
        let leaver = &self.members[number].device;
        let request = ForgetRequest { device: leaver.id, plan: self.model.plan().hash };
        let answer =
            self.replicas[replica].answer(&leaver.call(Method::Post, &format!("{BASE}/forget"), request.encode()));
        let is_refused = problem(&answer) == "cannot-forget";
        ensure!(answer.status == 202 || is_refused, "who asks to be forgotten is answered {}", text(&answer));
        self.count(if is_refused { "forget: known" } else { "forget: queued" }, 1);
        if !is_refused {
            self.model.forget(number as u32);
        }
        Ok(())
    }

    /// Only of a replica that knows the newest revision: others may be a little behind.
    pub(super) fn task(&mut self, device: usize, replica: usize) -> Result<()> {
        if self.members.is_empty() || !self.has_key[replica] || self.model.settings.stage > 0 {
            return Ok(());
        }
        let number = device % self.members.len();
        let service = &self.replicas[replica];
        service.federations[NAME].refresh(&service.pool)?;
        let shard = self.members[number].chain.shard();
        let path = format!("{BASE}/task?shard={shard}");
        let answer = service.answer(&self.members[number].device.call(Method::Get, &path, Vec::new()));
        let is_open = self.model.phase == Phase::Open && !self.model.is_held;
        if !self.model.devices[number].1 {
            ensure!(problem(&answer) == "revoked", "a revoked device gets {}", text(&answer));
        } else if !is_open {
            ensure!(answer.status == 204, "no round is open: {}", text(&answer));
        } else {
            ensure!(answer.status == 200, "a round is open: {}", text(&answer));
            let task = Signed::<Task>::decode(&answer.body)?;
            let task = task.verify(&self.key.public_key())?;
            let start = self.ids[shard as usize].last().copied();
            ensure!(task.round == self.model.round && Some(task.start) == start, "{task:?}");
            ensure!(task.plan == self.model.plan().hash && task.lottery == self.model.lottery, "{task:?}");
            ensure!(task.deadline == self.model.deadline, "{task:?} ends at {}", self.model.deadline);
        }
        self.note(answer.status);
        Ok(())
    }

    pub(super) fn follow(&mut self, device: usize, replica: usize) -> Result<()> {
        if self.members.is_empty() {
            return Ok(());
        }
        let number = device % self.members.len();
        let Member { device, chain, .. } = &mut self.members[number];
        let after = chain.newest().map_or(0, |newest| newest.version);
        let path = format!("{BASE}/headers?shard={}&after={after}", chain.shard());
        let answer = self.replicas[replica].answer(&device.call(Method::Get, &path, Vec::new()));
        // A replica that was not started since may know the device as it was, or not the key.
        if answer.status != 200 {
            let is_right = problem(&answer) == "revoked" && !self.model.devices[number].1;
            ensure!(is_right || !self.has_key[replica], "headers are refused: {}", text(&answer));
            return Ok(());
        }
        for header in decode_headers(&answer.body, MOST_HEADERS)? {
            let plan = header.unverified().plan;
            if plan != chain.plan() {
                chain.change_plan(plan);
            }
            ensure!(chain.follow(&header)?, "release {} came before", header.unverified().version);
        }
        let newest = chain.newest().map(|newest| newest.version as usize);
        ensure!(newest == Some(self.model.newest()), "the device is at {newest:?}, of {}", self.model.newest());
        Ok(())
    }
}
