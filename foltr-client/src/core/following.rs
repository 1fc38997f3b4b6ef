//! Following the releases of a federation, and adopting those that are not worse for this person.

use foltr_federation::Device;
use foltr_federation::protocol::{MOST_HEADERS, Release, ReleaseError, ReleaseId, Signed, Task, decode_headers};
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
        let Some(member) = self.member() else { return Err(FederationError::NotAsked) };
        let offered: ReleaseId = task.unverified().start;
        let Some(newest) = member.chain.newest() else { return Ok(Some(Asked::Release(offered.version))) };
        if offered.version > newest.version {
            return Ok(Some(Asked::Headers { upto: offered.version }));
        }
        if member.considered != Some(newest.version) {
            return Ok(Some(Asked::Release(newest.version)));
        }
        task.verify(&member.chain.key()).map_err(|_| FederationError::Forged { what: "task" })?;
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
        let (member, visit) = (self.member()?, self.visit.as_ref()?);
        match member.chain.newest() {
            None => Some(Asked::Newest),
            Some(_) if !visit.has_newest => Some(Asked::Headers { upto: u32::MAX }),
            Some(newest) => (member.considered != Some(newest.version)).then_some(Asked::Release(newest.version)),
        }
    }

    pub(super) fn take_headers(&mut self, body: &[u8], upto: u32) -> Result<(), FederationError> {
        let headers = decode_headers(body, MOST_HEADERS).map_err(|error| unreadable("headers", &error))?;
        let Some(member) = self.membership.as_mut().and_then(Membership::member_mut) else {
            return Err(FederationError::NotAsked);
        };
        let before = member.chain.newest();
        let mut refused = Ok(());
        for header in headers.iter().take_while(|header| header.unverified().version <= upto) {
            if let Err(error) = member.chain.follow(header) {
                refused = Err(error);
                break;
            }
        }
        let has_moved = member.chain.newest() != before;
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
        let Some(member) = self.membership.as_mut().and_then(Membership::member_mut) else {
            return Err(FederationError::NotAsked);
        };
        let release = Release::decode(body, member.plan.shape().n_params())
            .map_err(|why| FederationError::DamagedRelease { version: wanted.unwrap_or(0), why })?;
        let version = release.header().version;
        if wanted.is_some_and(|wanted| wanted != version) {
            return Err(unreadable("release", &format!("it is release {version}, which was not asked for")));
        }
        if let Err(error) = member.chain.accept(&release) {
            return self.follow_plan(error);
        }
        self.consider(release, random)
    }

    /// Adopts or refuses a release of the chain.
    fn consider(&mut self, release: Release, random: &mut dyn Randomness) -> Result<(), FederationError> {
        let version = release.header().version;
        let in_use = self.tested(&release);
        let next_impression = self.next_impression();
        let Some(member) = self.member_mut() else { return Err(FederationError::NotAsked) };
        member.considered = Some(version);
        member.in_use = in_use;
        let first = member.device.is_none().then(|| (member.plan.clone(), member.number));
        member.releases.insert(version, release.clone());
        if let Some((plan, number)) = first {
            let device = Device::new(&plan, number, release.params(), random.private())?;
            let mut device = self.with_open_lists(device, &plan);
            device.continue_from(next_impression);
            if let Some(member) = self.member_mut() {
                member.device = Some(device);
            }
        }
        self.writes.push(Write::put(Item::Release(version), release.encode()));
        self.prune_releases();
        self.renew_round(false, random)?;
        self.write_membership();
        self.must_be_durable = true;
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
        let Some(member) = self.member_mut() else { return };
        if member.in_use == in_use {
            return;
        }
        member.in_use = in_use;
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
        let Self { membership, writes, .. } = self;
        let Some(member) = membership.as_mut().and_then(Membership::member_mut) else { return Ok(()) };
        let newest = member.chain.newest().map_or(0, |id| id.version);
        let Member { device: Some(device), releases, in_use, .. } = member else { return Ok(()) };
        let goes_on = |start: ReleaseId| {
            let is_under_way = device.session().n_interactions() > 0 && device.is_fresh(start.version, newest);
            start.version == *in_use || is_under_way
        };
        if must || !device.start().is_some_and(goes_on) {
            // Its own model makes lists without a round.
            let Some(release) = releases.get(in_use) else { return Ok(()) };
            device.begin(release, random.public())?;
        }
        member.write_device(writes);
        member.write_clock(writes);
        Ok(())
    }
}
