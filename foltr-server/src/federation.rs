//! One federation of a running server: its key, its settings, and what is in force.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use foltr_federation::protocol::{DeviceId, FeatureSchema, HEADER_LEN, SecretKey};

use crate::database::{Connection, DatabaseError, Pool};
use crate::group_commit::GroupCommit;
use crate::rate_limit::RateLimit;
use crate::service::contribute::{Outcome, Upload};
use crate::settings::FederationSettings;
use crate::signing_key;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::store::devices::{self, DeviceRow, Status};
use crate::store::federations::{self, FederationRow};
use crate::store::plans;

pub struct Federation {
    pub id: i64,
    pub name: String,
    pub settings: FederationSettings,
    /// Of the documents that devices rank; for exports.
    pub features: Option<FeatureSchema>,
    /// Where the key lies; a test has it in memory only.
    pub key_file: Option<PathBuf>,
    /// Whether the key came from an environment variable, in place of the file.
    pub is_key_of_environment: bool,
    key: RwLock<SecretKey>,
    snapshot: RwLock<Option<Arc<Snapshot>>>,
    known: RwLock<KnownDevices>,
    enrolled: RwLock<Enrolled>,
    /// Bytes of the longest contribution to any plan, and how many plans were looked at.
    longest: Mutex<(usize, i64)>,
    /// Days on which devices were seen, to be stored.
    seen: Mutex<BTreeMap<u32, u64>>,
    pub uploads: GroupCommit<Upload, Outcome>,
    pub per_device: RateLimit<DeviceId>,
    /// When what is old was taken away last, in seconds.
    collected_at: AtomicU64,
    /// The revision at which no closed round had bytes any more.
    pub emptied: AtomicI64,
}

/// Active devices that were looked up since one was revoked last. No device becomes active again.
#[derive(Default)]
struct KnownDevices {
    /// Of the snapshot: what was read before it is not added.
    revision: i64,
    rows: HashMap<DeviceId, DeviceRow>,
}

/// Which ids are of devices, whatever their status, without a look into the database for each: by their first bytes, which
/// nobody can choose.
#[derive(Default)]
struct Enrolled {
    n_numbers: u32,
    ids: HashSet<u64>,
}

fn first_bytes(device: &DeviceId) -> u64 {
    u64::from_le_bytes(*device.as_bytes().first_chunk().expect("an id has 32 bytes"))
}

const DAY: u64 = 86_400;
/// More devices than this are looked up again.
const MOST_KNOWN: usize = 1_000_000;

impl Federation {
    pub fn new(id: i64, name: String, settings: FederationSettings, key: SecretKey, key_file: Option<PathBuf>) -> Self {
        let per_device = RateLimit::new(settings.device_burst, settings.device_per_minute);
        Self {
            id,
            name,
            settings,
            features: None,
            key_file,
            is_key_of_environment: false,
            key: RwLock::new(key),
            snapshot: RwLock::default(),
            known: RwLock::default(),
            enrolled: RwLock::default(),
            longest: Mutex::default(),
            seen: Mutex::default(),
            uploads: GroupCommit::default(),
            per_device,
            collected_at: AtomicU64::new(0),
            emptied: AtomicI64::new(0),
        }
    }

    pub fn key(&self) -> SecretKey {
        self.key.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_key(&self, key: SecretKey) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = key;
    }

    /// What is in force, as it was known last.
    pub fn snapshot(&self, pool: &Pool) -> Result<Arc<Snapshot>, SnapshotError> {
        let known = self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.map_or_else(|| self.refresh(pool), Ok)
    }

    /// What is in force now.
    pub fn refresh(&self, pool: &Pool) -> Result<Arc<Snapshot>, SnapshotError> {
        let before = self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone();
        let key = self.key();
        // What is wrong with the content is no error of the transaction.
        let read = pool.read(|tables| {
            let row = federations::find(tables, self.id)?;
            self.follow(tables, &row)?;
            if let Some(before) = before.as_ref().filter(|before| before.row.revision == row.revision) {
                let mut same = before.row.clone();
                same.n_contributions = row.n_contributions;
                (same.n_active, same.n_numbers) = (row.n_active, row.n_numbers);
                if same == row {
                    return Ok(Ok(None));
                }
            }
            let (parts, plan) = (before.as_ref().map(|it| &it.parts), before.as_ref().map(|it| it.row.plan));
            match Snapshot::read(tables, row, &key, parts, plan) {
                Err(SnapshotError::Database(error)) => Err(error),
                other => Ok(other.map(Some)),
            }
        })?;
        match read {
            Ok(None) => Ok(before.expect("it was compared")),
            Ok(Some(snapshot)) => Ok(self.replace(snapshot)),
            Err(SnapshotError::OtherKey(named)) if self.reload_key(&named) => self.refresh(pool),
            Err(error) => Err(error),
        }
    }

    /// Notes devices and plans that are new.
    fn follow(&self, tables: &mut dyn Connection, row: &FederationRow) -> Result<(), DatabaseError> {
        let from = self.enrolled.read().unwrap_or_else(PoisonError::into_inner).n_numbers;
        if row.n_numbers > from {
            let ids = devices::ids(tables, self.id, from)?;
            let mut enrolled = self.enrolled.write().unwrap_or_else(PoisonError::into_inner);
            enrolled.ids.extend(ids.iter().map(first_bytes));
            enrolled.n_numbers = row.n_numbers.max(enrolled.n_numbers);
        }
        let (mut longest, n_plans) = *self.longest.lock().unwrap_or_else(PoisonError::into_inner);
        if row.plan > n_plans {
            for plan in n_plans + 1..=row.plan {
                let plan = plans::find(tables, self.id, plan)?;
                let expected = plan.expected().map_err(|error| DatabaseError::Damaged(error.to_string()))?;
                longest = longest.max(HEADER_LEN + expected.kind.content_len(expected.n_params));
            }
            *self.longest.lock().unwrap_or_else(PoisonError::into_inner) = (longest, row.plan);
        }
        Ok(())
    }

    /// Bytes of the longest contribution, also to earlier plans.
    pub fn longest_contribution(&self) -> usize {
        self.longest.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Another replica may have rotated the key and the operator copied it here; or a rotation was interrupted after its
    /// release was published.
    fn reload_key(&self, named: &foltr_federation::protocol::PublicKey) -> bool {
        let Some(file) = &self.key_file else { return false };
        let read = |file: &Path| signing_key::read(file).ok().filter(|key| key.public_key() == *named);
        let next = || read(&signing_key::next_file(file)).filter(|_| signing_key::replace(file).is_ok());
        read(file).or_else(next).map(|key| self.set_key(key)).is_some()
    }

    fn replace(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        let mut own = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        if own.as_ref().is_none_or(|own| own.row.revision <= snapshot.row.revision) {
            let n_gone = |row: &FederationRow| row.n_numbers.saturating_sub(row.n_active);
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if own.as_ref().is_none_or(|own| n_gone(&own.row) != n_gone(&snapshot.row)) {
                known.rows.clear();
            }
            known.revision = snapshot.row.revision;
            *own = Some(Arc::clone(&snapshot));
        }
        snapshot
    }

    /// A device, if it is enrolled.
    pub fn device(&self, pool: &Pool, device: &DeviceId) -> Result<Option<DeviceRow>, DatabaseError> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = known.rows.get(device) {
            return Ok(Some(*row));
        }
        let revision = known.revision;
        drop(known);
        let found = devices::look_up(pool, self.id, device)?;
        if let Some(row) = found.filter(|row| row.status == Status::Active) {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.rows.len() >= MOST_KNOWN {
                known.rows.clear();
            }
            // It may have been revoked since it was read.
            if known.revision == revision {
                known.rows.insert(*device, row);
            }
        }
        Ok(found)
    }

    /// Whether a device may have this id; not of one that joined at another replica a moment ago.
    pub fn is_enrolled(&self, device: &DeviceId) -> bool {
        self.enrolled.read().unwrap_or_else(PoisonError::into_inner).ids.contains(&first_bytes(device))
    }

    pub fn note_enrolled(&self, device: &DeviceId) {
        self.enrolled.write().unwrap_or_else(PoisonError::into_inner).ids.insert(first_bytes(device));
    }

    /// Notes that a device was here, once a day.
    pub fn note_seen(&self, device: &DeviceRow, now: u64) {
        let today = now / DAY * DAY;
        if device.last_seen < today {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(device.number, today);
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.rows.get_mut(&device.device) {
                known.last_seen = today;
            }
        }
    }

    /// Once a minute.
    pub fn is_time_to_collect(&self, now: u64) -> bool {
        let last = self.collected_at.swap(now, Ordering::Relaxed);
        let is_time = now >= last.saturating_add(60) || now < last;
        if !is_time {
            self.collected_at.store(last, Ordering::Relaxed);
        }
        is_time
    }

    /// Numbers of devices that were here, and the day; each is said once. In rising order, in which all replicas lock them.
    pub fn take_seen(&self) -> Vec<(u32, u64)> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        seen.into_iter().collect()
    }
}
