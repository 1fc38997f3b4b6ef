//! Replicas of a server on one store, in memory: processes that end and begin again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foltr_federation::NoiseSource;
use foltr_federation::protocol::{Plan, SecretKey};
use foltr_test::disk::Disk;

use super::model::lottery_value;
use crate::database::{Database, DatabaseError, Pool, Sqlite};
use crate::federation::Federation;
use crate::publishing;
use crate::randomness::{OsNoise, Randomness};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::store::schema;
use crate::tests::world::{NAME, START};

/// What a process needs to begin.
#[derive(Clone)]
pub struct Process {
    pub settings: FederationSettings,
    pub seed: u64,
    /// In milliseconds.
    pub time: Arc<AtomicU64>,
    /// A process whose disk has failed would have ended.
    pub has_ended: Arc<AtomicBool>,
}

impl Process {
    pub fn new(settings: FederationSettings, seed: u64) -> Self {
        let time = Arc::new(AtomicU64::new(START * 1_000));
        Self { settings, seed, time, has_ended: Arc::default() }
    }

    pub fn start(&self, database: Arc<dyn Database>, key: &SecretKey) -> Service {
        self.start_with(database, key, None)
    }

    pub fn start_with(&self, database: Arc<dyn Database>, key: &SecretKey, key_file: Option<PathBuf>) -> Service {
        let (time, has_ended) = (Arc::clone(&self.time), Arc::clone(&self.has_ended));
        let end = move |_: &DatabaseError| {
            has_ended.store(true, Ordering::Relaxed);
            // No line of it runs any more, as after an exit.
            std::panic::resume_unwind(Box::new("the process has ended"));
        };
        let pool = Pool::new(database, 3).with_on_disk_error(end);
        let federation = Federation::new(1, NAME.into(), self.settings.clone(), key.clone(), key_file);
        let clock = Arc::new(move || time.load(Ordering::Relaxed));
        Service::with_randomness(pool, vec![federation], clock, Box::new(Known::new(self.seed)))
    }
}

/// The database on a disk, as a new process opens it.
pub fn sqlite(disk: &Disk) -> Arc<dyn Database> {
    Arc::new(Sqlite::open(Path::new("store.db")).on_vfs(disk.name()))
}

/// A federation at zero.
pub fn create(database: &Arc<dyn Database>, plan: &Plan, key: &SecretKey) {
    schema::migrate(&mut *database.connect().expect("a database")).expect("tables");
    let initial = vec![0.0; plan.shape().n_params()];
    let created =
        Pool::new(Arc::clone(database), 1).write(|tables| publishing::create(tables, NAME, plan, &initial, key, START));
    created.expect("a new federation");
}

/// Lotteries that a test can foresee. There is no noise in these plans.
struct Known {
    seed: u64,
    noise: OsNoise,
}

impl Known {
    fn new(seed: u64) -> Self {
        Self { seed, noise: OsNoise::default() }
    }
}

impl Randomness for Known {
    fn noise(&mut self, _: u32) -> &mut dyn NoiseSource {
        &mut self.noise
    }

    fn lottery(&mut self, round: u32) -> [u8; 32] {
        lottery_value(self.seed, round)
    }
}
