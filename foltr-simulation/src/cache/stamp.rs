//! Which content a path had, and the evidence by which that is still believed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_64;

/// What the file system says about a source without reading it: size, modification time, change time (both in seconds
/// and nanoseconds), inode and device. The change time is set by the system on every change and not settable by programs,
/// unlike the modification time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint([u64; 7]);

impl Fingerprint {
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let it = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let times = [it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()].map(|time| time as u64);
        Some(Self([it.size(), times[0], times[1], times[2], times[3], it.ino(), it.dev()]))
    }

    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> Option<Self> {
        let it = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let since = it.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (seconds, nanoseconds) = (since.as_secs(), u64::from(since.subsec_nanos()));
        Some(Self([it.len(), seconds, nanoseconds, seconds, nanoseconds, 0, 0]))
    }

    /// In seconds since 1970.
    pub(super) fn last_change(&self) -> i64 {
        (self.0[1] as i64).max(self.0[3] as i64)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) path: PathBuf,
    pub(super) fingerprint: Fingerprint,
    /// Seconds since 1970, taken before the source was hashed.
    pub(super) hashed_at: i64,
    pub(super) source_hash: u128,
}

/// File systems keep times to two seconds or better.
const CLOCK_TICK_SECONDS: i64 = 2;

const MAGIC: &[u8; 8] = b"FOLTRst2";
const N_FIELDS: usize = 10;
const PATH_START: usize = 8 + 8 * N_FIELDS;

impl Stamp {
    /// Whether the source is certainly still the one that was hashed.
    pub(super) fn is_current(&self, now: &Fingerprint) -> bool {
        self.fingerprint == *now && now.last_change().saturating_add(CLOCK_TICK_SECONDS) < self.hashed_at
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let (body, checksum) = bytes.split_last_chunk::<8>()?;
        if body.len() < PATH_START || !body.starts_with(MAGIC) || xxh3_64(body).to_le_bytes() != *checksum {
            return None;
        }
        let field = |i: usize| u64::from_le_bytes(body[8 + 8 * i..16 + 8 * i].try_into().expect("eight bytes"));
        Some(Self {
            path: path_of(&body[PATH_START..])?,
            fingerprint: Fingerprint(std::array::from_fn(field)),
            hashed_at: field(7) as i64,
            source_hash: u128::from(field(8)) | u128::from(field(9)) << 64,
        })
    }

    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let others = [self.hashed_at as u64, self.source_hash as u64, (self.source_hash >> 64) as u64];
        let fields = self.fingerprint.0.into_iter().chain(others);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(fields.flat_map(u64::to_le_bytes));
        bytes.extend(self.path.as_os_str().as_encoded_bytes());
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        super::file::replace_file(path, |file| file.write_all(&bytes))
    }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::ffi::OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Seconds since 1970; 0 on a clock before that, which makes every stamp untrusted.
pub(super) fn seconds_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}
