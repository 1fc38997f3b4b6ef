//! The server on a loopback address, whose noise and lotteries are those of the simulation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use foltr_federation::protocol::{DeviceId, FeatureSchema, Invitation, Lottery, Plan, Release, SecretKey};
use foltr_federation::{NoiseSource, Participation};
use foltr_rank::Params;
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::SimulatedNoise;
use foltr_simulation::federation_run::SERVER;
use foltr_test::postgres::Cluster;
use tempfile::TempDir;

use super::harness::SEED;
use crate::admin::Authority;
use crate::application::Application;
use crate::call::{Answer, Call, Handler};
use crate::database::{Connection, Database, Pool, Sqlite};
use crate::federation::Federation;
use crate::http::{Config, Running};
use crate::operator::{Action, Done, Operator};
use crate::randomness::Randomness;
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::store::{federations, releases, schema};
use crate::tests::world::{BASE, NAME, START, TestStore, settings};
use crate::{model_file, publishing, verifying};

/// A database whose files are in memory, since equality does not depend on the disk.
pub trait InMemory {
    fn store() -> (TestStore, Option<TempDir>);

    /// What is wrong with the first model.
    fn change(_: &mut Params) {}
}

pub struct OnSqlite;
pub struct OnPostgres;
/// A server whose first model differs by the smallest possible amount.
pub struct OneUlpOff;

impl InMemory for OnSqlite {
    fn store() -> (TestStore, Option<TempDir>) {
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.expect("a folder");
        let database = Arc::new(Sqlite::open(&folder.path().join("store.db")));
        (TestStore::on(database), Some(folder))
    }
}

impl InMemory for OnPostgres {
    fn store() -> (TestStore, Option<TempDir>) {
        (TestStore::postgres(Cluster::shared().expect("there is a PostgreSQL")), None)
    }
}

impl InMemory for OneUlpOff {
    fn store() -> (TestStore, Option<TempDir>) {
        OnSqlite::store()
    }

    fn change(initial: &mut Params) {
        initial[0] = initial[0].next_up();
    }
}

/// The simulation's numbers.
struct Simulated {
    plan: Plan,
    devices: Arc<Mutex<Vec<DeviceId>>>,
    noise: SimulatedNoise,
}

impl Simulated {
    fn new(plan: &Plan, devices: &Arc<Mutex<Vec<DeviceId>>>) -> Box<Self> {
        let noise = SimulatedNoise::open(&Streams::new(SEED), Purpose::Noise, SERVER, 0);
        Box::new(Self { plan: plan.clone(), devices: Arc::clone(devices), noise })
    }
}

impl Randomness for Simulated {
    fn noise(&mut self, round: u32) -> &mut dyn NoiseSource {
        self.noise = SimulatedNoise::open(&Streams::new(SEED), Purpose::Noise, SERVER, round);
        &mut self.noise
    }

    /// A value with which exactly those are invited that the simulator draws.
    fn lottery(&mut self, round: u32) -> [u8; 32] {
        let participation: Participation = self.plan.federation().participation;
        let devices = self.devices.lock().expect("no panic before");
        let wanted = participation.draw(&Streams::new(SEED), round, devices.len() as u32);
        let invites = |value: &[u8; 32]| {
            let lottery = Lottery::drawing(*value, wanted.len(), &devices);
            (0..).zip(devices.iter()).all(|(number, device)| lottery.invites(device) == wanted.contains(&number))
        };
        let mut values = (0_u64..).map(|value| std::array::from_fn(|i| value.to_le_bytes()[i % 8]));
        values.find(invites).expect("few devices have few cohorts")
    }
}

/// Everything that HTTP reaches, of the process that runs now.
struct Front(RwLock<Application>);

impl Handler for Front {
    fn handle(&self, call: &Call) -> Answer {
        self.0.read().expect("no panic before").handle(call)
    }

    fn readiness(&self) -> Result<(), String> {
        self.0.read().expect("no panic before").readiness()
    }

    fn metrics(&self) -> String {
        self.0.read().expect("no panic before").metrics()
    }
}

/// A federation on its store, and the address that it is reached at.
pub struct Served {
    database: Arc<dyn Database>,
    plan: Plan,
    features: FeatureSchema,
    settings: FederationSettings,
    service: Arc<Service>,
    devices: Arc<Mutex<Vec<DeviceId>>>,
    /// In milliseconds.
    time: Arc<AtomicU64>,
    /// Those that the server has given out, by version, without rounds.
    tasks: Mutex<Vec<Vec<u8>>>,
    front: Arc<Front>,
    http: Running,
    _store: (TestStore, Option<TempDir>),
}

fn key() -> SecretKey {
    SecretKey::from_bytes(&[7; 32])
}

fn application(service: &Arc<Service>) -> Application {
    Application::new(Arc::clone(service), Arc::new(Authority::new(Vec::new())), false)
}

impl Served {
    /// The federation's first release has this model.
    pub fn start<S: super::InMemory>(plan: &Plan, initial: &Params, features: &FeatureSchema) -> Self {
        let store = S::store();
        let database = Arc::clone(&store.0.database);
        schema::migrate(&mut *database.connect().expect("a database")).expect("tables");
        let pool = Pool::new(Arc::clone(&database), 4);
        let created = pool.write(|tables| publishing::create(tables, NAME, plan, initial, &key(), START));
        created.expect("a new federation");
        let minimum_devices = plan.federation().n_clients as u32;
        let settings = FederationSettings { minimum_devices, ..settings() };
        let (devices, time) = (Arc::default(), Arc::new(AtomicU64::new(START * 1_000)));
        let service = Arc::new(open(pool, plan, features, &settings, &devices, &time));
        let front = Arc::new(Front(RwLock::new(application(&service))));
        let config = Config::new(([127, 0, 0, 1], 0).into());
        let http = Running::start(config, Arc::clone(&front) as Arc<dyn Handler>).expect("a port");
        let (plan, features, tasks) = (plan.clone(), features.clone(), Mutex::default());
        Self { database, plan, features, settings, service, devices, time, tasks, front, http, _store: store }
    }

    /// Another service on the same store answers from now on.
    pub fn restart(&mut self) {
        let pool = Pool::new(Arc::clone(&self.database), 4);
        let service = open(pool, &self.plan, &self.features, &self.settings, &self.devices, &self.time);
        self.service = Arc::new(service);
        *self.front.0.write().expect("no panic before") = application(&self.service);
    }

    /// At the address where it listens.
    pub fn invitation(&self) -> Invitation {
        let uses = self.settings.minimum_devices;
        match self.service.act(NAME, &Action::NewInvitation { uses, seconds: 86_400, note: String::new() }) {
            Ok(Done::Invitation { invitation, .. }) => {
                let (_, secret) = invitation.split_once('#').expect("an address and a secret");
                format!("http://{}{BASE}#{secret}", self.http.address()).parse().expect("an invitation")
            }
            other => panic!("{other:?}"),
        }
    }

    /// The next device that has enrolled.
    pub fn knows(&self, device: DeviceId) {
        self.devices.lock().expect("no panic before").push(device);
    }

    /// Does what is due, and keeps the task that devices get now.
    pub fn tick(&self) {
        let problems = self.service.tick();
        assert!(problems.is_empty(), "{problems:?}");
        let snapshot = self.service.federations[NAME].refresh(&self.service.pool).expect("a federation");
        let shard = &snapshot.shards[0];
        let mut tasks = self.tasks.lock().expect("no panic before");
        if tasks.len() == shard.row.newest as usize {
            tasks.push(shard.task.as_ref().map_or_else(Vec::new, |(task, _)| task.clone()));
        }
    }

    /// What the server gave out while this version was the newest.
    pub fn task_of(&self, version: u32) -> Vec<u8> {
        self.tasks.lock().expect("no panic before")[version as usize].clone()
    }

    pub fn round(&self) -> u32 {
        self.read(|tables| federations::find(tables, 1)).round
    }

    /// Closes a round when all have come or its time is over. A server would wait for somebody to come, where the simulator
    /// goes on.
    pub fn close(&self, round: u32, is_empty: bool) {
        self.tick();
        if is_empty && self.round() == round {
            let seen = self.read(|tables| federations::find(tables, 1));
            self.service.close(&self.service.federations[NAME], &seen).expect("an open round");
        } else if self.round() == round {
            self.time.fetch_add(self.settings.round_seconds * 1_000, Ordering::Relaxed);
        }
        self.tick();
        let after = self.read(|tables| federations::find(tables, 1));
        assert_eq!(after.round, round + 1, "{after:?}");
    }

    fn read<T>(&self, read: impl Fn(&mut dyn Connection) -> Result<T, crate::database::DatabaseError>) -> T {
        self.service.pool.read(|tables| read(tables)).expect("a database")
    }

    pub fn n_releases(&self) -> u32 {
        self.read(|tables| releases::shards(tables, 1))[0].newest + 1
    }

    pub fn release(&self, shard: u32, version: u32) -> Vec<u8> {
        self.read(|tables| releases::bytes(tables, 1, shard, version)).expect("its parameters are stored")
    }

    /// The newest model of every shard, as it is published.
    pub fn newest(&self) -> Vec<Params> {
        let n_params = self.plan.shape().n_params();
        let newest = self.read(|tables| releases::shards(tables, 1));
        let model = |shard: releases::ShardRow| {
            let bytes = self.release(shard.shard, shard.newest);
            Release::decode(&bytes, n_params).expect("a release").params().to_vec()
        };
        newest.into_iter().map(model).collect()
    }

    /// As the operator exports it.
    pub fn ranker(&self) -> Params {
        let exported = self.service.export(NAME, None).expect("a model");
        model_file::params_of(&exported.bytes, self.plan.shape(), self.features.normalise).expect("the plan's ranker")
    }
}

impl Drop for Served {
    /// Everything is as it was written, unless the test has failed already.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let report = verifying::everything(&self.service).expect("a store");
            assert_eq!(report.problems, Vec::<String>::new());
        }
    }
}

fn open(
    pool: Pool,
    plan: &Plan,
    features: &FeatureSchema,
    settings: &FederationSettings,
    devices: &Arc<Mutex<Vec<DeviceId>>>,
    time: &Arc<AtomicU64>,
) -> Service {
    let mut federation = Federation::new(1, NAME.into(), settings.clone(), key(), None);
    federation.features = Some(features.clone());
    let time = Arc::clone(time);
    let clock = Arc::new(move || time.load(Ordering::Relaxed));
    Service::with_randomness(pool, vec![federation], clock, Simulated::new(plan, devices))
}
