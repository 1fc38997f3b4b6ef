//! A server in the same process: the coordinators of a real one, behind the requests of the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use foltr_federation::protocol::{
    Contribution, ContributionError, ContributionReceipt, DeviceId, Document, Enrolment, EnrolmentRequest, Invitation,
    Plan, PublicKey, Release, ReleaseId, SecretKey, Signed, Task, encode_headers, verify_request,
};
use foltr_federation::{Message, NoiseSource, Received};
use foltr_rank::Params;

use super::harness::INITIAL;
use super::server::Server;
use crate::core::{Answer, Method, Request};
use crate::transport::{NotReached, Transport};

pub const BASE: &str = "/v1/federations/test";
pub const SECRET: [u8; 32] = [5; 32];

pub struct Federation {
    pub plan: Plan,
    /// Plans before it, which the server still shows.
    former_plans: Vec<Plan>,
    pub key: SecretKey,
    pub server: Server,
    /// By shard.
    pub releases: Vec<Vec<Release>>,
    pub devices: Vec<PublicKey>,
    /// What was acknowledged, by round and device.
    pub received: BTreeMap<(u32, DeviceId), Vec<u8>>,
    /// Whether a second message of a device for a round had other bytes.
    pub has_other_bytes: bool,
    pub is_open: bool,
    /// Answers the request to be forgotten.
    pub deletion: Option<Vec<u8>>,
    pub n_requests: usize,
}

pub type Shared = Arc<Mutex<Federation>>;

pub fn lock(federation: &Shared) -> MutexGuard<'_, Federation> {
    federation.lock().expect("no panic before")
}

impl Federation {
    pub fn new(plan: Plan) -> Self {
        let key = SecretKey::from_bytes(&[7; 32]);
        let (hash, n_shards) = (plan.hash().expect("sound"), plan.federation().shards.unwrap_or(1));
        let initial = vec![INITIAL; plan.shape().n_params()];
        let first = |shard| vec![Release::first(hash, shard, initial.clone(), &key).expect("finite")];
        Self {
            server: Server::new(&plan),
            releases: (0..n_shards).map(first).collect(),
            plan,
            former_plans: Vec::new(),
            key,
            devices: Vec::new(),
            received: BTreeMap::new(),
            has_other_bytes: false,
            is_open: true,
            deletion: None,
            n_requests: 0,
        }
    }

    pub fn shared(plan: Plan) -> Shared {
        Arc::new(Mutex::new(Self::new(plan)))
    }

    pub fn invitation(&self, origin: &str) -> Invitation {
        let fingerprint = self.key.public_key().fingerprint();
        Invitation::new(format!("{origin}{BASE}"), fingerprint, SECRET).expect("a sound address")
    }

    pub fn newest(&self, shard: u32) -> &Release {
        self.releases[shard as usize].last().expect("there is a first release")
    }

    pub fn n_releases(&self) -> u32 {
        self.releases[0].len() as u32
    }

    /// A round with the messages that came, in the order in which these devices are given.
    pub fn close(&mut self, drawn: &[u32], order: &[u32], noise: &mut dyn NoiseSource) {
        self.server.open(drawn);
        for &client in order {
            let round = self.server.task(self.plan.shard_of(client)).round;
            let device = self.devices[client as usize].device_id();
            if let Some(bytes) = self.received.get(&(round, device)).cloned() {
                let message = self.message(client, &bytes);
                self.server.receive(message);
            }
        }
        self.server.close(noise);
        self.publish();
    }

    /// What the server reads in a device's bytes.
    fn message(&self, client: u32, bytes: &[u8]) -> Message {
        let (hash, expected) = (self.plan.hash().expect("sound"), self.plan.expected().expect("sound"));
        let contribution = Contribution::decode(bytes, &hash, &expected).expect("sound bytes");
        let shard = self.plan.shard_of(client);
        let recent: Vec<ReleaseId> = self.releases[shard as usize].iter().map(Release::id).collect();
        contribution.into_message(client, self.server.task(shard), &recent).expect("a release of the federation")
    }

    /// The newest message of a device reaches a server without rounds.
    pub fn deliver(&mut self, client: u32) -> Option<Received> {
        let device = self.devices[client as usize].device_id();
        let bytes = self.received.iter().rfind(|((_, of), _)| *of == device)?.1.clone();
        let message = self.message(client, &bytes);
        let Server::Asynchronous(server) = &mut self.server else { panic!("a plan without rounds") };
        let received = server.receive(&message).ok();
        if received == Some(Received::NewVersion) {
            self.publish();
        }
        received
    }

    fn publish(&mut self) {
        for shard in 0..self.releases.len() as u32 {
            self.publish_model(shard, self.server.task(shard).global.clone());
        }
    }

    pub fn publish_model(&mut self, shard: u32, params: Params) {
        let hash = self.plan.hash().expect("sound");
        let next = self.newest(shard).next(hash, params, &self.key).expect("finite");
        self.releases[shard as usize].push(next);
    }

    /// Another plan, and its first release of every shard. Messages are counted anew.
    pub fn change_plan(&mut self, plan: Plan, params: &[f32]) {
        self.server = Server::new(&plan);
        self.former_plans.push(std::mem::replace(&mut self.plan, plan));
        self.received.clear();
        (0..self.releases.len() as u32).for_each(|shard| self.publish_model(shard, params.to_vec()));
    }

    /// The next round, and another release with this model, whatever the messages said.
    pub fn skip_round(&mut self, params: Params) {
        let Server::Rounds(server) = &mut self.server else { panic!("a plan with rounds") };
        server.skip();
        self.publish_model(0, params);
    }

    /// Rounds of the messages that came, and the releases that they say to have started from.
    pub fn starts(&self) -> BTreeSet<(u32, u32)> {
        let (hash, expected) = (self.plan.hash().expect("sound"), self.plan.expected().expect("sound"));
        let start = |bytes| Contribution::decode(bytes, &hash, &expected).expect("sound bytes").start.version;
        self.received.iter().map(|((round, _), bytes)| (*round, start(bytes))).collect()
    }

    /// Answers a request, as if `as_of` were the newest release.
    pub fn handle(&mut self, request: &Request, as_of: Option<u32>) -> Answer {
        self.n_requests += 1;
        let path = request.path.strip_prefix(BASE);
        let Some(path) = path else { return problem(404, "not-found") };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let value = |name: &str| -> u32 {
            let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            pair.map_or(0, |value| value.parse().expect("a number"))
        };
        if parts != ["devices"] && !self.is_signed(request) {
            return problem(401, "unknown-device");
        }
        let shard = value("shard");
        let upto = as_of.unwrap_or(self.newest(shard).header().version);
        match (request.method, parts.as_slice()) {
            (Method::Post, ["devices"]) => self.enrol(request),
            (Method::Get, ["plans", hash]) => {
                let mut plans = self.former_plans.iter().chain([&self.plan]);
                let plan = plans.find(|plan| plan.hash().expect("sound").to_string() == **hash);
                let sign = |plan: &Plan| Signed::sign(plan.clone(), &self.key).expect("sound");
                plan.map_or_else(|| problem(404, "not-found"), |plan| ok(sign(plan).as_bytes()))
            }
            (Method::Get, ["task"]) if self.is_open => ok(self.task(shard, upto).as_bytes()),
            (Method::Get, ["task"]) => Answer { status: 204, retry_after: Some(5), ..Answer::default() },
            (Method::Get, ["headers"]) => {
                let releases = &self.releases[shard as usize];
                let from = (value("after") as usize + 1).min(upto as usize + 1);
                let headers: Vec<_> =
                    releases[from..=upto as usize].iter().map(|release| release.signed_header().clone()).collect();
                ok(&encode_headers(&headers))
            }
            (Method::Get, ["releases", "newest"]) => ok(&self.releases[shard as usize][upto as usize].encode()),
            (Method::Get, ["releases", version]) => {
                let release = self.releases[shard as usize].get(version.parse::<usize>().expect("a number"));
                release.map_or_else(|| problem(404, "not-found"), |release| ok(&release.encode()))
            }
            (Method::Put, ["rounds", round, "contributions", device]) => {
                assert_eq!(*device, request.device, "a device sends for itself");
                self.take(round.parse().expect("a number"), request)
            }
            (Method::Post, ["forget"]) => match &self.deletion {
                Some(receipt) => ok(receipt),
                None => Answer { status: 202, retry_after: Some(60), ..Answer::default() },
            },
            _ => problem(404, "not-found"),
        }
    }

    fn task(&self, shard: u32, upto: u32) -> Signed<Task> {
        let asked = self.server.task(shard);
        let task = Task {
            plan: self.plan.hash().expect("sound"),
            round: asked.round,
            shard,
            start: self.releases[shard as usize][upto as usize].id(),
            clip_norm: asked.clip_norm,
            deadline: 0,
            n_wanted: 1,
            lottery: None,
        };
        Signed::sign(task, &self.key).expect("sound")
    }

    fn sender(&self, request: &Request) -> Option<PublicKey> {
        self.devices.iter().copied().find(|key| key.device_id().to_string() == request.device)
    }

    fn is_signed(&self, request: &Request) -> bool {
        self.sender(request).is_some_and(|key| verifies(request, &key))
    }

    fn enrol(&mut self, request: &Request) -> Answer {
        let Ok(enrolment) = EnrolmentRequest::decode(&request.body) else { return problem(400, "malformed") };
        if enrolment.secret != SECRET || !verifies(request, &enrolment.key) {
            return problem(403, "invitation-refused");
        }
        let known = self.devices.iter().position(|key| *key == enrolment.key);
        let number = known.unwrap_or_else(|| {
            self.devices.push(enrolment.key);
            self.devices.len() - 1
        });
        let answer = Enrolment {
            device: enrolment.key.device_id(),
            number: number as u32,
            key: self.key.public_key(),
            plan: self.plan.hash().expect("sound"),
        };
        ok(Signed::sign(answer, &self.key).expect("sound").as_bytes())
    }

    fn take(&mut self, round: u32, request: &Request) -> Answer {
        let hash = self.plan.hash().expect("sound");
        let contribution = match Contribution::decode(&request.body, &hash, &self.plan.expected().expect("sound")) {
            Err(ContributionError::Plan { .. }) => return problem(409, "other-plan"),
            decoded => decoded.expect("sound bytes"),
        };
        assert_eq!((contribution.round, contribution.device.to_string()), (round, request.device.clone()));
        let has_rounds = self.plan.federation().asynchrony.is_none();
        // A message is named by its plan, too, which its bytes have from the third on.
        let known = self.received.get(&(round, contribution.device)).filter(|known| known[2..34] == *hash.as_bytes());
        match known {
            Some(known) if *known != request.body => {
                self.has_other_bytes = true;
                return problem(409, "already-contributed");
            }
            Some(_) => {}
            None if has_rounds && round != self.server.task(0).round => return problem(409, "round-closed"),
            None => {
                self.received.insert((round, contribution.device), request.body.clone());
            }
        }
        ok(Signed::sign(ContributionReceipt::of(&contribution, 17), &self.key).expect("sound").as_bytes())
    }
}

fn verifies(request: &Request, key: &PublicKey) -> bool {
    let signature: Vec<u8> = (0..request.signature.len() / 2)
        .filter_map(|i| u8::from_str_radix(&request.signature[2 * i..2 * i + 2], 16).ok())
        .collect();
    let Ok(signature) = <[u8; 64]>::try_from(signature) else { return false };
    verify_request(request.method.name(), &request.path, &request.body, key, &signature).is_ok()
}

fn ok(body: &[u8]) -> Answer {
    Answer { status: 200, body: body.to_vec(), retry_after: None }
}

pub fn problem(status: u16, name: &str) -> Answer {
    let body = format!(r#"{{"type":"https://example.org/problems/{name}","status":{status}}}"#);
    Answer { status, body: body.into_bytes(), retry_after: None }
}

/// What can happen to a request on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    #[default]
    Clear,
    /// It never reaches the server.
    RequestLost,
    /// It reaches the server, and the answer is lost.
    AnswerLost,
}

type Alteration = Box<dyn FnMut(&Request, Answer) -> Answer + Send>;

/// Requests as calls.
pub struct Direct {
    pub federation: Shared,
    /// Federations of other origins.
    pub elsewhere: BTreeMap<String, Shared>,
    pub as_of: Option<u32>,
    /// Of contributions only.
    pub way: Way,
    /// Alters answers.
    pub alter: Option<Alteration>,
}

impl Direct {
    pub fn to(federation: &Shared) -> Self {
        Self { federation: federation.clone(), elsewhere: BTreeMap::new(), as_of: None, way: Way::Clear, alter: None }
    }
}

impl Transport for Direct {
    fn send(&mut self, request: &Request) -> Result<Answer, NotReached> {
        let way = if request.method == Method::Put { self.way } else { Way::Clear };
        if way == Way::RequestLost {
            return Err(NotReached("the request was lost".into()));
        }
        let federation = self.elsewhere.get(&request.origin).unwrap_or(&self.federation);
        let answer = lock(federation).handle(request, self.as_of);
        if answer.body.len() > request.most {
            return Err(NotReached("the answer is too long".into()));
        }
        if way == Way::AnswerLost {
            return Err(NotReached("the answer was lost".into()));
        }
        Ok(match &mut self.alter {
            Some(alter) => alter(request, answer),
            None => answer,
        })
    }
}
