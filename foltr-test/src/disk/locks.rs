//! Locks as SQLite defines them: many share, one is about to write, and who writes is alone.

use super::contents::{Contents, Handle, Result};
use rusqlite::ffi;
use std::ffi::c_int;

impl Contents {
    fn highest_lock_of_others(&self, handle: &Handle) -> c_int {
        let others = self.open.iter().filter(|(id, open)| **id != handle.id && open.name == handle.name);
        others.map(|(_, open)| open.lock).max().unwrap_or(ffi::SQLITE_LOCK_NONE)
    }

    pub(super) fn lock(&mut self, handle: &Handle, level: c_int) -> Result<()> {
        self.check(handle)?;
        let most_beside = match level {
            ffi::SQLITE_LOCK_SHARED => ffi::SQLITE_LOCK_RESERVED,
            ffi::SQLITE_LOCK_RESERVED => ffi::SQLITE_LOCK_SHARED,
            _ => ffi::SQLITE_LOCK_NONE,
        };
        if self.highest_lock_of_others(handle) > most_beside {
            return Err(ffi::SQLITE_BUSY);
        }
        self.set_lock(handle, |held| held.max(level));
        Ok(())
    }

    /// Never fails, as `close`.
    pub(super) fn unlock(&mut self, handle: &Handle, level: c_int) {
        self.set_lock(handle, |held| held.min(level));
    }

    fn set_lock(&mut self, handle: &Handle, new: impl FnOnce(c_int) -> c_int) {
        if let Some(open) = self.open.get_mut(&handle.id) {
            open.lock = new(open.lock);
        }
    }

    pub(super) fn is_reserved(&self, handle: &Handle) -> Result<bool> {
        self.check(handle)?;
        let own = self.open.get(&handle.id).map_or(ffi::SQLITE_LOCK_NONE, |open| open.lock);
        Ok(own.max(self.highest_lock_of_others(handle)) >= ffi::SQLITE_LOCK_RESERVED)
    }
}
