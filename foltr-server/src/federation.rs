//! One federation of a running server: its key, its settings, and what is in force.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use foltr_federation::protocol::{DeviceId, FeatureSchema, SecretKey};

use crate::database::{DatabaseError, Pool};
use crate::group_commit::GroupCommit;
use crate::rate_limit::RateLimit;
use crate::service::contribute::{Outcome, Upload};
use crate::settings::FederationSettings;
use crate::signing_key;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::store::devices::{self, DeviceRow};
use crate::store::federations;

pub struct Federation {
    pub id: i64,
    pub name: String,
    pub settings: FederationSettings,
    /// Of the documents that devices rank; for exports.
    pub features: Option<FeatureSchema>,
    /// Where the key lies; a test has it in memory only.
    pub key_file: Option<PathBuf>,
    key: RwLock<SecretKey>,
    snapshot: RwLock<Option<Arc<Snapshot>>>,
    /// Devices that were looked up, of the present revision.
    known: RwLock<HashMap<DeviceId, DeviceRow>>,
    /// Days on which devices were seen, to be stored.
    seen: Mutex<HashMap<u32, u64>>,
    pub uploads: GroupCommit<Upload, Outcome>,
    pub per_device: RateLimit<DeviceId>,
    /// When what is old was taken away last, in seconds.
    collected_at: AtomicU64,
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
            key: RwLock::new(key),
            snapshot: RwLock::default(),
            known: RwLock::default(),
            seen: Mutex::default(),
            uploads: GroupCommit::default(),
            per_device,
            collected_at: AtomicU64::new(0),
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
            *own = Some(Arc::clone(&snapshot));
            self.known.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        snapshot
    }

    /// A device, if it is enrolled.
    pub fn device(&self, pool: &Pool, device: &DeviceId) -> Result<Option<DeviceRow>, DatabaseError> {
        if let Some(row) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(device) {
            return Ok(Some(*row));
        }
        let revision = || {
            let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
            let revision = snapshot.as_ref().map(|snapshot| snapshot.row.revision);
            (snapshot, revision)
        };
        let before = revision().1;
        let found = pool.read(|tables| devices::find(tables, self.id, device))?;
        // What was read before a change is not kept: the device may have been revoked by it.
        if let (Some(row), (_unchanged, now)) = (found, revision())
            && now == before
        {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(*device, row);
        }
        Ok(found)
    }

    pub fn is_known(&self, device: &DeviceId) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).contains_key(device)
    }

    /// Notes that a device was here, once a day.
    pub fn note_seen(&self, device: &DeviceRow, now: u64) {
        let today = now / DAY * DAY;
        if device.last_seen < today {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(device.number, today);
            if let Some(known) = self.known.write().unwrap_or_else(PoisonError::into_inner).get_mut(&device.device) {
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

    /// Numbers of devices that were here, and the day; each is said once.
    pub fn take_seen(&self) -> Vec<(u32, u64)> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}
