//! Devices that contribute without a pause. Each says who it is with its update: one at its own parameter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foltr_federation::Payload;
use foltr_federation::protocol::{
    Contribution, ContributionReceipt, DeviceId, Enrolment, EnrolmentRequest, Invitation, PublicKey, SecretKey, Signed,
    Task, sign_request,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use ureq::{Agent, http};

use super::process::BASE;

/// The longest wait of a device that has contributed, in milliseconds.
const PAUSE: u64 = 150;
/// How long a message is sent again before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What became of a device's messages, by round: the receipt, or nothing for one that came too late.
pub type Sent = BTreeMap<u32, Option<ContributionReceipt>>;

/// What devices share.
pub struct Shared {
    origins: Vec<String>,
    /// The federation's, which signs receipts.
    pub key: PublicKey,
    is_over: AtomicBool,
    /// When messages were acknowledged.
    pub acknowledged: Mutex<Vec<Instant>>,
    pub newest_round: AtomicU32,
    /// Acknowledged messages of the newest round.
    pub n_of_round: AtomicU32,
    /// Refusals of a replica that did not know the round yet.
    pub n_false_refusals: AtomicU32,
}

/// A device: its key, and connections that are kept.
pub struct Device {
    pub index: usize,
    pub number: u32,
    n_devices: usize,
    key: SecretKey,
    id: DeviceId,
    agent: Agent,
    shared: Arc<Shared>,
    random: ChaCha8Rng,
    last_message: Vec<u8>,
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// The replica that gave it.
    replica: usize,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Answer {
    fn problem(&self) -> String {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default().to_owned()
    }
}

impl Device {
    fn new(index: usize, number: u32, n_devices: usize, shared: &Arc<Shared>) -> Self {
        let (key, random) = (secret_key(index), ChaCha8Rng::seed_from_u64(index as u64));
        let (id, shared) = (key.public_key().device_id(), Arc::clone(shared));
        Self { index, number, n_devices, key, id, agent: agent(), shared, random, last_message: Vec::new() }
    }

    /// A signed request, at this replica.
    fn ask(&self, replica: usize, method: &str, path: &str, body: &[u8]) -> Option<Answer> {
        let path = format!("{BASE}{path}");
        let built = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.shared.origins[replica]))
            .header("foltr-device", self.id.to_string())
            .header("foltr-signature", hex(&sign_request(method, &path, body, &self.key)))
            .body(body)
            .expect("a sound request");
        let mut response = self.agent.run(built).ok()?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(1 << 24).read_to_vec().ok()?;
        Some(Answer { status, body, replica })
    }

    /// At any replica that answers, until one has something better to say than to come again.
    pub fn ask_until_answered(&mut self, method: &str, path: &str, body: &[u8]) -> Answer {
        let began = Instant::now();
        loop {
            let replica = self.random.random_range(0..self.shared.origins.len());
            match self.ask(replica, method, path, body) {
                Some(answer) if !matches!(answer.status, 429 | 503) => return answer,
                _ => assert!(began.elapsed() < PATIENCE, "nobody answers {method} {path}"),
            }
            std::thread::sleep(Duration::from_millis(self.random.random_range(5..30)));
        }
    }

    fn task_at(&self, replica: usize) -> Option<Task> {
        let answer = self.ask(replica, "GET", "/task?shard=0", &[]).filter(|answer| answer.status == 200)?;
        let task = Signed::<Task>::decode(&answer.body).expect("a task");
        Some(*task.verify(&self.shared.key).expect("signed by the federation"))
    }

    /// The open round, as some replica knows it.
    pub fn task(&mut self) -> Option<Task> {
        let replica = self.random.random_range(0..self.shared.origins.len());
        self.task_at(replica)
    }

    fn message(&self, task: &Task) -> Vec<u8> {
        let mut delta = vec![0.0; self.n_devices];
        delta[self.index] = 1.0;
        let payload = Payload::Step { n_interactions: 4, delta };
        Contribution { plan: task.plan, round: task.round, start: task.start, device: self.id, payload }.encode()
    }

    /// Sends a message with the same bytes until it is taken or too late.
    pub fn send(&mut self, round: u32, message: &[u8]) -> Option<ContributionReceipt> {
        let path = format!("/rounds/{round}/contributions/{}", self.id);
        let answer = self.ask_until_answered("PUT", &path, message);
        match (answer.status, answer.problem().as_str()) {
            (200 | 201, _) => {
                let receipt = Signed::<ContributionReceipt>::decode(&answer.body).expect("a receipt");
                let receipt = *receipt.verify(&self.shared.key).expect("signed by the federation");
                let is_own = (receipt.round, receipt.device) == (round, self.id);
                assert!(is_own && receipt.contribution == Contribution::hash_of(message), "another receipt");
                Some(receipt)
            }
            (409, "round-closed" | "unknown-start") => {
                // A replica never goes back: one that shows the round now had not heard of it.
                if self.task_at(answer.replica).is_some_and(|task| task.round <= round) {
                    self.shared.n_false_refusals.fetch_add(1, Ordering::Relaxed);
                }
                None
            }
            (status, problem) => panic!("device {}, round {round}: {status} {problem}", self.index),
        }
    }

    fn contribute_until_over(&mut self) -> Sent {
        let (mut sent, mut next) = (Sent::new(), 0);
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let Some(task) = self.task().filter(|task| task.round >= next) else {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            next = task.round + 1;
            let message = self.message(&task);
            let receipt = self.send(task.round, &message);
            self.last_message = message;
            if receipt.is_some() {
                self.note_acknowledged(task.round);
            }
            sent.insert(task.round, receipt);
            std::thread::sleep(Duration::from_millis(self.random.random_range(0..PAUSE)));
        }
        // The last receipt again, whatever has happened since.
        if let Some((&round, Some(receipt))) = sent.iter().next_back() {
            let message = self.last_message.clone();
            assert_eq!(self.send(round, &message), Some(*receipt));
        }
        sent
    }

    fn note_acknowledged(&self, round: u32) {
        self.shared.acknowledged.lock().expect("no panic before").push(Instant::now());
        match round > self.shared.newest_round.fetch_max(round, Ordering::Relaxed) {
            true => self.shared.n_of_round.store(1, Ordering::Relaxed),
            false => drop(self.shared.n_of_round.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Devices at work.
pub struct Load {
    pub shared: Arc<Shared>,
    threads: Vec<JoinHandle<(Device, Sent)>>,
}

impl Load {
    /// So many devices join, and then contribute at any of these addresses.
    pub fn start(invitation: &Invitation, addresses: &[String], n_devices: usize) -> Self {
        let (key, numbers) = (0..n_devices).fold((None, Vec::new()), |(_, mut numbers), index| {
            let (key, number) = enrol(invitation, &addresses[0], index);
            numbers.push(number);
            (Some(key), numbers)
        });
        let shared = Arc::new(Shared {
            origins: addresses.iter().map(|address| format!("http://{address}")).collect(),
            key: key.expect("there are devices"),
            is_over: AtomicBool::new(false),
            acknowledged: Mutex::default(),
            newest_round: AtomicU32::new(0),
            n_of_round: AtomicU32::new(0),
            n_false_refusals: AtomicU32::new(0),
        });
        let begin = |(index, number): (usize, u32)| {
            let mut device = Device::new(index, number, n_devices, &shared);
            std::thread::spawn(move || {
                let sent = device.contribute_until_over();
                (device, sent)
            })
        };
        let threads = numbers.into_iter().enumerate().map(begin).collect();
        Self { shared, threads }
    }

    /// Every device ends with what it sends now. Says what became of all messages.
    pub fn stop(self) -> Vec<(Device, Sent)> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().expect("no device failed")).collect()
    }
}

fn secret_key(index: usize) -> SecretKey {
    SecretKey::from_bytes(foltr_federation::Fingerprint::of(&index.to_le_bytes()).as_bytes())
}

/// The federation's key, and the number of the device.
fn enrol(invitation: &Invitation, address: &str, index: usize) -> (PublicKey, u32) {
    let key = secret_key(index);
    let (path, body) = (format!("{BASE}/devices"), EnrolmentRequest::new(invitation, key.public_key()).encode());
    let built = http::Request::builder()
        .method("POST")
        .uri(format!("http://{address}{path}"))
        .header("foltr-device", key.public_key().device_id().to_string())
        .header("foltr-signature", hex(&sign_request("POST", &path, &body, &key)))
        .body(body.as_slice())
        .expect("a sound request");
    let mut response = agent().run(built).expect("the server is there");
    let body = response.body_mut().read_to_vec().expect("a whole answer");
    assert_eq!(response.status().as_u16(), 201, "{}", String::from_utf8_lossy(&body));
    let signed = Signed::<Enrolment>::decode(&body).expect("an enrolment");
    let enrolment = *signed.unverified();
    assert_eq!(enrolment.key.fingerprint(), invitation.key);
    signed.verify(&enrolment.key).expect("signed by the federation");
    (enrolment.key, enrolment.number)
}

fn agent() -> Agent {
    let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(10)));
    config.build().into()
}
