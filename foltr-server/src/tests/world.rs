//! A federation on a store, with a clock of its own and devices that are keys only. Requests are calls, without a network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foltr_federation::protocol::{
    Contribution, ContributionReceipt, DeviceId, Document, Enrolment, EnrolmentRequest, FeatureSchema, Invitation,
    Normalisation, Plan, Release, ReleaseId, SecretKey, Signed, Task, sign_request,
};
use foltr_federation::{FederationPlan, Payload};
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::{Initialisation, Learner, RankerShape};
use foltr_test::postgres::Cluster;
use tempfile::TempDir;

use crate::call::{Answer, Call, Method};
use crate::database::{Database, Pool, Postgres, Sqlite};
use crate::federation::Federation;
use crate::hex;
use crate::operator::{Action, Done, Operator};
use crate::publishing;
use crate::randomness::{OsRandomness, Randomness};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::store::federations::{self, FederationRow};
use crate::store::schema;

pub const NAME: &str = "test";
pub const BASE: &str = "/v1/federations/test";
/// Seconds since 1970 when a world begins.
pub const START: u64 = 1_000_000;

/// A store for tests, and what must live as long as it.
pub struct TestStore {
    pub name: &'static str,
    pub database: Arc<dyn Database>,
    _folder: Option<TempDir>,
}

impl TestStore {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Arc::new(Sqlite::open(&folder.path().join("store.db")));
        Self { name: "SQLite", database, _folder: Some(folder) }
    }

    pub fn postgres(cluster: &Cluster) -> Self {
        let url = cluster.url(&cluster.new_database());
        Self { name: "PostgreSQL", database: Arc::new(Postgres::new(&url).expect("an address")), _folder: None }
    }

    /// On any database, such as one whose disk fails.
    pub fn on(database: Arc<dyn Database>) -> Self {
        Self { name: "other", database, _folder: None }
    }

    /// Both databases, as far as this machine has them.
    pub fn each(test: impl Fn(Self)) {
        test(Self::sqlite());
        if let Some(cluster) = Cluster::shared() {
            test(Self::postgres(cluster));
        }
    }
}

/// Federated averaging of a linear ranker with two features, by everyone, without privacy.
pub fn averaging(n_clients: usize) -> FederationPlan {
    let pdgd =
        PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
    let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
    FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, n_clients, 4, 1_000)
}

pub fn plan_of(federation: FederationPlan, is_simulated: bool) -> Plan {
    Plan::new(federation, &FeatureSchema::numbered(2, Normalisation::None), is_simulated).expect("a sound plan")
}

pub fn settings() -> FederationSettings {
    FederationSettings {
        address: format!("http://127.0.0.1:1{BASE}"),
        minimum_devices: 1,
        device_burst: 1_000_000,
        device_per_minute: 60_000_000,
        ..FederationSettings::default()
    }
}

pub struct World {
    pub store: TestStore,
    pub service: Arc<Service>,
    pub settings: FederationSettings,
    pub key: SecretKey,
    /// In milliseconds.
    pub time: Arc<AtomicU64>,
    pub devices: Vec<TestDevice>,
}

impl World {
    /// A federation by this plan, with everything at zero and no device.
    pub fn new(store: TestStore, plan: &Plan, settings: FederationSettings) -> Self {
        schema::migrate(&mut *store.database.connect().expect("a database")).expect("tables");
        let key = SecretKey::from_bytes(&[7; 32]);
        let pool = Pool::new(Arc::clone(&store.database), 4);
        let initial = vec![0.0; plan.shape().n_params()];
        let created = pool.write(|tables| publishing::create(tables, NAME, plan, &initial, &key, START));
        created.expect("a new federation");
        let time = Arc::new(AtomicU64::new(START * 1_000));
        let service = open(pool, &settings, &key, &time, Box::new(OsRandomness::default()));
        Self { store, service: Arc::new(service), settings, key, time, devices: Vec::new() }
    }

    /// The process ends, and another one begins on the same store.
    pub fn restart(&mut self) {
        self.service = Arc::new(self.replica(Box::new(OsRandomness::default())));
    }

    /// Another service on the same store.
    pub fn replica(&self, randomness: Box<dyn Randomness>) -> Service {
        let pool = Pool::new(Arc::clone(&self.store.database), 4);
        open(pool, &self.settings, &self.key, &self.time, randomness)
    }

    pub fn advance(&self, seconds: u64) {
        self.time.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    pub fn act(&self, action: Action) -> Done {
        self.service.act(NAME, &action).unwrap_or_else(|error| panic!("{action:?}: {error}"))
    }

    pub fn invitation(&self, uses: u32) -> Invitation {
        match self.act(Action::NewInvitation { uses, seconds: 86_400, note: String::new() }) {
            Done::Invitation { invitation, .. } => invitation.parse().expect("an invitation"),
            other => panic!("{other:?}"),
        }
    }

    /// Devices join, and the first round opens.
    pub fn enrol(&mut self, n: usize) {
        let invitation = self.invitation(n as u32);
        for _ in 0..n {
            let mut device = TestDevice::new(self.devices.len() as u64 + 1);
            let answer = self.service.answer(&device.enrolment(&invitation));
            assert_eq!(answer.status, 201, "{}", text(&answer));
            let enrolment = Signed::<Enrolment>::decode(&answer.body).expect("an enrolment");
            device.number = enrolment.verify(&self.key.public_key()).expect("signed").number;
            self.devices.push(device);
        }
        self.tick();
    }

    pub fn tick(&self) {
        let problems = self.service.tick();
        assert!(problems.is_empty(), "{problems:?}");
    }

    pub fn row(&self) -> FederationRow {
        let pool = Pool::new(Arc::clone(&self.store.database), 2);
        let rows: Vec<FederationRow> = pool.read(|tables| federations::all(tables)).expect("rows");
        rows.into_iter().next().expect("a federation")
    }

    /// The open task of a shard.
    pub fn task(&self, device: usize, shard: u32) -> Option<Task> {
        let call = self.devices[device].call(Method::Get, &format!("{BASE}/task?shard={shard}"), Vec::new());
        let answer = self.service.answer(&call);
        match answer.status {
            200 => Some(
                *Signed::<Task>::decode(&answer.body).expect("a task").verify(&self.key.public_key()).expect("signed"),
            ),
            204 => None,
            _ => panic!("{}", text(&answer)),
        }
    }

    /// The newest release of a shard.
    pub fn newest(&self, shard: u32) -> Release {
        let call = self.devices[0].call(Method::Get, &format!("{BASE}/releases/newest?shard={shard}"), Vec::new());
        let answer = self.service.answer(&call);
        assert_eq!(answer.status, 200, "{}", text(&answer));
        let header = Release::decode_header(&answer.body).expect("a header");
        let n_params = (answer.body.len() - header.as_bytes().len()) / 4;
        Release::decode(&answer.body, n_params).expect("a release")
    }

    /// What a device sends that starts from the open task.
    pub fn contribution(&self, device: usize, delta: [f32; 2]) -> Contribution {
        let task = self.task(device, 0).expect("an open round");
        self.devices[device].step(&task, task.start, delta)
    }

    pub fn send(&self, device: usize, contribution: &Contribution) -> Answer {
        self.service.answer(&self.devices[device].upload(contribution))
    }

    /// A device contributes to the open round; says the receipt.
    pub fn contribute(&self, device: usize, delta: [f32; 2]) -> ContributionReceipt {
        let contribution = self.contribution(device, delta);
        let answer = self.send(device, &contribution);
        assert!(matches!(answer.status, 200 | 201), "{}", text(&answer));
        let receipt = Signed::<ContributionReceipt>::decode(&answer.body).expect("a receipt");
        let receipt = *receipt.verify(&self.key.public_key()).expect("signed");
        assert!(receipt.is_for(&contribution));
        receipt
    }
}

fn open(
    pool: Pool,
    settings: &FederationSettings,
    key: &SecretKey,
    time: &Arc<AtomicU64>,
    randomness: Box<dyn Randomness>,
) -> Service {
    let federation = Federation::new(1, NAME.into(), settings.clone(), key.clone(), None);
    let time = Arc::clone(time);
    Service::with_randomness(pool, vec![federation], Arc::new(move || time.load(Ordering::Relaxed)), randomness)
}

/// A device that has a key and a number.
pub struct TestDevice {
    pub key: SecretKey,
    pub id: DeviceId,
    pub number: u32,
}

impl TestDevice {
    pub fn new(seed: u64) -> Self {
        let secret = *foltr_federation::Fingerprint::of(&seed.to_le_bytes()).as_bytes();
        let key = SecretKey::from_bytes(&secret);
        Self { id: key.public_key().device_id(), key, number: u32::MAX }
    }

    /// A signed request.
    pub fn call(&self, method: Method, path: &str, body: Vec<u8>) -> Call {
        let signature = hex::encode(&sign_request(method.name(), path, &body, &self.key));
        Call { method, path: path.into(), device: self.id.to_string(), signature, body, ..Call::default() }
    }

    pub fn enrolment(&self, invitation: &Invitation) -> Call {
        let request = EnrolmentRequest::new(invitation, self.key.public_key());
        self.call(Method::Post, &format!("{BASE}/devices"), request.encode())
    }

    pub fn step(&self, task: &Task, start: ReleaseId, delta: [f32; 2]) -> Contribution {
        let payload = Payload::Step { n_interactions: 4, delta: delta.to_vec() };
        Contribution { plan: task.plan, round: task.round, start, device: self.id, payload }
    }

    pub fn upload(&self, contribution: &Contribution) -> Call {
        let path = format!("{BASE}/rounds/{}/contributions/{}", contribution.round, self.id);
        self.call(Method::Put, &path, contribution.encode())
    }
}

/// The name of the problem that an answer has; empty without one.
pub fn problem(answer: &Answer) -> String {
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    json["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default().to_owned()
}

pub fn text(answer: &Answer) -> String {
    format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body))
}

pub fn hash_of(plan: &Plan) -> foltr_federation::Fingerprint {
    plan.hash().expect("a sound plan")
}
