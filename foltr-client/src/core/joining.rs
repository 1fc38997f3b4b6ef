//! Joining a federation: enrolment, the look at its plan, and the owner's consent.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{
    Enrolment, EnrolmentRequest, FeatureSchema, Invitation, Plan, PlanError, ReleaseChain, Signed,
};

use super::event::{Action, Consent};
use super::membership::{Address, DeviceKey, Enrolled, Member, Membership, Standing, promise};
use super::sync::PlanChange;
use super::{Core, FederationError, Refused};
use crate::item::{Item, State, Write};
use crate::randomness::Randomness;

impl Core {
    pub(super) fn join(
        &mut self,
        invitation: &Invitation,
        consent: Consent,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Vec<Action> {
        if let Err(refused) = self.prepare(invitation, consent, random) {
            let mut actions = self.store_actions();
            actions.push(Action::Answer(Err(refused)));
            return actions;
        }
        self.schedule.succeed();
        self.write_switches();
        self.visit_server(true, now, random)
    }

    /// A membership of this federation: the present one with another consent, or a new one.
    fn prepare(
        &mut self,
        invitation: &Invitation,
        consent: Consent,
        random: &mut dyn Randomness,
    ) -> Result<(), Refused> {
        let address = Address::of(invitation);
        if self.forgettings.iter().any(|forgetting| forgetting.address == address) {
            return Err(Refused::BeingForgotten { address: address.as_str().to_owned() });
        }
        self.must_be_durable = true;
        match &mut self.membership {
            Some(present) if present.address != address => {
                return Err(Refused::OtherFederation { address: present.address.as_str().to_owned() });
            }
            Some(present) => {
                present.consent = consent;
                if let Standing::Invited(invited) = &mut present.standing {
                    *invited = invitation.clone();
                }
            }
            none => {
                let mut secret = [0; 32];
                random.noise().fill_bytes(&mut secret);
                let (key, standing) = (DeviceKey::new(secret), Standing::Invited(invitation.clone()));
                *none = Some(Membership { address, consent, key, standing });
            }
        }
        self.write_membership();
        // Who takes a consent back sends nothing more.
        match self.member() {
            Some(member) if member.needed > consent => {
                let words = promise(&member.plan).map_or_else(|error| error.to_string(), |it| it.1.words.summary);
                Err(FederationError::NeedsConsent { needed: member.needed, words }.into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write_membership(&mut self) {
        let Self { membership, writes, .. } = self;
        if let Some(membership) = membership {
            membership.write(writes);
        }
    }

    pub(super) fn enrolment_body(&self) -> Vec<u8> {
        match self.membership.as_ref().map(|membership| (&membership.standing, &membership.key)) {
            Some((Standing::Invited(invitation), key)) => {
                EnrolmentRequest::new(invitation, key.key.public_key()).encode()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn take_enrolment(&mut self, body: &[u8]) -> Result<(), FederationError> {
        let Some(membership) = &mut self.membership else { return Err(FederationError::NotAsked) };
        let Standing::Invited(invitation) = &membership.standing else { return Err(FederationError::NotAsked) };
        let signed = Signed::<Enrolment>::decode(body).map_err(|error| unreadable("enrolment", &error))?;
        let enrolment = Enrolment::verify(&signed, invitation, &membership.key.id);
        let Enrolment { number, key, plan, .. } = *enrolment.map_err(FederationError::Enrolment)?;
        membership.standing = Standing::Enrolled(Enrolled { number, key, plan });
        self.write_membership();
        self.must_be_durable = true;
        Ok(())
    }

    /// The plan of this hash: that of the enrolment, or a new one.
    pub(super) fn take_plan(
        &mut self,
        hash: Fingerprint,
        body: &[u8],
        is_simulation: bool,
    ) -> Result<(), FederationError> {
        let Some(membership) = &self.membership else { return Err(FederationError::NotAsked) };
        let key = match &membership.standing {
            Standing::Invited(_) => return Err(FederationError::NotAsked),
            Standing::Enrolled(enrolled) => enrolled.key,
            Standing::Member(_) => self.chain().ok_or(FederationError::NotAsked)?.key(),
        };
        let signed = Signed::<Plan>::decode(body).map_err(|error| unreadable("plan", &error))?;
        let plan = signed.verify(&key).map_err(|_| FederationError::Forged { what: "plan" })?.clone();
        if signed.hash() != hash {
            return Err(FederationError::OtherPlan { expected: hash, got: signed.hash() });
        }
        admit(&plan, &self.features.schema, is_simulation).map_err(FederationError::Plan)?;
        let (needed, guarantee) = promise(&plan).map_err(FederationError::Plan)?;
        let is_consented = needed <= membership.consent;
        match &membership.standing {
            Standing::Enrolled(enrolled) if is_consented => {
                let (number, shard) = (enrolled.number, plan.shard_of(enrolled.number));
                let chain = ReleaseChain::new(hash, shard, key);
                self.enter(plan, body.to_vec(), number, chain, needed)
            }
            Standing::Enrolled(_) => Err(FederationError::NeedsConsent { needed, words: guarantee.words.summary }),
            _ if !is_consented => {
                Err(FederationError::NewPlan { why: format!("it promises less: {}", guarantee.words.summary) })
            }
            _ => self.prepare_change(plan, body.to_vec(), hash, needed),
        }
    }

    /// The first plan of a membership.
    fn enter(
        &mut self,
        plan: Plan,
        signed: Vec<u8>,
        number: u32,
        chain: ReleaseChain,
        needed: Consent,
    ) -> Result<(), FederationError> {
        let Some(membership) = &mut self.membership else { return Err(FederationError::NotAsked) };
        self.ledgers.open(membership.address.as_str(), &plan, self.options.budget)?;
        let mut member = Member::new(plan, signed, number, chain, needed).map_err(FederationError::Plan)?;
        let ledger = self.ledgers.get(membership.address.as_str());
        member.progress.next_round = ledger.map_or(0, |ledger| ledger.next_round(&member.task(&membership.key.id)));
        self.writes.push(Write::put(Item::State(State::Plan), member.signed_plan.clone()));
        member.write_progress(&mut self.writes);
        membership.standing = Standing::Member(Box::new(member));
        self.write_membership();
        self.ledgers.write(&mut self.writes);
        self.must_be_durable = true;
        Ok(())
    }

    /// A new plan takes effect with its first release, and until then nothing changes. By itself a device follows a plan
    /// only if nothing that protects its owner becomes less.
    fn prepare_change(
        &mut self,
        plan: Plan,
        signed: Vec<u8>,
        hash: Fingerprint,
        needed: Consent,
    ) -> Result<(), FederationError> {
        let (Some(present), Some(chain)) = (self.member(), self.chain()) else { return Err(FederationError::NotAsked) };
        let mut chain = *chain;
        let shard = plan.shard_of(present.number);
        let next = Member::new(plan, signed, present.number, chain, needed).map_err(FederationError::Plan)?;
        // What is not a number is not less.
        let says_no_more = next.message_epsilon() <= present.message_epsilon();
        let why = match () {
            () if chain.shard() != shard => Some("it moves this device to another shard"),
            () if next.plan.shape() != present.plan.shape() => Some("its model has another form"),
            () if present.is_testable() && !next.is_testable() => Some("its releases cannot be tested before use"),
            () if !says_no_more => Some("a message says more about its sender"),
            () => None,
        };
        let is_joining = self.visit.as_ref().is_some_and(|visit| visit.is_joining);
        match why {
            Some(why) if !is_joining => return Err(FederationError::NewPlan { why: why.into() }),
            Some(_) if chain.shard() != shard => chain = ReleaseChain::new(hash, shard, chain.key()),
            _ => chain.change_plan(hash),
        }
        let is_moved = self.chain().is_some_and(|present| present.shard() != chain.shard());
        if let Some(visit) = &mut self.visit {
            if is_moved {
                // The other shard has its own.
                (visit.task, visit.is_idle, visit.has_newest) = (None, false, false);
            }
            visit.new_plan = None;
            visit.change = Some(Box::new(PlanChange { next, chain }));
        }
        Ok(())
    }
}

fn admit(plan: &Plan, features: &FeatureSchema, is_simulation: bool) -> Result<(), PlanError> {
    if is_simulation && plan.is_simulated() { plan.check_for(features) } else { plan.admit(features) }
}

pub(super) fn unreadable(what: &'static str, why: &dyn std::fmt::Display) -> FederationError {
    FederationError::Unreadable { what, why: why.to_string() }
}
