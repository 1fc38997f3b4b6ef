//! A visit to the server: one request after the other, until nothing is left to do.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{PublicKey, ReleaseChain, Signed, Task, sign_request};

use super::event::{Action, Answer, Method, Outcome, Request, Synced};
use super::membership::{Address, DeviceKey, Member, Membership, Standing};
use super::{Core, FederationError, Refused};
use crate::randomness::Randomness;

/// More requests in one visit are a server that leads in circles. A device that was away for 60,000 releases needs so many.
const MOST_REQUESTS: u32 = 64;
/// Headers of HTTP aside, no answer but a release is longer.
const SHORT_ANSWER: usize = 2 << 20;

/// What was done in a visit, and what was asked last.
#[derive(Debug, Default)]
pub(super) struct Visit {
    pub asked: Option<Asked>,
    pub task: Option<Signed<Task>>,
    pub is_idle: bool,
    /// All headers up to the newest release were asked for.
    pub has_newest: bool,
    /// The plan of a release that cannot be followed by the present one.
    pub new_plan: Option<Fingerprint>,
    /// That plan, once it is here, until its first release is.
    pub change: Option<Box<PlanChange>>,
    /// The owner has asked for it.
    pub is_joining: bool,
    /// The message was sent in this visit, and not to be sent again.
    pub is_sent: bool,
    pub contributed: Option<u32>,
    /// The key that did not sign the receipt of the message.
    pub doubted: Option<PublicKey>,
    /// What became of the requests to be forgotten, and how many were made.
    pub forgetting: Option<Result<Synced, FederationError>>,
    pub n_forgettings: usize,
    n_requests: u32,
}

/// A plan that the device has looked at.
#[derive(Debug)]
pub(super) struct PlanChange {
    /// A member as it will be, without a device.
    pub next: Member,
    pub chain: ReleaseChain,
}

/// What the next answer is an answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Enrolment,
    Plan(Fingerprint),
    Task,
    /// Headers behind the newest release here, up to this version.
    Headers {
        upto: u32,
    },
    /// The newest release, whatever its version.
    Newest,
    Release(u32),
    Contribution,
    /// The request to be forgotten with this index.
    Forget(usize),
}

pub(super) enum Next {
    Ask(Asked),
    Done(Synced),
}

impl Core {
    pub(super) fn sync(&mut self, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        self.end_overdue(0, now, random);
        self.drop_old_lists(now);
        self.visit_server(false, now, random)
    }

    pub(super) fn visit_server(&mut self, is_joining: bool, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        self.visit = Some(Visit { is_joining, ..Visit::default() });
        self.go_on(now, random)
    }

    pub(super) fn answered(&mut self, answer: &Answer, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        let asked = self.visit.as_mut().and_then(|visit| visit.asked.take());
        let taken = match asked {
            Some(Asked::Forget(at)) => {
                self.take_deletion(at, answer, now, random);
                Ok(())
            }
            Some(asked) => self.take(asked, answer, now, random),
            // Another thread has let this device be forgotten meanwhile.
            None => return self.leave(Ok(Synced::Alone)),
        };
        match taken {
            Ok(()) => self.go_on(now, random),
            Err(error) => self.fail(error, now, random),
        }
    }

    pub(super) fn not_reached(&mut self, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        match self.visit.as_mut().and_then(|visit| visit.asked.take()) {
            Some(Asked::Forget(at)) => {
                self.delay_forgetting(at, None, now, random);
                self.go_on(now, random)
            }
            _ => {
                let seconds = self.schedule.fail(now, None, random.private());
                self.write_switches();
                self.remember(FederationError::NotReached { seconds }, now)
            }
        }
    }

    /// The next request, or the end of the visit.
    fn go_on(&mut self, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        let next = match self.next(now, random) {
            Ok(next) => next,
            Err(error) => return self.fail(error, now, random),
        };
        let Some(visit) = &mut self.visit else { return self.leave(Ok(Synced::Alone)) };
        visit.n_requests += 1;
        match next {
            Next::Ask(_) if visit.n_requests > MOST_REQUESTS => self.fail(FederationError::Endless, now, random),
            Next::Ask(asked) => {
                visit.asked = Some(asked);
                let request = self.request(asked);
                let mut actions = self.store_actions();
                actions.push(Action::Send(request));
                actions
            }
            Next::Done(synced) => self.end_visit(synced),
        }
    }

    fn end_visit(&mut self, synced: Synced) -> Vec<Action> {
        let Some(visit) = &mut self.visit else { return self.leave(Ok(synced)) };
        if let (Synced::Alone, Some(forgetting)) = (synced, visit.forgetting.take()) {
            return self.leave(forgetting.map_err(Refused::from));
        }
        let synced = visit.contributed.map_or(synced, |round| Synced::Contributed { round });
        if !matches!(synced, Synced::Alone | Synced::Paused | Synced::Later { .. }) {
            self.problem = None;
            if self.schedule.n_failures > 0 {
                self.schedule.succeed();
                self.write_switches();
            }
        }
        self.leave(Ok(synced))
    }

    /// The visit failed: it is tried again later, whatever was the reason.
    fn fail(&mut self, error: FederationError, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        use FederationError::{Invitation, NotEnrolled, Server};
        if !matches!(error, Server { .. } | NotEnrolled { .. } | Invitation { .. }) {
            self.schedule.fail(now, None, random.private());
            self.write_switches();
        }
        self.remember(error, now)
    }

    fn remember(&mut self, error: FederationError, now: u64) -> Vec<Action> {
        self.problem = Some((now, error.clone()));
        self.leave(Err(error.into()))
    }

    fn leave(&mut self, synced: Result<Synced, Refused>) -> Vec<Action> {
        self.visit = None;
        let mut actions = self.store_actions();
        actions.push(Action::Answer(synced.map(Outcome::Synced)));
        actions
    }

    fn next(&mut self, now: u64, random: &mut dyn Randomness) -> Result<Next, FederationError> {
        if let Some(asked) = self.next_forgetting(now) {
            return Ok(Next::Ask(asked));
        }
        let is_joining = self.visit.as_ref().is_some_and(|visit| visit.is_joining);
        let Some(membership) = &self.membership else { return Ok(Next::Done(self.alone(now))) };
        match &membership.standing {
            _ if self.is_paused && !is_joining => Ok(Next::Done(Synced::Paused)),
            _ if self.schedule.wait(now) > 0 => Ok(Next::Done(Synced::Later { seconds: self.schedule.wait(now) })),
            Standing::Invited(_) => Ok(Next::Ask(Asked::Enrolment)),
            Standing::Enrolled(enrolled) => Ok(Next::Ask(Asked::Plan(enrolled.plan))),
            // Who joins while paused is a member, and does nothing yet.
            Standing::Member(_) if self.is_paused => Ok(Next::Done(Synced::Paused)),
            Standing::Member(_) => self.next_of_member(now, random),
        }
    }

    fn next_of_member(&mut self, now: u64, random: &mut dyn Randomness) -> Result<Next, FederationError> {
        let Some(visit) = &self.visit else { return Ok(Next::Done(Synced::Alone)) };
        let may_send = self.membership.as_ref().is_some_and(Membership::may_send);
        let outbox = self.member().and_then(|member| member.outbox.as_ref());
        let is_due = outbox.is_some_and(|outbox| is_due(outbox.send_at, now));
        if is_due && may_send && !visit.is_sent {
            return Ok(Next::Ask(Asked::Contribution));
        }
        if let Some(plan) = visit.new_plan {
            return Ok(Next::Ask(Asked::Plan(plan)));
        }
        match visit.task.clone() {
            None if visit.is_idle => match self.next_release_without_task() {
                Some(asked) => Ok(Next::Ask(asked)),
                None => Ok(self.next_of_outbox(now)?.unwrap_or(Next::Done(Synced::UpToDate))),
            },
            None => Ok(Next::Ask(Asked::Task)),
            Some(task) => match self.next_release(&task)? {
                Some(asked) => Ok(Next::Ask(asked)),
                None => self.contribute(&task, now, random),
            },
        }
    }

    fn take(
        &mut self,
        asked: Asked,
        answer: &Answer,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Result<(), FederationError> {
        match asked {
            Asked::Contribution => self.take_receipt(answer, now, random),
            _ if !answer.is_success() => Err(self.refusal(asked, answer, now, random)),
            Asked::Enrolment => self.take_enrolment(&answer.body),
            Asked::Plan(hash) => self.take_plan(hash, &answer.body, random.noise().is_simulated()),
            Asked::Task => self.take_task(answer, now),
            Asked::Headers { upto } => self.take_headers(&answer.body, upto),
            Asked::Newest => self.take_release(None, &answer.body, random),
            Asked::Release(version) => self.take_release(Some(version), &answer.body, random),
            Asked::Forget(_) => Ok(()),
        }
    }

    /// What an answer means that is no success, and when to try again.
    pub(super) fn refusal(
        &mut self,
        asked: Asked,
        answer: &Answer,
        now: u64,
        random: &mut dyn Randomness,
    ) -> FederationError {
        let problem = answer.problem().unwrap_or_else(|| "no reason given".into());
        let seconds = self.schedule.fail(now, answer.retry_after, random.private());
        self.write_switches();
        match (answer.status, problem.as_str()) {
            (401 | 403 | 404, "unknown-device" | "revoked") => FederationError::NotEnrolled { problem },
            (400..=499, "invitation-refused") if asked == Asked::Enrolment => FederationError::Invitation { problem },
            (status, _) => FederationError::Server { status, problem, seconds },
        }
    }

    fn request(&self, asked: Asked) -> Request {
        if let Asked::Forget(at) = asked {
            let forgetting = &self.forgettings[at];
            return signed(
                &forgetting.address,
                &forgetting.key,
                Method::Post,
                "/forget",
                forgetting.body(),
                SHORT_ANSWER,
            );
        }
        let Some(Membership { address, key, .. }) = &self.membership else {
            unreachable!("{asked:?} is asked of a federation only")
        };
        let chain = self.chain();
        let shard = chain.map_or(0, ReleaseChain::shard);
        let (method, path, body) = match asked {
            Asked::Enrolment => (Method::Post, "/devices".into(), self.enrolment_body()),
            Asked::Plan(hash) => (Method::Get, format!("/plans/{hash}"), Vec::new()),
            Asked::Task => (Method::Get, format!("/task?shard={shard}"), Vec::new()),
            Asked::Headers { .. } => {
                let after = chain.and_then(ReleaseChain::newest).map_or(0, |id| id.version);
                (Method::Get, format!("/headers?shard={shard}&after={after}"), Vec::new())
            }
            Asked::Newest => (Method::Get, format!("/releases/newest?shard={shard}"), Vec::new()),
            Asked::Release(version) => (Method::Get, format!("/releases/{version}?shard={shard}"), Vec::new()),
            Asked::Contribution | Asked::Forget(_) => {
                let outbox = self.member().and_then(|member| member.outbox.as_ref());
                let (round, message) = outbox.map_or((0, Vec::new()), |it| (it.round, it.message.clone()));
                (Method::Put, format!("/rounds/{round}/contributions/{}", key.id), message)
            }
        };
        // A release of a plan that is not known yet may have another form.
        let n_params = self.plan().map_or(0, |plan| plan.shape().n_params());
        let most =
            if let Asked::Release(_) | Asked::Newest = asked { SHORT_ANSWER + 4 * n_params } else { SHORT_ANSWER };
        signed(address, key, method, &path, body, most)
    }
}

/// A send time that lies further ahead than any delay is that of a clock that was wrong.
fn is_due(send_at: u64, now: u64) -> bool {
    send_at.saturating_sub(now) == 0 || send_at - now > super::time::LONGEST_WAIT
}

fn signed(address: &Address, key: &DeviceKey, method: Method, path: &str, body: Vec<u8>, most: usize) -> Request {
    let (origin, base) = address.split();
    let path = format!("{base}{path}");
    let signature = sign_request(method.name(), &path, &body, &key.key);
    let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    Request { method, origin: origin.to_owned(), path, body, device: key.id.to_string(), signature, most }
}
