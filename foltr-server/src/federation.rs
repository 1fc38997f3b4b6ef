//! One federation of a running server: its key, its settings, and what is in force.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use foltr_federation::protocol::{DeviceId, FeatureSchema, SecretKey};

use crate::database::{DatabaseError, Pool};
use crate::group_commit::GroupCommit;
use crate::rate_limit::RateLimit;
use crate::service::contribute::{Outcome, Upload};
use crate::settings::FederationSettings;
use crate::signing_key;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::store::devices::{self, DeviceRow, Status};
use crate::store::federations::{self, FederationRow};

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
    known: RwLock<KnownDevices>,
    /// Days on which devices were seen, to be stored.
    seen: Mutex<HashMap<u32, u64>>,
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

    /// Another replica may have rotated the key and the operator copied it here.
    fn reload_key(&self, named: &foltr_federation::protocol::PublicKey) -> bool {
        let Some(file) = &self.key_file else { return false };
        let found = signing_key::read(file).ok().filter(|key| key.public_key() == *named);
        found.map(|key| self.set_key(key)).is_some()
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
        let found = pool.read(|tables| devices::find(tables, self.id, device))?;
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
        let is_time = now >= last.saturating_add(60);
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
