//! One process a folder.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Held for as long as the device is open; the operating system takes it back when a process dies.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "the file is locked while it is open")] File);

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    #[error("{}: is in use by {holder}; one process at a time", folder.display())]
    Held { folder: PathBuf, holder: String },
    #[error("{}: {source}", file.display())]
    File { file: PathBuf, source: std::io::Error },
}

impl FolderLock {
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let file = folder.join("lock");
        let wrong = |source| LockError::File { file: file.clone(), source };
        let mut lock =
            File::options().read(true).write(true).create(true).truncate(false).open(&file).map_err(wrong)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Without a name it is still in use.
                let _ = lock.read_to_string(&mut holder);
                let holder = if holder.is_empty() { "another process".into() } else { holder.trim().to_owned() };
                return Err(LockError::Held { folder: folder.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(wrong(source)),
        }
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let holder = format!("process {} ({})", std::process::id(), program.as_deref().unwrap_or("unknown program"));
        lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(holder.as_bytes())).map_err(wrong)?;
        Ok(Self(lock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_is_told_who_has_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = FolderLock::take(folder.path()).expect("free");
        let refused = FolderLock::take(folder.path()).expect_err("in use").to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(lock);
        FolderLock::take(folder.path()).expect("free again");
    }
}
