//! Following the releases of a federation, and adopting those that are not worse for this person.

use foltr_federation::Device;
use foltr_federation::protocol::{
    MOST_HEADERS, Plan, Release, ReleaseChain, ReleaseError, ReleaseId, Signed, Task, decode_headers,
};
use foltr_rank::adoption::Adoption;

use super::event::Answer;
use super::joining::unreadable;
use super::local::OWN_MODEL;
use super::membership::{Member, Membership};
use super::sync::Asked;
use super::{Core, FederationError};
use crate::item::{Item, Write};
use crate::randomness::Randomness;

impl Core {
    /// Of the plan that the device changes to, or of the present one.
    pub(super) fn chain(&self) -> Option<&ReleaseChain> {
        let change = self.visit.as_ref().and_then(|visit| visit.change.as_ref());
        change.map(|change| &change.chain).or_else(|| self.member().map(|member| &member.chain))
    }

    /// The plan of that chain.
    pub(super) fn plan(&self) -> Option<&Plan> {
        let change = self.visit.as_ref().and_then(|visit| visit.change.as_ref());
        change.map(|change| &change.next.plan).or_else(|| self.member().map(|member| &member.plan))
    }

    fn chain_mut(&mut self) -> Option<&mut ReleaseChain> {
        let change = self.visit.as_mut().and_then(|visit| visit.change.as_mut());
        match change {
            Some(change) => Some(&mut change.chain),
            None => self.membership.as_mut().and_then(Membership::member_mut).map(|member| &mut member.chain),
        }
    }

    fn has_considered(&self, newest: u32) -> bool {
        let is_changing = self.visit.as_ref().is_some_and(|visit| visit.change.is_some());
        !is_changing && self.member().is_some_and(|member| member.considered == Some(newest))
    }

    pub(super) fn take_task(&mut self, answer: &Answer, now: u64) -> Result<(), FederationError> {
        if answer.status == 204 || answer.body.is_empty() {
            // No round is open.
            self.schedule.later(now, answer.retry_after.unwrap_or(0));
            self.write_switches();
            if let Some(visit) = &mut self.visit {
                visit.is_idle = true;
            }
            return Ok(());
        }
        let task = Signed::<Task>::decode(&answer.body).map_err(|error| unreadable("task", &error))?;
        if let Some(visit) = &mut self.visit {
            visit.task = Some(task);
        }
        Ok(())
    }

    /// What is missing to know the release that a task starts from; nothing if the task can be believed.
    ///
    /// The task is signed by the key that this release leaves in force, so it is followed before it is verified: until
    /// then it is a hint, and every header is verified by itself.
    pub(super) fn next_release(&self, task: &Signed<Task>) -> Result<Option<Asked>, FederationError> {
        let Some(chain) = self.chain() else { return Err(FederationError::NotAsked) };
        let offered: ReleaseId = task.unverified().start;
        let Some(newest) = chain.newest() else { return Ok(Some(Asked::Release(offered.version))) };
        if offered.version > newest.version {
            return Ok(Some(Asked::Headers { upto: offered.version }));
        }
        if !self.has_considered(newest.version) {
            return Ok(Some(Asked::Release(newest.version)));
        }
        task.verify(&chain.key()).map_err(|_| FederationError::Forged { what: "task" })?;
        match () {
            () if offered.version < newest.version => {
                Err(FederationError::Rollback { newest: newest.version, got: offered.version })
            }
            () if offered != newest => Err(FederationError::Fork { version: newest.version }),
            () => Ok(None),
        }
    }

    /// The same where no round is open.
    pub(super) fn next_release_without_task(&self) -> Option<Asked> {
        let (chain, visit) = (self.chain()?, self.visit.as_ref()?);
        match chain.newest() {
            None => Some(Asked::Newest),
            Some(_) if !visit.has_newest => Some(Asked::Headers { upto: u32::MAX }),
            Some(newest) => (!self.has_considered(newest.version)).then_some(Asked::Release(newest.version)),
        }
    }

    pub(super) fn take_headers(&mut self, body: &[u8], upto: u32) -> Result<(), FederationError> {
        let headers = decode_headers(body, MOST_HEADERS).map_err(|error| unreadable("headers", &error))?;
        let Some(chain) = self.chain_mut() else { return Err(FederationError::NotAsked) };
        let before = chain.newest();
        let mut refused = Ok(());
        for header in headers.iter().take_while(|header| header.unverified().version <= upto) {
            if let Err(error) = chain.follow(header) {
                refused = Err(error);
                break;
            }
        }
        let has_moved = chain.newest() != before;
        if let Some(visit) = &mut self.visit {
            visit.has_newest = refused.is_ok() && headers.len() < MOST_HEADERS;
        }
        self.write_membership();
        match refused {
            Err(error) => self.follow_plan(error),
            Ok(()) if !has_moved && upto < u32::MAX => {
                Err(unreadable("headers", &"none of them follows the newest release that is here"))
            }
            Ok(()) => Ok(()),
        }
    }

    /// A release of another plan: look at that plan first.
    fn follow_plan(&mut self, error: ReleaseError) -> Result<(), FederationError> {
        match (error, &mut self.visit) {
            (ReleaseError::Plan { got, .. }, Some(visit)) => {
                visit.new_plan = Some(got);
                Ok(())
            }
            _ => Err(FederationError::Release(error)),
        }
    }

    pub(super) fn take_release(
        &mut self,
        wanted: Option<u32>,
        body: &[u8],
        random: &mut dyn Randomness,
    ) -> Result<(), FederationError> {
        let (Some(present), Some(chain)) = (self.plan(), self.chain()) else { return Err(FederationError::NotAsked) };
        let header = Release::decode_header(body).map_err(|error| unreadable("release", &error))?;
        let (version, plan) = (header.unverified().version, header.unverified().plan);
        if version == OWN_MODEL || wanted.is_some_and(|wanted| wanted != version) {
            return Err(unreadable("release", &format!("it is release {version}, which was not asked for")));
        }
        if plan != chain.plan() {
            header.verify(&chain.key()).map_err(|_| FederationError::Forged { what: "release" })?;
            return self.follow_plan(ReleaseError::Plan { version, expected: chain.plan(), got: plan });
        }
        let release = Release::decode(body, present.shape().n_params())
            .map_err(|why| FederationError::DamagedRelease { version, why })?;
        let Some(chain) = self.chain_mut() else { return Err(FederationError::NotAsked) };
        if let Err(error) = chain.accept(&release) {
            return self.follow_plan(error);
        }
        self.consider(release, random)
    }

    /// Adopts or refuses a release of the chain. The first one of a new plan brings it into effect.
    fn consider(&mut self, release: Release, random: &mut dyn Randomness) -> Result<(), FederationError> {
        let change = self.visit.as_mut().and_then(|visit| visit.change.take());
        let is_new_plan = change.is_some();
        if let Some(change) = change {
            self.change_plan(*change, &release, random)?;
        }
        let version = release.header().version;
        let before = self.member().map_or(OWN_MODEL, |member| member.in_use);
        let in_use = self.tested(&release);
        self.make_device(&release, random)?;
        let Some(member) = self.member_mut() else { return Err(FederationError::NotAsked) };
        member.considered = Some(version);
        member.in_use = in_use;
        member.count_from(release.id());
        member.releases.insert(version, release.clone());
        self.writes.push(Write::put(Item::Release(version), release.encode()));
        self.prune_releases();
        // What began with a model that was given up since is given up as well.
        let is_given_up = before == OWN_MODEL || (in_use != version && in_use != before);
        self.renew_round(is_new_plan || is_given_up, random)?;
        let Self { membership, writes, .. } = self;
        if let Some(member) = membership.as_ref().and_then(Membership::member) {
            member.write_progress(writes);
        }
        self.write_membership();
        self.must_be_durable = true;
        Ok(())
    }

    fn make_device(&mut self, release: &Release, random: &mut dyn Randomness) -> Result<(), FederationError> {
        let next_impression = self.next_impression();
        let Some(membership) = &mut self.membership else { return Err(FederationError::NotAsked) };
        let (address, id) = (membership.address.as_str().to_owned(), membership.key.id);
        let Some(member) = membership.member_mut() else { return Err(FederationError::NotAsked) };
        if member.device.is_none() {
            let mut device = Device::new(&member.plan, member.number, release.params(), random.private())?;
            device.continue_from(next_impression);
            let ledger = self.ledgers.get(&address);
            device.continue_contributions(ledger.map_or(0, |ledger| ledger.next_round(&member.task(&id))));
            member.device = Some(device);
        }
        Ok(())
    }

    /// The version to use after a look at this release.
    fn tested(&mut self, release: &Release) -> u32 {
        let (version, params) = (release.header().version, release.params());
        let Some(rule) = self.options.adoption else { return version };
        let Some(member) = self.member().filter(|member| member.is_testable()) else { return version };
        let shape = member.plan.shape();
        if self.adoption.is_none() {
            // Only what comes after a model was chosen can be compared with it, so that there are no lists yet.
            let own = self.local.ranker();
            let (first, model) = match self.local.n_learnt > 0 && own.shape == shape {
                true => (OWN_MODEL, own.params),
                false => (version, params.to_vec()),
            };
            self.adoption = Adoption::new(rule, shape, first, &model).ok();
        }
        let Some(adoption) = &mut self.adoption else { return version };
        if adoption.version() != version {
            // Of the plan's own shape, and finite.
            adoption.consider(version, params).expect("a release of this plan");
        }
        let in_use = adoption.version();
        self.write_adoption();
        in_use
    }

    /// With enough new clicks the model in use is tested again, and may be given up.
    pub(super) fn reconsider(&mut self, random: &mut dyn Randomness) {
        let Some(adoption) = self.adoption.as_mut().filter(|adoption| adoption.is_due()) else { return };
        adoption.reconsider();
        let in_use = adoption.version();
        self.write_adoption();
        if self.member().is_some_and(|member| member.in_use != in_use) {
            self.use_model(in_use, random);
        }
    }

    /// Makes lists with another model from now on: a release that is still here, or the device's own.
    pub(super) fn use_model(&mut self, in_use: u32, random: &mut dyn Randomness) {
        let Some(member) = self.member_mut() else { return };
        member.in_use = if member.releases.contains_key(&in_use) { in_use } else { OWN_MODEL };
        self.prune_releases();
        // A release that was used before begins a round again.
        self.renew_round(true, random).expect("a release of this plan");
        self.write_membership();
    }

    /// Releases that cannot come into use any more go.
    fn prune_releases(&mut self) {
        let Self { membership, adoption, writes, .. } = self;
        let Some(member) = membership.as_mut().and_then(Membership::member_mut) else { return };
        let in_use = member.in_use;
        let is_needed = |version: u32| {
            version == in_use || adoption.as_ref().is_some_and(|adoption| adoption.versions().any(|it| it == version))
        };
        let gone: Vec<u32> = member.releases.keys().copied().filter(|&version| !is_needed(version)).collect();
        for version in gone {
            member.releases.remove(&version);
            writes.push(Write::delete(Item::Release(version)));
        }
    }

    /// Begins a round with the release in use, if the open one cannot go on: it has not begun, its release was given up, or
    /// nobody would take its message any more.
    pub(super) fn renew_round(&mut self, must: bool, random: &mut dyn Randomness) -> Result<(), FederationError> {
        let Some(member) = self.membership.as_mut().and_then(Membership::member_mut) else { return Ok(()) };
        if must || !member.goes_on() {
            let Member { device: Some(device), releases, in_use, chain, .. } = member else { return Ok(()) };
            match releases.get(in_use) {
                Some(release) if release.header().plan == chain.plan() => device.begin(release, random.public())?,
                // Of a former plan: it makes lists, and no messages.
                Some(release) => device.rest(release.params(), *in_use, random.public())?,
                None => {}
            }
        }
        self.write_device();
        Ok(())
    }

    /// The device with its round. Lists of perturbations have changed with the round.
    pub(super) fn write_device(&mut self) {
        let Self { membership, writes, .. } = self;
        let Some(member) = membership.as_ref().and_then(Membership::member) else { return };
        member.write_device(writes);
        member.write_clock(writes);
        if member.learns_by_rewards() {
            let open: Vec<_> = self.open(super::Owner::Federation).iter().map(|list| list.id()).collect();
            open.into_iter().for_each(|id| self.write_impression(super::Owner::Federation, id));
        }
    }
}
