//! Joining a federation: enrolment, the look at its plan, and the owner's consent.

use foltr_federation::protocol::{
    Enrolment, EnrolmentRequest, FeatureSchema, Invitation, Plan, PlanError, ReleaseChain, Signed,
};
use foltr_federation::{Device, Fingerprint};
use foltr_rank::Session;
use foltr_rank::session::StoredImpression;

use super::event::{Action, Consent};
use super::membership::{Address, DeviceKey, Enrolled, Member, Membership, Standing, promise};
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
            return vec![Action::Answer(Err(refused))];
        }
        self.schedule.succeed();
        self.write_switches();
        self.must_be_durable = true;
        self.visit_server(now, random)
    }

    /// A membership of this federation: the present one with another consent, or a new one.
    fn prepare(
        &mut self,
        invitation: &Invitation,
        consent: Consent,
        random: &mut dyn Randomness,
    ) -> Result<(), Refused> {
        if let Some(forgetting) = &self.forgetting {
            return Err(Refused::BeingForgotten { address: forgetting.address.as_str().to_owned() });
        }
        let address = Address::of(invitation);
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
        Ok(())
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
        let Some(membership) = &mut self.membership else { return Err(FederationError::NotAsked) };
        let (number, key, present) = match &membership.standing {
            Standing::Invited(_) => return Err(FederationError::NotAsked),
            Standing::Enrolled(enrolled) => (enrolled.number, enrolled.key, None),
            Standing::Member(member) => (member.number, member.chain.key(), Some(&**member)),
        };
        let signed = Signed::<Plan>::decode(body).map_err(|error| unreadable("plan", &error))?;
        let plan = signed.verify(&key).map_err(|_| FederationError::Forged { what: "plan" })?;
        if signed.hash() != hash {
            return Err(FederationError::OtherPlan { expected: hash, got: signed.hash() });
        }
        admit(plan, &self.features.schema, is_simulation).map_err(FederationError::Plan)?;
        let (needed, guarantee) = promise(plan).map_err(FederationError::Plan)?;
        let is_consented = needed <= membership.consent;
        let shard = plan.shard_of(number);
        match present {
            None if is_consented => {}
            None => return Err(FederationError::NeedsConsent { needed, words: guarantee.words.summary }),
            Some(_) if !is_consented => {
                return Err(FederationError::NewPlan { why: format!("it promises less: {}", guarantee.words.summary) });
            }
            Some(present) if present.chain.shard() != shard => {
                return Err(FederationError::NewPlan { why: "it moves this device to another shard".into() });
            }
            Some(_) => {}
        }
        self.ledgers.open(membership.address.as_str(), plan, self.options.budget)?;
        let chain = match present {
            None => ReleaseChain::new(hash, shard, key),
            Some(present) => {
                let mut chain = present.chain;
                chain.change_plan(hash);
                chain
            }
        };
        let member = Member::new(plan.clone(), body.to_vec(), number, chain).map_err(FederationError::Plan)?;
        self.enter(member);
        Ok(())
    }

    /// Goes on as this member. What belonged to another plan goes; lists that are open stay so if they can.
    fn enter(&mut self, member: Member) {
        let Some(membership) = &mut self.membership else { return };
        if let Standing::Member(former) = &mut membership.standing {
            self.leaving = former.device.take();
            self.writes.extend(former.releases.keys().map(|&version| Write::delete(Item::Release(version))));
            self.writes.push(Write::delete(Item::State(State::Outbox)));
        }
        self.writes.push(Write::put(Item::State(State::Plan), member.signed_plan.clone()));
        member.write_progress(&mut self.writes);
        membership.standing = Standing::Member(Box::new(member));
        self.drop_adoption();
        if let Some(visit) = &mut self.visit {
            visit.new_plan = None;
        }
        self.write_membership();
        self.ledgers.write(&mut self.writes);
        self.must_be_durable = true;
    }

    fn drop_adoption(&mut self) {
        if let Some(adoption) = self.adoption.take() {
            let first = adoption.n_observed() - adoption.n_lists() as u64;
            self.writes.extend((first..adoption.n_observed()).map(|number| Write::delete(Item::List(number))));
            self.list_times.clear();
            self.write_adoption();
        }
    }

    /// Lists that were open under the former plan, in a device of the new one; those that do not fit are gone.
    pub(super) fn with_open_lists(&mut self, device: Device, plan: &Plan) -> Device {
        let Some(former) = self.leaving.take() else { return device };
        let (old, new) = (former.session(), device.session());
        let impressions: Vec<Vec<u8>> = old.open().iter().map(StoredImpression::encode).collect();
        let session = Session::join(&new.encode_learner(), &old.encode_clock(), &impressions);
        Device::load(plan, &Device::join(&device.save_head(), &session)).unwrap_or_else(|_| {
            self.writes.extend(old.open().iter().map(|list| Write::delete(Item::Impression(list.id().0))));
            device
        })
    }
}

fn admit(plan: &Plan, features: &FeatureSchema, is_simulation: bool) -> Result<(), PlanError> {
    if is_simulation && plan.is_simulated() { plan.check_for(features) } else { plan.admit(features) }
}

pub(super) fn unreadable(what: &'static str, why: &dyn std::fmt::Display) -> FederationError {
    FederationError::Unreadable { what, why: why.to_string() }
}
