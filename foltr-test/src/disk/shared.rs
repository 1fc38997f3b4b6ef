//! Memory that the connections of one file share, as write-ahead logs need it: no power loss keeps it.

use super::contents::{Contents, Handle, Result};
use rusqlite::ffi;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// SQLite reads and writes it without asking. Whoever has it mapped keeps it alive.
pub(super) type Region = Arc<[AtomicU64]>;

const N_LOCKS: usize = ffi::SQLITE_SHM_NLOCK as usize;

#[derive(Clone, Default)]
pub(super) struct Shared {
    regions: Vec<Region>,
    /// Ids of the handles that have mapped it.
    users: BTreeSet<u64>,
    locks: [Lock; N_LOCKS],
}

/// By ids of handles.
#[derive(Clone, Default)]
struct Lock {
    shared: BTreeSet<u64>,
    exclusive: Option<u64>,
}

impl Contents {
    fn shared(&mut self, handle: &Handle) -> Result<&mut Shared> {
        self.check(handle)?;
        Ok(self.shared.entry(handle.name.clone()).or_default())
    }

    /// Nothing if the region does not exist and is not to be made.
    pub(super) fn map(&mut self, handle: &Handle, n: usize, n_bytes: usize, extend: bool) -> Result<Option<Region>> {
        let shared = self.shared(handle)?;
        shared.users.insert(handle.id);
        while extend && shared.regions.len() <= n {
            shared.regions.push((0..n_bytes.div_ceil(size_of::<u64>())).map(|_| AtomicU64::new(0)).collect());
        }
        Ok(shared.regions.get(n).cloned())
    }

    /// Never fails. The last one to go takes the memory along.
    pub(super) fn unmap(&mut self, handle: &Handle) {
        let Some(shared) = self.shared.get_mut(&handle.name) else { return };
        shared.unlock(0..N_LOCKS, handle.id);
        shared.users.remove(&handle.id);
        if shared.users.is_empty() {
            self.shared.remove(&handle.name);
        }
    }

    pub(super) fn lock_shared(&mut self, handle: &Handle, range: Range<usize>, flags: c_int) -> Result<()> {
        let id = handle.id;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            self.shared.get_mut(&handle.name).into_iter().for_each(|shared| shared.unlock(range.clone(), id));
            return Ok(());
        }
        let is_exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        let locks = self.shared(handle)?.locks.get_mut(range).ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        let others = |lock: &Lock| {
            lock.exclusive.is_some_and(|holder| holder != id)
                || is_exclusive && lock.shared.iter().any(|&holder| holder != id)
        };
        if locks.iter().any(others) {
            return Err(ffi::SQLITE_BUSY);
        }
        for lock in locks {
            if is_exclusive {
                lock.exclusive = Some(id);
            } else {
                lock.shared.insert(id);
            }
        }
        Ok(())
    }
}

impl Shared {
    fn unlock(&mut self, range: Range<usize>, id: u64) {
        for lock in self.locks.get_mut(range).unwrap_or_default() {
            lock.shared.remove(&id);
            lock.exclusive.take_if(|holder| *holder == id);
        }
    }
}

/// By the name of the file.
pub(super) type SharedOfFiles = BTreeMap<String, Shared>;
