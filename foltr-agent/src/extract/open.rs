//! Opens a file for reading without ever waiting for it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, lstat, open};

use super::Reason;

/// What tells formats apart stands in the first bytes: of a DOCX also the names of the first parts.
const N_FIRST: usize = 4096;

/// A regular file with its size and its first bytes.
pub(super) struct Opened {
    pub file: File,
    pub size: u64,
    pub first: Vec<u8>,
}

/// Symbolic links are not followed: what they lead to is found where it is, and loops have no end.
pub(super) fn open_regular(path: &Path) -> Result<Opened, Reason> {
    let unreadable = |error: rustix::io::Errno| Reason::unreadable(&error.into());
    // Opening alone does something to some devices.
    let found = lstat(path).map_err(unreadable)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Reason::NotAFile);
    }
    // It may have been replaced by a pipe in between, whose opening waits for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty()).map_err(unreadable)?);
    let metadata = file.metadata().map_err(|error| Reason::unreadable(&error))?;
    if !metadata.is_file() {
        return Err(Reason::NotAFile);
    }
    let mut first = vec![0; N_FIRST];
    let mut n_read = 0;
    while n_read < N_FIRST {
        // At an offset, as the worker shares the position of the descriptor.
        match file.read_at(&mut first[n_read..], n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Reason::unreadable(&error)),
        }
    }
    first.truncate(n_read);
    Ok(Opened { file, size: metadata.len(), first })
}
