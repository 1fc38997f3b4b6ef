//! A visit to the server: one request after the other, until nothing is left to do.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{PublicKey, Signed, Task, sign_request};

use super::event::{Action, Answer, Method, Outcome, Request, Synced};
use super::membership::{Address, DeviceKey, Standing};
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
    /// There is no open round.
    pub is_idle: bool,
    /// All headers up to the newest release were asked for.
    pub has_newest: bool,
    /// The plan of a release that cannot be followed by the present one.
    pub new_plan: Option<Fingerprint>,
    /// The message was sent in this visit, and not to be sent again.
    pub is_sent: bool,
    pub contributed: Option<u32>,
    /// The key that did not sign the receipt of the message.
    pub doubted: Option<PublicKey>,
    /// What became of the request to be forgotten.
    pub forgetting: Option<Synced>,
    n_requests: u32,
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
    Forget,
}

/// What comes next in a visit.
pub(super) enum Next {
    Ask(Asked),
    Done(Synced),
}

impl Core {
    pub(super) fn sync(&mut self, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        self.end_overdue(now, random);
        let synced = match () {
            () if self.membership.is_none() && self.forgetting.is_none() => Some(Synced::Alone),
            () if self.is_paused && self.forgetting.is_none() => Some(Synced::Paused),
            () if self.schedule.wait(now) > 0 => Some(Synced::Later { seconds: self.schedule.wait(now) }),
            () => None,
        };
        match synced {
            Some(synced) => self.leave(Ok(synced)),
            None => self.visit_server(now, random),
        }
    }

    pub(super) fn visit_server(&mut self, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        self.visit = Some(Visit::default());
        self.go_on(now, random)
    }

    pub(super) fn answered(&mut self, answer: &Answer, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        let asked = self.visit.as_mut().and_then(|visit| visit.asked.take());
        let taken = match asked {
            Some(asked) => self.take(asked, answer, now, random),
            None => Err(FederationError::NotAsked),
        };
        match taken {
            Ok(()) => self.go_on(now, random),
            Err(error) => self.fail(error, now, random),
        }
    }

    pub(super) fn not_reached(&mut self, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        let seconds = self.schedule.fail(now, None, random.private());
        self.write_switches();
        self.remember(FederationError::NotReached { seconds }, now)
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
            Next::Done(synced) => {
                let contributed = visit.contributed;
                let synced = contributed.map_or(synced, |round| Synced::Contributed { round });
                if self.schedule.n_failures > 0 {
                    self.schedule.succeed();
                    self.write_switches();
                }
                self.problem = None;
                self.leave(Ok(synced))
            }
        }
    }

    /// The visit failed: it is tried again later, whatever was the reason.
    fn fail(&mut self, error: FederationError, now: u64, random: &mut dyn Randomness) -> Vec<Action> {
        let is_scheduled = matches!(error, FederationError::Server { .. } | FederationError::NeedsConsent { .. });
        if !is_scheduled {
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
        if let Some(next) = self.next_of_forgetting() {
            return Ok(next);
        }
        let Some(membership) = &self.membership else { return Ok(Next::Done(Synced::Alone)) };
        match &membership.standing {
            Standing::Invited(_) => Ok(Next::Ask(Asked::Enrolment)),
            Standing::Enrolled(enrolled) => Ok(Next::Ask(Asked::Plan(enrolled.plan))),
            Standing::Member(_) => self.next_of_member(now, random),
        }
    }

    fn next_of_member(&mut self, now: u64, random: &mut dyn Randomness) -> Result<Next, FederationError> {
        let (Some(member), Some(visit)) =
            (self.membership.as_ref().and_then(|membership| membership.member()), &self.visit)
        else {
            return Ok(Next::Done(Synced::Alone));
        };
        let is_due = member.outbox.as_ref().is_some_and(|outbox| is_due(outbox.send_at, now));
        if is_due && !visit.is_sent {
            return Ok(Next::Ask(Asked::Contribution));
        }
        if let Some(plan) = visit.new_plan {
            return Ok(Next::Ask(Asked::Plan(plan)));
        }
        let task = visit.task.clone();
        match task {
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
            Asked::Contribution => return self.take_receipt(answer, now, random),
            Asked::Forget => return self.take_deletion(answer, now, random),
            _ if !answer.is_success() => return Err(self.refusal(asked, answer, now, random)),
            Asked::Enrolment => self.take_enrolment(&answer.body),
            Asked::Plan(hash) => self.take_plan(hash, &answer.body, random.noise().is_simulated()),
            Asked::Task => self.take_task(answer, now),
            Asked::Headers { upto } => self.take_headers(&answer.body, upto),
            Asked::Newest => self.take_release(None, &answer.body, random),
            Asked::Release(version) => self.take_release(Some(version), &answer.body, random),
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
        let (address, key) = match (&self.forgetting, &self.membership) {
            (Some(forgetting), _) => (&forgetting.address, &forgetting.key),
            (None, Some(membership)) => (&membership.address, &membership.key),
            (None, None) => unreachable!("a visit needs a federation"),
        };
        let shard = self.member().map_or(0, |member| member.chain.shard());
        let (method, path, body) = match asked {
            Asked::Enrolment => (Method::Post, "/devices".into(), self.enrolment_body()),
            Asked::Plan(hash) => (Method::Get, format!("/plans/{hash}"), Vec::new()),
            Asked::Task => (Method::Get, format!("/task?shard={shard}"), Vec::new()),
            Asked::Headers { .. } => {
                let after = self.member().and_then(|member| member.chain.newest()).map_or(0, |id| id.version);
                (Method::Get, format!("/headers?shard={shard}&after={after}"), Vec::new())
            }
            Asked::Newest => (Method::Get, format!("/releases/newest?shard={shard}"), Vec::new()),
            Asked::Release(version) => (Method::Get, format!("/releases/{version}?shard={shard}"), Vec::new()),
            Asked::Contribution => {
                let outbox = self.member().and_then(|member| member.outbox.as_ref());
                let (round, message) = outbox.map_or((0, Vec::new()), |it| (it.round, it.message.clone()));
                (Method::Put, format!("/rounds/{round}/contributions/{}", key.id), message)
            }
            Asked::Forget => (Method::Post, "/forget".into(), self.forget_body()),
        };
        let n_params = self.member().map_or(0, |member| member.plan.shape().n_params());
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
