//! A disk for SQLite, in memory, that loses what was not synced.
//!
//! Reference: "The OS Interface or VFS" of SQLite's documentation. The disk is a VFS with a name of its own. A file
//! has the content that programs see, and beside it what is durable: the content at its last successful sync. Between
//! the two is the log of its changes, of which a power loss keeps none, a prefix, or any subset.
//!
//! What differs from a real disk and its file system:
//!
//! - Files do not wait for each other: of one, all may survive, and of another, nothing. Some file systems promise more.
//! - A new file has its name for good when it is synced first. Before that, it may be lost.
//! - A deletion is durable at once if SQLite asks for that (`syncDir`). Else it is one more change, which may be lost:
//!   the file is back after the reboot.
//! - The first sync of a new journal or write-ahead log is also one of its folder, as with SQLite's VFS for Unix: all
//!   that was created or deleted there is so for good. Without that, a journal of long ago could come back and undo
//!   what was committed since.
//! - What is written to a file whose deletion or creation is lost never gets into another file of the same name.
//! - A handle of a deleted file fails. SQLite deletes no file that it has open.
//! - Files without name are temporary: closing deletes them, which is not counted, and so does a reboot.
//! - A failed sync loses all changes since the last one. A real kernel may lose some pages of them only.
//! - The device promises nothing about sectors beside a write. SQLite then fills the last sector of a synced commit up,
//!   which its VFS for Unix spares itself by default (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`).
//! - Memory that connections share is not a file: it is gone with the last of them.
//! - The clock stands still and sleep takes no time.

mod contents;
mod file;
mod locks;
mod methods;
mod random;
mod shared;
#[cfg(test)]
mod tests;
mod vfs;

use contents::{Contents, Operation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What can happen to a disk. It happens at the first operation that it can meet, from the planned one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This operation does nothing. It and all others, also reads, fail with `SQLITE_IOERR` until [`Disk::reboot`].
    PowerLoss,
    /// Every write fails with `SQLITE_FULL` until [`Disk::clear_fault`], also one that needs no new space.
    Full,
    /// One sync fails with `SQLITE_IOERR_FSYNC`. As with real kernels, programs go on to see what they wrote, but it
    /// counts as clean: no later sync makes it durable, even if that one succeeds, and no power loss keeps it.
    SyncError,
    /// A write is applied up to a border of sectors within it, or a byte within it if it has no border. Then power is
    /// lost. The part that was written is not synced: it survives as other changes do.
    TornWrite,
}

impl Fault {
    fn meets(self, operation: Operation) -> bool {
        match self {
            Self::PowerLoss | Self::Full => true,
            Self::SyncError => operation == Operation::Sync,
            Self::TornWrite => operation == Operation::Write,
        }
    }
}

/// Which changes since a file's last sync are there after a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    None,
    /// The first ones; how many is chance.
    Prefix,
    /// Each with probability 1/2. Every second write of those is torn: of its sectors, each is kept with probability
    /// 1/2.
    AnySubset,
}

impl Survivors {
    pub const ALL: [Self; 3] = [Self::None, Self::Prefix, Self::AnySubset];
}

/// A disk. Its clones are the same disk. SQLite knows it as long as there is one; connections may live longer.
#[derive(Clone)]
pub struct Disk {
    contents: Arc<Mutex<Contents>>,
    registration: Arc<vfs::Registration>,
}

impl Disk {
    /// An empty disk with power.
    #[allow(clippy::new_without_default, reason = "each is another VFS: there is no default one")]
    pub fn new() -> Self {
        Self::with(Contents::default())
    }

    fn with(contents: Contents) -> Self {
        let contents = Arc::new(Mutex::new(contents));
        let registration = Arc::new(vfs::Registration::new(&contents));
        Self { contents, registration }
    }

    /// Another disk with the same content, changes, counter and faults, to try several reboots after one power loss.
    /// No program has anything open there.
    pub fn copy(&self) -> Self {
        let mut contents = self.contents().clone();
        contents.forget_handles();
        Self::with(contents)
    }

    /// The name of the VFS, for `Connection::open_with_flags_and_vfs`.
    pub fn name(&self) -> &str {
        self.registration.name()
    }

    /// How many times programs wrote, truncated, synced or deleted, also in vain; not while power was off.
    pub fn n_operations(&self) -> u64 {
        self.contents().n_operations()
    }

    /// Plans a fault. Operations are counted from 0, also over reboots: `n_operations` is the next one. Several faults
    /// may be planned.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.contents().plan(operation, fault);
    }

    /// Whether a planned [`Fault::Full`] has happened.
    pub fn is_full(&self) -> bool {
        self.contents().is_full()
    }

    /// The disk is no longer full, and no planned fault happens. Lost power comes back by `reboot` only.
    pub fn clear_fault(&self) {
        self.contents().clear_fault();
    }

    /// Power comes back; it is lost now if it was on. The same seed gives the same bytes. No lock is left, and handles
    /// from before fail for ever. A disk that was full still is.
    pub fn reboot(&self, survivors: Survivors, seed: u64) {
        self.contents().reboot(survivors, seed);
    }

    /// Flips the bits `xor` of a byte on the medium. A change that was not synced may still overwrite it.
    ///
    /// # Panics
    ///
    /// If the file or the byte does not exist.
    pub fn corrupt(&self, file: &str, offset: usize, xor: u8) {
        let is_done = self.contents().corrupt(file, offset, xor);
        assert!(is_done, "{file} has no byte {offset}; files and lengths: {:?}", self.files());
    }

    /// Names and lengths, as programs see them.
    pub fn files(&self) -> Vec<(String, usize)> {
        self.contents().files()
    }

    /// The content of a file, as programs see it.
    pub fn read(&self, file: &str) -> Option<Vec<u8>> {
        self.contents().content(file).cloned()
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        lock(&self.contents)
    }
}

/// A test that panicked must not take other tests along.
fn lock(contents: &Mutex<Contents>) -> MutexGuard<'_, Contents> {
    contents.lock().unwrap_or_else(PoisonError::into_inner)
}
