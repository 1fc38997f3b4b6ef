//! Making a message, booking it, and sending it until it is taken or nobody wants it any more.

use foltr_federation::device::DeviceError;
use foltr_federation::protocol::{Contribution, ContributionReceipt, Signed, Task};
use foltr_rank::session::FinishError;
use rand::RngExt;

use super::event::{Answer, Synced};
use super::joining::unreadable;
use super::local::OWN_MODEL;
use super::membership::{Member, Membership, Outbox};
use super::sync::{Asked, Next};
use super::{Core, FederationError};
use crate::item::{Item, Write};
use crate::randomness::Randomness;

const RECEIPTS: u64 = 100;

/// Refusals after which a message is of no use any more.
const LOST: [&str; 4] = ["round-closed", "unknown-start", "not-invited", "other-plan"];

impl Core {
    /// Makes the message of an open round, if the device has something to say, may say it and is asked.
    ///
    /// Message, ledger and learner are stored together before anything is sent.
    pub(super) fn contribute(
        &mut self,
        task: &Signed<Task>,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Result<Next, FederationError> {
        if let Some(next) = self.next_of_outbox(now)? {
            return Ok(next);
        }
        let task = *task.unverified();
        let nothing = Ok(Next::Done(Synced::UpToDate));
        if !self.is_asked(&task) {
            return nothing;
        }
        let made = self.make(&task, random);
        // A round that was not in step with those of others begins anew with them.
        let is_renewed = matches!(made, Ok(Some(_))) && self.member().is_some_and(Member::uses_newest);
        // Also if nothing was made, or it cannot be booked: without a round there are no lists.
        self.renew_round(is_renewed, random)?;
        let Some(contribution) = made? else { return nothing };
        let message = contribution.encode();
        let Self { membership: Some(membership), ledgers, .. } = self else { return nothing };
        let (address, id) = (membership.address.as_str().to_owned(), membership.key.id);
        let Some(member) = membership.member_mut() else { return nothing };
        ledgers.book(&address, &member.task(&id), contribution.round, member.cost, &message)?;
        self.must_be_durable = true;
        let send_at = now.saturating_add(delay(self.options.upload_delay, task.deadline, now, random));
        member.outbox = Some(Outbox { round: contribution.round, message, send_at });
        member.progress.next_round = task.round.saturating_add(1);
        member.progress.n_messages += 1;
        member.progress.n_ended = 0;
        member.progress.since = member.chain.newest();
        member.write_outbox(&mut self.writes);
        member.write_progress(&mut self.writes);
        self.ledgers.write(&mut self.writes);
        Ok(self.next_of_outbox(now)?.unwrap_or(Next::Done(Synced::UpToDate)))
    }

    /// What to do about a message that waits.
    pub(super) fn next_of_outbox(&mut self, now: u64) -> Result<Option<Next>, FederationError> {
        let Self { membership: Some(membership), visit: Some(visit), .. } = self else { return Ok(None) };
        let may_send = membership.may_send();
        let Some(member) = membership.member() else { return Ok(None) };
        let Some(outbox) = &member.outbox else { return Ok(None) };
        match visit.doubted {
            // The receipt was signed by a key that came with a later release.
            Some(key) if key != member.chain.key() => visit.doubted = None,
            Some(_) => return Err(FederationError::Forged { what: "receipt" }),
            None if visit.is_sent || !may_send => return Ok(Some(Next::Done(Synced::UpToDate))),
            None => {}
        }
        let seconds = outbox.send_at.saturating_sub(now);
        Ok(Some(if seconds == 0 { Next::Ask(Asked::Contribution) } else { Next::Done(Synced::Waiting { seconds }) }))
    }

    fn is_asked(&self, task: &Task) -> bool {
        let Some(membership) = &self.membership else { return false };
        let Some(member) = membership.member() else { return false };
        let Some(device) = &member.device else { return false };
        let n_rounds = member.plan.federation().n_rounds;
        let is_open =
            !member.has_rounds() || (task.round >= member.progress.next_round && (task.round as usize) < n_rounds);
        // Where messages are protected, clicks must not decide whether one comes: lists are counted, whatever became of
        // them. Perturbed lists are never refused.
        let has_enough = match member.is_private() && !member.learns_by_rewards() {
            true => member.progress.n_ended >= u64::from(device.n_interactions()),
            false => member.in_use != OWN_MODEL && device.is_ready(),
        };
        let is_for_us = task.plan == member.chain.plan() && task.invites(&membership.key.id);
        let round = member.ledger_round(task);
        let (name, address) = (member.task(&membership.key.id), membership.address.as_str());
        let affords = || self.ledgers.affords(address, &name, round, member.cost);
        is_open && has_enough && is_for_us && membership.may_send() && affords()
    }

    /// The message of this round. Who shows another model than the newest, or did when the round of others began, has no
    /// update of that round: where messages are protected, an update of zero goes in its place.
    fn make(&mut self, task: &Task, random: &mut dyn Randomness) -> Result<Option<Contribution>, FederationError> {
        let Some(membership) = &mut self.membership else { return Ok(None) };
        let id = membership.key.id;
        let Some(member) = membership.member_mut() else { return Ok(None) };
        let (is_private, since) = (member.is_private(), member.progress.since.unwrap_or(task.start));
        let must_be_in_step = is_private && !member.learns_by_rewards();
        let uses_newest = member.uses_newest();
        let Member { device: Some(device), in_use, .. } = member else { return Ok(None) };
        let is_fresh = device.start().is_some_and(|start| device.is_fresh(start.version, task.start.version));
        let is_in_step = uses_newest && device.start() == Some(since);
        if device.is_ready() && is_fresh && *in_use != OWN_MODEL && (is_in_step || !must_be_in_step) {
            match device.contribution(task, id, random.noise()) {
                Err(DeviceError::Finish(FinishError::Overflow)) => {}
                made => return Ok(Some(made?)),
            }
        }
        match is_private.then(|| device.zero_contribution(task, since, id, random.noise())) {
            None | Some(Err(DeviceError::NoZeroUpdate)) => Ok(None),
            Some(made) => Ok(Some(made?)),
        }
    }

    pub(super) fn take_receipt(
        &mut self,
        answer: &Answer,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Result<(), FederationError> {
        if let Some(visit) = &mut self.visit {
            visit.is_sent = true;
        }
        if !answer.is_success() {
            return self.take_rejection(answer, now, random);
        }
        let signed =
            Signed::<ContributionReceipt>::decode(&answer.body).map_err(|error| unreadable("receipt", &error))?;
        let Self { membership: Some(membership), visit: Some(visit), writes, .. } = self else { return Ok(()) };
        let device = membership.key.id;
        let Some(member) = membership.member_mut() else { return Ok(()) };
        let Some(outbox) = &member.outbox else { return Ok(()) };
        if signed.verify(&member.chain.key()).is_err() {
            visit.doubted = Some(member.chain.key());
            return Ok(());
        }
        let receipt = *signed.unverified();
        let (plan, round) = (member.chain.plan(), outbox.round);
        let contribution = Contribution::hash_of(&outbox.message);
        if receipt != (ContributionReceipt { plan, round, device, contribution, time: receipt.time }) {
            return Err(FederationError::OtherReceipt);
        }
        let number = member.progress.n_receipts;
        member.progress.n_receipts += 1;
        member.write_progress(writes);
        writes.push(Write::put(Item::Receipt(number), answer.body.clone()));
        writes.extend(number.checked_sub(RECEIPTS).map(|old| Write::delete(Item::Receipt(old))));
        visit.contributed = Some(round);
        self.drop_message();
        Ok(())
    }

    fn take_rejection(
        &mut self,
        answer: &Answer,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Result<(), FederationError> {
        match answer.problem().as_deref() {
            Some(problem) if LOST.contains(&problem) => {
                self.drop_message();
                Ok(())
            }
            Some("already-contributed") => {
                let round = self.member().and_then(|member| member.outbox.as_ref()).map_or(0, |outbox| outbox.round);
                self.drop_message();
                // Its ledger is below what was sent, and nobody knows by how much.
                let address = self.membership.as_ref().map(|membership| membership.address.as_str().to_owned());
                address.iter().for_each(|address| self.ledgers.stop(address));
                self.ledgers.write(&mut self.writes);
                self.must_be_durable = true;
                Err(FederationError::OtherMessage { round })
            }
            _ => Err(self.refusal(Asked::Contribution, answer, now, random)),
        }
    }

    fn drop_message(&mut self) {
        let Self { membership, writes, .. } = self;
        if let Some(member) = membership.as_mut().and_then(Membership::member_mut) {
            member.outbox = None;
            member.write_outbox(writes);
        }
    }
}

/// Seconds until a message is sent: at random, and at most half of the time until the deadline.
fn delay(longest: u64, deadline: u64, now: u64, random: &mut dyn Randomness) -> u64 {
    let left = deadline.saturating_sub(now) / 2;
    match longest.min(if left == 0 { longest } else { left }) {
        0 => 0,
        longest => random.private().random_range(0..=longest),
    }
}
