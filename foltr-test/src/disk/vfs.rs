//! The disk as SQLite sees it: a VFS, and its methods for names. `methods` has those of open files.
//!
//! This is the interface to C, hence `unsafe`. All methods go through `code`, so that no panic gets into C.

use super::contents::{Contents, Result};
use super::methods::OpenFile;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_vfs};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The longest path, as of SQLite's VFS for Unix.
const LONGEST_PATH: c_int = 512;

/// 1 January 2026, in milliseconds since the Julian epoch: SQLite's clock for `'now'`.
const NOW: i64 = 210_866_760_000_000 + 1_767_225_600_000;
const MILLISECONDS_OF_DAY: f64 = 86_400_000.0;

/// The disk is known to SQLite as long as this lives.
///
/// What SQLite may look at later is leaked: a connection, or a call that is just looking for the VFS, may outlive the
/// disk. That is the structure and its name; the content of files is dropped with the last user.
pub(super) struct Registration {
    name: String,
    vfs: *mut sqlite3_vfs,
}

// SAFETY: `vfs` points to leaked memory, and is passed to functions of SQLite only, which take SQLite's own lock.
unsafe impl Send for Registration {}
// SAFETY: as above; there is no access through a shared `Registration` at all.
unsafe impl Sync for Registration {}

impl Registration {
    pub(super) fn new(contents: &Arc<Mutex<Contents>>) -> Self {
        static N_DISKS: AtomicU64 = AtomicU64::new(0);
        let name = format!("foltr-disk-{}", N_DISKS.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.clone()).expect("a name without zero");
        let contents = Box::into_raw(Box::new(Arc::downgrade(contents)));
        let vfs = Box::into_raw(Box::new(structure(c_name.into_raw(), contents.cast())));
        // SAFETY: the structure and all it points to are complete and live for ever.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        assert_eq!(code, ffi::SQLITE_OK, "SQLite refuses the VFS {name}");
        Self { name, vfs }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: it was registered by `new`, and its memory stays.
        unsafe { ffi::sqlite3_vfs_unregister(self.vfs) };
    }
}

fn structure(name: *const c_char, contents: *mut c_void) -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<OpenFile>() as c_int,
        mxPathname: LONGEST_PATH,
        pNext: std::ptr::null_mut(),
        zName: name,
        pAppData: contents,
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(open_library),
        xDlError: Some(library_error),
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// What `method` gives, as SQLite's result code.
pub(super) fn code(method: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(method)) {
        Ok(Ok(())) => ffi::SQLITE_OK,
        Ok(Err(code)) => code,
        Err(_) => ffi::SQLITE_INTERNAL,
    }
}

/// # Safety
///
/// `vfs` is one that `Registration::new` made.
unsafe fn contents(vfs: *mut sqlite3_vfs) -> Result<Arc<Mutex<Contents>>> {
    // SAFETY: `pAppData` was set by `Registration::new` to a leaked `Weak`, which nobody changes.
    let contents = unsafe { &*(*vfs).pAppData.cast::<Weak<Mutex<Contents>>>() };
    contents.upgrade().ok_or(ffi::SQLITE_IOERR)
}

/// # Safety
///
/// `path` is null or a C string.
unsafe fn text(path: *const c_char) -> Result<Option<String>> {
    if path.is_null() {
        return Ok(None);
    }
    // SAFETY: by the contract; the text is copied before the caller goes on.
    let text = unsafe { CStr::from_ptr(path) }.to_str();
    text.map(|text| Some(text.to_owned())).map_err(|_| ffi::SQLITE_CANTOPEN)
}

// Of all methods below, SQLite's contract is the safety argument: `vfs` is the registered structure, paths are C
// strings that live during the call, and results go to valid memory of the stated type and length.

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    path: ffi::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: `file` has `szOsFile` bytes. Without methods, SQLite does not close what was not opened.
    unsafe { (*file).pMethods = std::ptr::null() };
    code(|| {
        // SAFETY: SQLite's contract, above.
        let (contents, name) = unsafe { (contents(vfs)?, text(path)?) };
        let handle = super::lock(&contents).open(name, flags)?;
        // SAFETY: `file` has `szOsFile` bytes, the size of `OpenFile`, aligned for pointers.
        unsafe { file.cast::<OpenFile>().write(OpenFile::new(contents, handle)) };
        if !flags_out.is_null() {
            // SAFETY: not null, so SQLite wants the flags there.
            unsafe { *flags_out = flags };
        }
        Ok(())
    })
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, path: *const c_char, sync_dir: c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let (contents, name) = unsafe { (contents(vfs)?, text(path)?) };
        super::lock(&contents).delete(&name.unwrap_or_default(), sync_dir != 0)
    })
}

/// All may be read and written, so that only existence is a question.
unsafe extern "C" fn access(vfs: *mut sqlite3_vfs, path: *const c_char, _: c_int, answer: *mut c_int) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let (contents, name) = unsafe { (contents(vfs)?, text(path)?) };
        let exists = super::lock(&contents).exists(&name.unwrap_or_default())?;
        // SAFETY: SQLite's contract, above.
        unsafe { *answer = c_int::from(exists) };
        Ok(())
    })
}

/// There are no folders: a path is its full path.
unsafe extern "C" fn full_pathname(_: *mut sqlite3_vfs, path: *const c_char, n: c_int, full: *mut c_char) -> c_int {
    code(|| {
        // SAFETY: SQLite's contract, above.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes_with_nul();
        if path.len() > usize::try_from(n).unwrap_or(0) {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        // SAFETY: `full` has `n` bytes, and the path is not longer; the two are different strings.
        unsafe { std::ptr::copy_nonoverlapping(path.as_ptr().cast(), full, path.len()) };
        Ok(())
    })
}

/// No library is on this disk.
unsafe extern "C" fn open_library(_: *mut sqlite3_vfs, _: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

unsafe extern "C" fn library_error(_: *mut sqlite3_vfs, n: c_int, message: *mut c_char) {
    if n > 0 {
        // SAFETY: `message` has `n` bytes; an empty message is one of them.
        unsafe { *message = 0 };
    }
}

/// No entropy: all zero. SQLite asks its default VFS for what it needs, not this one.
unsafe extern "C" fn randomness(_: *mut sqlite3_vfs, n: c_int, bytes: *mut c_char) -> c_int {
    // SAFETY: `bytes` has `n` bytes.
    unsafe { std::ptr::write_bytes(bytes, 0, usize::try_from(n).unwrap_or(0)) };
    n
}

unsafe extern "C" fn sleep(_: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

unsafe extern "C" fn current_time(_: *mut sqlite3_vfs, days: *mut f64) -> c_int {
    // SAFETY: SQLite's contract, above.
    unsafe { *days = NOW as f64 / MILLISECONDS_OF_DAY };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time_int64(_: *mut sqlite3_vfs, milliseconds: *mut i64) -> c_int {
    // SAFETY: SQLite's contract, above.
    unsafe { *milliseconds = NOW };
    ffi::SQLITE_OK
}

/// The result codes say all.
unsafe extern "C" fn last_error(_: *mut sqlite3_vfs, _: c_int, _: *mut c_char) -> c_int {
    0
}
