//! A new plan takes the place of the present one, in one transaction with its first release.

use foltr_federation::Device;
use foltr_federation::protocol::{Plan, Release};
use foltr_rank::Session;
use foltr_rank::adoption::ShownList;
use foltr_rank::session::StoredImpression;

use super::local::OWN_MODEL;
use super::membership::{Member, Membership};
use super::sync::PlanChange;
use super::{Core, FederationError, Owner};
use crate::item::{Item, State, Write};
use crate::randomness::Randomness;

impl Core {
    pub(super) fn change_plan(
        &mut self,
        change: PlanChange,
        release: &Release,
        random: &mut dyn Randomness,
    ) -> Result<(), FederationError> {
        let PlanChange { mut next, chain } = change;
        next.chain = chain;
        let Some(membership) = &mut self.membership else { return Err(FederationError::NotAsked) };
        let address = membership.address.as_str().to_owned();
        self.ledgers.open(&address, &next.plan, self.options.budget)?;
        let task = next.task(&membership.key.id);
        let first_round = self.ledgers.get(&address).map_or(0, |ledger| ledger.next_round(&task));
        let Some(former) = membership.member_mut() else { return Err(FederationError::NotAsked) };
        let mut device = Device::new(&next.plan, next.number, release.params(), random.private())?;
        device.continue_contributions(first_round);
        let (device, ended) = with_open_lists(device, &next.plan, former.device.as_mut());
        next.device = Some(device);
        // Another shard has other releases with the same versions.
        let is_same_chain = former.chain.shard() == next.chain.shard();
        let is_comparable = is_same_chain && former.plan.shape() == next.plan.shape() && next.is_testable();
        next.take_models(former, is_comparable);
        next.progress.next_round = first_round;
        *former = next;
        let former_releases: Vec<u32> = self.member().into_iter().flat_map(|it| it.releases.keys().copied()).collect();
        self.writes.extend(ended.iter().map(|list| Write::delete(Item::Impression(list.id().0))));
        if is_comparable {
            let now = self.age.elapsed;
            ended.iter().filter_map(ShownList::of_impression).for_each(|list| self.observe(list, now));
        } else {
            self.drop_adoption();
            self.writes.extend(former_releases.into_iter().map(|version| Write::delete(Item::Release(version))));
            if let Some(member) = self.member_mut() {
                member.releases.clear();
            }
        }
        self.write_change();
        Ok(())
    }

    fn write_change(&mut self) {
        let Self { membership, ledgers, writes, .. } = self;
        if let Some(member) = membership.as_ref().and_then(Membership::member) {
            writes.push(Write::put(Item::State(State::Plan), member.signed_plan.clone()));
            member.write_outbox(writes);
            member.write_progress(writes);
        }
        ledgers.write(writes);
        let open: Vec<_> = self.open(Owner::Federation).iter().map(StoredImpression::id).collect();
        open.into_iter().for_each(|id| self.write_impression(Owner::Federation, id));
    }

    pub(super) fn drop_adoption(&mut self) {
        if let Some(adoption) = self.adoption.take() {
            let first = adoption.n_observed() - adoption.n_lists() as u64;
            self.writes.extend((first..adoption.n_observed()).map(|number| Write::delete(Item::List(number))));
            self.list_times.clear();
            self.write_adoption();
        }
    }
}

impl Member {
    /// Models of the former plan stay in use until the next test, if they are comparable with those of this one.
    fn take_models(&mut self, former: &mut Self, is_comparable: bool) {
        self.releases = std::mem::take(&mut former.releases);
        self.considered = former.considered;
        self.in_use = if is_comparable { former.in_use } else { OWN_MODEL };
        self.progress = super::membership::Progress { n_ended: 0, since: None, ..former.progress };
    }
}

/// The lists that were open, in the device of the new plan; and those that do not fit there, which have ended.
fn with_open_lists(device: Device, plan: &Plan, former: Option<&mut Device>) -> (Device, Vec<StoredImpression>) {
    let Some(former) = former else { return (device, Vec::new()) };
    let (head, learner) = (device.save_head(), device.session().encode_learner());
    let clock = former.session().encode_clock();
    let load = |lists: &[Vec<u8>]| Device::load(plan, &Device::join(&head, &Session::join(&learner, &clock, lists)));
    let fits = |list: &&StoredImpression| load(&[list.encode()]).is_ok();
    let (fitting, others): (Vec<_>, Vec<_>) = former.session().open().iter().partition(fits);
    let others: Vec<_> = others.iter().map(|list| list.id()).collect();
    let lists: Vec<Vec<u8>> = fitting.iter().map(|list| list.encode()).collect();
    let device = load(&lists).unwrap_or(device);
    let ended = others.into_iter().filter_map(|id| former.dismiss(id).ok()).collect();
    (device, ended)
}
