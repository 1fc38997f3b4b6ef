//! An open file as SQLite sees it, and its methods: version 2, with shared memory.

use super::contents::{Contents, Handle};
use super::file::SECTOR;
use super::shared::Region;
use super::vfs::code;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

/// What is in the memory that SQLite has for an open file. It begins as SQLite demands.
#[repr(C)]
pub(super) struct OpenFile {
    base: sqlite3_file,
    /// A `Box`, from `new` to `close`.
    opened: *mut Opened,
}

struct Opened {
    contents: Arc<Mutex<Contents>>,
    handle: Handle,
    /// As long as it is open, because SQLite has pointers to them.
    mapped: Mutex<Vec<Region>>,
}

impl OpenFile {
    pub(super) fn new(contents: Arc<Mutex<Contents>>, handle: Handle) -> Self {
        let opened = Box::into_raw(Box::new(Opened { contents, handle, mapped: Mutex::default() }));
        Self { base: sqlite3_file { pMethods: &METHODS }, opened }
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(map_shared),
    xShmLock: Some(lock_shared),
    xShmBarrier: Some(order_shared),
    xShmUnmap: Some(unmap_shared),
    xFetch: None,
    xUnfetch: None,
};

/// # Safety
///
/// `file` was opened by the VFS and is not closed while the result is in use.
unsafe fn opened<'a>(file: *mut sqlite3_file) -> &'a Opened {
    // SAFETY: by the contract, an `OpenFile` with its `Box` is there. SQLite does not close a file during a call.
    unsafe { &*(*file.cast::<OpenFile>()).opened }
}

fn length(n: c_int) -> usize {
    usize::try_from(n).unwrap_or(0)
}

// Of all methods below, SQLite's contract is the safety argument: `file` is open, buffers have the stated length, and
// results go to valid memory of the stated type.

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    code(|| {
        // SAFETY: the `Box` of `OpenFile::new`. Without methods, SQLite does not use the file again.
        let opened = unsafe {
            (*file).pMethods = std::ptr::null();
            Box::from_raw((*file.cast::<OpenFile>()).opened)
        };
        let mut contents = super::lock(&opened.contents);
        contents.unmap(&opened.handle);
        contents.close(&opened.handle);
        Ok(())
    })
}

unsafe extern "C" fn read(file: *mut sqlite3_file, target: *mut c_void, n: c_int, offset: sqlite3_int64) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above; the zeros make it memory that may be looked at.
        let (opened, target) = unsafe {
            std::ptr::write_bytes(target.cast::<u8>(), 0, length(n));
            (opened(file), std::slice::from_raw_parts_mut(target.cast::<u8>(), length(n)))
        };
        super::lock(&opened.contents).read(&opened.handle, offset, target)
    })
}

unsafe extern "C" fn write(file: *mut sqlite3_file, bytes: *const c_void, n: c_int, offset: sqlite3_int64) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let (opened, bytes) = unsafe { (opened(file), std::slice::from_raw_parts(bytes.cast::<u8>(), length(n))) };
        super::lock(&opened.contents).write(&opened.handle, offset, bytes)
    })
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, n_bytes: sqlite3_int64) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        super::lock(&opened.contents).truncate(&opened.handle, n_bytes)
    })
}

/// The flags say how much to sync. It is always all.
unsafe extern "C" fn sync(file: *mut sqlite3_file, _: c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        super::lock(&opened.contents).sync(&opened.handle)
    })
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, n_bytes: *mut sqlite3_int64) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        let size = super::lock(&opened.contents).size(&opened.handle)?;
        // SAFETY: SQLite's contract, above.
        unsafe { *n_bytes = size as sqlite3_int64 };
        Ok(())
    })
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        super::lock(&opened.contents).lock(&opened.handle, level)
    })
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        super::lock(&opened.contents).unlock(&opened.handle, level);
        Ok(())
    })
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, answer: *mut c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        let is_reserved = super::lock(&opened.contents).is_reserved(&opened.handle)?;
        // SAFETY: SQLite's contract, above.
        unsafe { *answer = c_int::from(is_reserved) };
        Ok(())
    })
}

unsafe extern "C" fn file_control(_: *mut sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut sqlite3_file) -> c_int {
    SECTOR as c_int
}

/// Nothing is promised.
unsafe extern "C" fn device_characteristics(_: *mut sqlite3_file) -> c_int {
    0
}

unsafe extern "C" fn map_shared(
    file: *mut sqlite3_file,
    region: c_int,
    n_bytes: c_int,
    extend: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe {
            *memory = std::ptr::null_mut();
            opened(file)
        };
        let mapped = super::lock(&opened.contents).map(&opened.handle, length(region), length(n_bytes), extend != 0)?;
        if let Some(mapped) = mapped {
            // SAFETY: the memory may be changed through a shared pointer, and lives until the file is closed.
            unsafe { *memory = mapped.as_ptr().cast_mut().cast() };
            opened.mapped.lock().unwrap_or_else(PoisonError::into_inner).push(mapped);
        }
        Ok(())
    })
}

unsafe extern "C" fn lock_shared(file: *mut sqlite3_file, first: c_int, n: c_int, flags: c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        let range = length(first)..length(first.saturating_add(n));
        super::lock(&opened.contents).lock_shared(&opened.handle, range, flags)
    })
}

unsafe extern "C" fn order_shared(_: *mut sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn unmap_shared(file: *mut sqlite3_file, _: c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let opened = unsafe { opened(file) };
        super::lock(&opened.contents).unmap(&opened.handle);
        Ok(())
    })
}
