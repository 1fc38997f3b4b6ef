//! A device's core with a small shell: what it wants stored stays in memory, and what it wants sent goes by HTTP.

use std::time::Duration;

use foltr_client::core::{Action, Answer, Event, Method, Outcome, Request};
use foltr_client::item::Records;
use foltr_client::{Consent, Core, FeatureSchema, Options, Shown, Synced};
use foltr_federation::protocol::{DeviceId, Invitation};
use foltr_rank::ImpressionId;
use foltr_rank::rng::Purpose;
use ureq::{Agent, http};

use super::simulated_people::{Numbers, Simulated, Used};

pub struct Device {
    pub numbers: Simulated,
    /// A task that a cache gives out in place of the server's.
    pub cached_task: Option<Vec<u8>>,
    /// Contributions do not reach the server.
    pub loses_contributions: bool,
    core: Core,
    random: Numbers,
    agent: Agent,
    id: String,
    /// The last one that came.
    release: Option<Vec<u8>>,
}

impl Device {
    pub fn new(features: &FeatureSchema, purpose: Purpose, client: u32) -> Self {
        let numbers = Simulated::new(purpose, client);
        let mut random = Numbers::new(&numbers);
        let options = Options { adoption: None, upload_delay: 0, ..Options::new(features.clone()) };
        let (core, _) = Core::load(options, Records::new(), &mut random).expect("sound options");
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(60)));
        let (cached_task, loses_contributions, id, release) = (None, false, String::new(), None);
        Self { numbers, cached_task, loses_contributions, core, random, agent: config.build().into(), id, release }
    }

    pub fn id(&self) -> DeviceId {
        DeviceId::from_bytes(crate::hex::decode(&self.id).expect("it has sent a request"))
    }

    pub fn release(&self) -> Option<&[u8]> {
        self.release.as_deref()
    }

    pub fn join(&mut self, invitation: &Invitation, consent: Consent, now: u64) -> Result<Synced, String> {
        self.visit(Event::Join { invitation, consent }, now)
    }

    pub fn sync(&mut self, now: u64) -> Result<Synced, String> {
        self.visit(Event::Sync, now)
    }

    fn visit(&mut self, event: Event<'_>, now: u64) -> Result<Synced, String> {
        match self.event(event, now)? {
            Outcome::Synced(synced) => Ok(synced),
            other => panic!("{other:?}"),
        }
    }

    /// As at this time.
    pub fn used(&mut self, now: u64) -> InUse<'_> {
        InUse { device: self, now }
    }

    /// Does what the core says, until it answers.
    fn event(&mut self, event: Event<'_>, now: u64) -> Result<Outcome, String> {
        let mut actions = self.core.poll(now, event, &mut self.random);
        loop {
            let mut request = None;
            for action in actions {
                match action {
                    // Devices that end and begin again are the client's tests.
                    Action::Store { .. } | Action::Erase { .. } => {}
                    Action::Send(wanted) => request = Some(wanted),
                    Action::Answer(answer) => return answer.map_err(|error| error.to_string()),
                }
            }
            let event = self.send(&request.expect("an answer or a request"));
            actions = self.core.poll(now, event, &mut self.random);
        }
    }

    fn send(&mut self, request: &Request) -> Event<'static> {
        self.id.clone_from(&request.device);
        let is_task = request.path.contains("/task?");
        if let Some(body) = self.cached_task.clone().filter(|_| is_task) {
            return Event::Answered(Answer { status: 200, body, retry_after: None });
        }
        if self.loses_contributions && request.method == Method::Put {
            return Event::NotReached;
        }
        let answer = self.ask(request);
        if answer.status == 200 && request.path.contains("/releases/") {
            self.release = Some(answer.body.clone());
        }
        Event::Answered(answer)
    }

    fn ask(&self, request: &Request) -> Answer {
        let built = http::Request::builder()
            .method(request.method.name())
            .uri(format!("{}{}", request.origin, request.path))
            .header("foltr-device", &request.device)
            .header("foltr-signature", &request.signature)
            .body(request.body.as_slice())
            .expect("a sound request");
        let mut response = self.agent.run(built).expect("the server is there");
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let status = response.status().as_u16();
        Answer { status, body: response.body_mut().read_to_vec().expect("a whole answer"), retry_after }
    }
}

/// A device and the time at which somebody uses it.
pub struct InUse<'a> {
    device: &'a mut Device,
    now: u64,
}

impl Used for InUse<'_> {
    fn rank(&mut self, features: &[f32]) -> Shown {
        match self.device.event(Event::Rank(features), self.now) {
            Ok(Outcome::Shown(shown)) => shown,
            other => panic!("{other:?}"),
        }
    }

    fn clicked(&mut self, impression: ImpressionId, position: usize) {
        self.device.event(Event::Clicked { impression, position }, self.now).expect("an open list");
    }

    fn dismiss(&mut self, impression: ImpressionId) {
        self.device.event(Event::Dismissed(impression), self.now).expect("an open list");
    }
}
