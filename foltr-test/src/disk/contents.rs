//! All that is on a disk, its power and its faults: what the methods of the VFS do, in safe code.

use super::file::{Change, File, torn_length};
use super::random::Random;
use super::shared::SharedOfFiles;
use super::{Fault, Survivors};
use rusqlite::ffi;
use std::collections::BTreeMap;
use std::ffi::c_int;

/// What SQLite gets instead of a value: one of its result codes.
pub(super) type Result<T> = std::result::Result<T, c_int>;

/// No file is larger: a wild offset must not take all memory.
const LARGEST_FILE: usize = 1 << 30;

/// What a program may do to the disk. Each is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Write,
    Truncate,
    Sync,
    Delete,
}

/// Files whose first sync is one of their folder too, if they are new: SQLite relies on that.
const JOURNALS: c_int = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;

/// A file that a program has open. It fails if the disk does not know its id.
pub(super) struct Handle {
    pub(super) name: String,
    /// Never given twice, so that handles from before a reboot fail for ever.
    pub(super) id: u64,
    is_temporary: bool,
}

/// What the disk knows about a handle.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) name: String,
    pub(super) lock: c_int,
    syncs_folder: bool,
}

#[derive(Clone, Default)]
pub(super) struct Contents {
    files: BTreeMap<String, File>,
    /// By the id of the handle.
    pub(super) open: BTreeMap<u64, Open>,
    pub(super) shared: SharedOfFiles,
    n_handles: u64,
    n_operations: u64,
    planned: Vec<(u64, Fault)>,
    is_full: bool,
    is_off: bool,
}

/// Faults.
impl Contents {
    pub(super) fn n_operations(&self) -> u64 {
        self.n_operations
    }

    pub(super) fn plan(&mut self, operation: u64, fault: Fault) {
        self.planned.push((operation, fault));
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn clear_fault(&mut self) {
        self.planned.clear();
        self.is_full = false;
    }

    /// Counts an operation. The fault that is to happen within it, if power stays on until then.
    fn begin(&mut self, operation: Operation) -> Result<Option<Fault>> {
        self.check_power()?;
        let number = self.n_operations;
        self.n_operations += 1;
        while let Some(fault) = self.due(number, operation) {
            match fault {
                Fault::PowerLoss => {
                    self.is_off = true;
                    return Err(ffi::SQLITE_IOERR);
                }
                Fault::Full => self.is_full = true,
                Fault::SyncError | Fault::TornWrite => return Ok(Some(fault)),
            }
        }
        if self.is_full && operation == Operation::Write { Err(ffi::SQLITE_FULL) } else { Ok(None) }
    }

    fn due(&mut self, number: u64, operation: Operation) -> Option<Fault> {
        let is_due = |&(first, fault): &(u64, Fault)| first <= number && fault.meets(operation);
        let place = self.planned.iter().position(is_due)?;
        Some(self.planned.remove(place).1)
    }

    fn check_power(&self) -> Result<()> {
        if self.is_off { Err(ffi::SQLITE_IOERR) } else { Ok(()) }
    }

    pub(super) fn reboot(&mut self, survivors: Survivors, seed: u64) {
        self.forget_handles();
        let mut random = Random::new(seed);
        self.files.values_mut().for_each(|file| file.reboot(survivors, &mut random));
        self.files.retain(|_, file| file.now().is_some());
        self.is_off = false;
    }

    /// No program has anything open. What was temporary is gone.
    pub(super) fn forget_handles(&mut self) {
        self.open.clear();
        self.shared.clear();
        self.files.retain(|name, _| !name.starts_with(TEMPORARY));
    }
}

/// Names.
impl Contents {
    pub(super) fn files(&self) -> Vec<(String, usize)> {
        let files = self.files.iter().filter_map(|(name, file)| Some((name.clone(), file.now()?.len())));
        files.collect()
    }

    pub(super) fn content(&self, name: &str) -> Option<&Vec<u8>> {
        self.files.get(name)?.now()
    }

    pub(super) fn corrupt(&mut self, name: &str, offset: usize, xor: u8) -> bool {
        self.files.get_mut(name).is_some_and(|file| file.corrupt(offset, xor))
    }

    pub(super) fn exists(&self, name: &str) -> Result<bool> {
        self.check_power()?;
        Ok(self.content(name).is_some())
    }

    /// A file without name is temporary. Creation is not counted: it may be lost as long as the file is not synced.
    pub(super) fn open(&mut self, name: Option<String>, flags: c_int) -> Result<Handle> {
        self.check_power()?;
        let id = self.n_handles;
        let is_temporary = name.is_none() || flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0;
        let name = name.unwrap_or_else(|| format!("{TEMPORARY}{id}"));
        let may_create = is_temporary || flags & ffi::SQLITE_OPEN_CREATE != 0;
        let must_create = flags & ffi::SQLITE_OPEN_EXCLUSIVE != 0;
        let is_new = self.content(&name).is_none();
        if (is_new && !may_create) || (!is_new && must_create) {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        if is_new {
            self.files.entry(name.clone()).or_default().change(Change::Create);
        }
        self.n_handles += 1;
        let syncs_folder = is_new && flags & JOURNALS != 0;
        self.open.insert(id, Open { name: name.clone(), lock: ffi::SQLITE_LOCK_NONE, syncs_folder });
        Ok(Handle { name, id, is_temporary })
    }

    /// Never fails: programs cannot do anything about it.
    pub(super) fn close(&mut self, handle: &Handle) {
        if self.open.remove(&handle.id).is_some() && handle.is_temporary {
            self.files.remove(&handle.name);
        }
    }

    /// Handles of the file fail from now on.
    pub(super) fn delete(&mut self, name: &str, is_durable: bool) -> Result<()> {
        if !self.exists(name)? {
            return Err(ffi::SQLITE_IOERR_DELETE_NOENT);
        }
        self.begin(Operation::Delete)?;
        let file = self.files.get_mut(name).ok_or(ffi::SQLITE_IOERR_DELETE)?;
        if is_durable {
            file.delete_durably()
        } else {
            file.change(Change::Delete)
        }
        self.open.retain(|_, open| open.name != name);
        Ok(())
    }
}

/// Where the name of a file without name begins.
const TEMPORARY: &str = "temporary file ";

/// Content.
impl Contents {
    pub(super) fn check(&self, handle: &Handle) -> Result<()> {
        self.check_power()?;
        if self.open.contains_key(&handle.id) { Ok(()) } else { Err(ffi::SQLITE_IOERR) }
    }

    fn seen(&self, handle: &Handle) -> Result<&[u8]> {
        self.check(handle)?;
        self.content(&handle.name).map(Vec::as_slice).ok_or(ffi::SQLITE_IOERR)
    }

    fn file(&mut self, handle: &Handle) -> Result<&mut File> {
        self.files.get_mut(&handle.name).ok_or(ffi::SQLITE_IOERR)
    }

    pub(super) fn size(&self, handle: &Handle) -> Result<usize> {
        self.seen(handle).map(<[u8]>::len)
    }

    /// What is beyond the end is zero, and SQLite must be told.
    pub(super) fn read(&self, handle: &Handle, offset: i64, target: &mut [u8]) -> Result<()> {
        let seen = self.seen(handle)?;
        let start = usize::try_from(offset).map_err(|_| ffi::SQLITE_IOERR_READ)?;
        let rest = seen.get(start..).unwrap_or_default();
        let n_bytes = rest.len().min(target.len());
        let (known, beyond) = target.split_at_mut(n_bytes);
        known.copy_from_slice(&rest[..n_bytes]);
        beyond.fill(0);
        if beyond.is_empty() { Ok(()) } else { Err(ffi::SQLITE_IOERR_SHORT_READ) }
    }

    pub(super) fn write(&mut self, handle: &Handle, offset: i64, bytes: &[u8]) -> Result<()> {
        self.check(handle)?;
        let offset = place(offset, bytes.len())?;
        let number = self.n_operations;
        let is_torn = self.begin(Operation::Write)?.is_some();
        let n_bytes = if is_torn { torn_length(offset, bytes.len(), &mut Random::new(number)) } else { bytes.len() };
        if n_bytes > 0 {
            self.file(handle)?.change(Change::Write { offset, bytes: bytes[..n_bytes].to_vec() });
        }
        self.is_off = is_torn;
        self.check_power()
    }

    pub(super) fn truncate(&mut self, handle: &Handle, n_bytes: i64) -> Result<()> {
        self.check(handle)?;
        let n_bytes = place(n_bytes, 0)?;
        self.begin(Operation::Truncate)?;
        self.file(handle)?.change(Change::Truncate(n_bytes));
        Ok(())
    }

    pub(super) fn sync(&mut self, handle: &Handle) -> Result<()> {
        self.check(handle)?;
        let has_failed = self.begin(Operation::Sync)?.is_some();
        let file = self.file(handle)?;
        if has_failed {
            file.fail_sync();
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        file.sync();
        if self.open.get_mut(&handle.id).is_some_and(|open| std::mem::take(&mut open.syncs_folder)) {
            let here = folder(&handle.name);
            self.files.iter_mut().filter(|(name, _)| folder(name) == here).for_each(|(_, file)| file.sync_name());
        }
        Ok(())
    }
}

fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn place(offset: i64, n_bytes: usize) -> Result<usize> {
    let offset = usize::try_from(offset).map_err(|_| ffi::SQLITE_IOERR)?;
    let end = offset.checked_add(n_bytes).ok_or(ffi::SQLITE_FULL)?;
    if end <= LARGEST_FILE { Ok(offset) } else { Err(ffi::SQLITE_FULL) }
}
