//! A binary cache of LETOR files, keyed by content and opened by memory mapping in milliseconds.
//!
//! Two small ideas keep it sound:
//!
//! * The data file is named after a 128-bit hash of the source's bytes, its encoding, the read options and the format
//!   version. It therefore never needs to be updated: other bytes have another name.
//! * A *stamp* remembers which hash a path had, so that the source need not be hashed on every start. It is believed
//!   only if size, modification time, change time, inode and device are all the same, and if the source was last
//!   changed well before it was hashed; a source edited in the same clock tick is hashed again. When in doubt, the
//!   source is hashed, which is still far cheaper than reading it.
//!
//! Damaged, truncated or foreign files are ignored and written anew. Files are written under a temporary name and
//! renamed, so a reader never sees half a file. Failing to write a cache is not an error: the data are there anyway.
//!
//! All files are in one folder, that of the user's caches unless `FOLTR_CACHE` names another: never beside the data,
//! whose folder may be somebody else's.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::dataset::Dataset;
use crate::letor::{LetorError, ReadOptions, SourceBytes, decompressed, parse_letor, source_bytes};
use crate::normalise::normalise_per_query;

pub use contents::{CachedFiles, SourceState, clear, contents};
use file::{open_cache_file, write_cache_file};
use stamp::{Fingerprint, Stamp};
pub(crate) use streamed::{Streamed, load_streamed};

mod contents;
mod file;
mod stamp;
mod streamed;

/// The environment variable that names the cache folder, or says `off`.
pub const CACHE_VARIABLE: &str = "FOLTR_CACHE";

/// Where caches are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    Folder(PathBuf),
    /// Nowhere: every file is read from text.
    Off,
}

impl Cache {
    /// What `FOLTR_CACHE` says, a folder or `off`; else `foltr` in the user's cache folder: `XDG_CACHE_HOME`, or the usual
    /// one of the system, such as `~/.cache`. Off if there is none.
    pub fn from_environment() -> Self {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let of_user = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        Self::new(variable(CACHE_VARIABLE).as_deref(), of_user.or_else(dirs::cache_dir))
    }

    fn new(setting: Option<&OsStr>, of_user: Option<PathBuf>) -> Self {
        match setting {
            Some(off) if off.eq_ignore_ascii_case("off") => Self::Off,
            Some(folder) => Self::Folder(folder.into()),
            None => of_user.map_or(Self::Off, |folder| Self::Folder(folder.join("foltr"))),
        }
    }

    pub fn folder(&self) -> Option<&Path> {
        if let Self::Folder(folder) = self { Some(folder) } else { None }
    }
}

#[derive(Clone, Debug)]
pub struct Loaded {
    pub data: Dataset,
    pub from_cache: bool,
}

/// A source file, and what is remembered about it.
struct CachedSource<'a> {
    path_key: PathBuf,
    folder: Option<&'a Path>,
    stamp_name: String,
    /// As it was in the beginning, which was at `started_at`.
    before: Option<Fingerprint>,
    started_at: i64,
}

impl<'a> CachedSource<'a> {
    fn new(path: &Path, cache: &'a Cache) -> io::Result<Self> {
        let path_key = fs::canonicalize(path)?;
        // The stamp of a source is found by its path.
        let stamp_name = format!("{:016x}.stamp", xxh3_64(path_key.as_os_str().as_encoded_bytes()));
        let before = Fingerprint::of(&path_key);
        Ok(Self { path_key, folder: cache.folder(), stamp_name, before, started_at: stamp::seconds_now() })
    }

    fn stamp(&self, folder: &Path) -> Option<Stamp> {
        Stamp::read(&folder.join(&self.stamp_name)).filter(|stamp| stamp.path == self.path_key)
    }

    /// The hash that the source certainly still has.
    fn trusted_hash(&self) -> Option<u128> {
        let stamp = self.stamp(self.folder?)?;
        stamp.is_current(self.before.as_ref()?).then_some(stamp.source_hash)
    }

    /// What the file system says, if it has said the same in the beginning.
    fn unchanged(&self) -> Option<Fingerprint> {
        self.before.clone().filter(|before| Fingerprint::of(&self.path_key).as_ref() == Some(before))
    }

    /// Remembers the hash of a source that has not changed meanwhile, and deletes the data files of the hash that it had
    /// before, so that edits do not fill the disk.
    fn remember(&self, folder: &Path, hash: u128) {
        let Some(fingerprint) = self.unchanged() else { return };
        let old = self.stamp(folder).filter(|old| old.source_hash != hash);
        let new = Stamp { path: self.path_key.clone(), fingerprint, hashed_at: self.started_at, source_hash: hash };
        let is_written = new.write(&folder.join(&self.stamp_name)).is_ok();
        if let Some(old) = old.filter(|_| is_written) {
            contents::remove_outdated(folder, old.source_hash);
        }
    }
}

/// Loads a LETOR file (plain, `.gz` or `.zst`), from the cache where possible; `normalise` scales it per query.
pub fn load_letor(path: &Path, options: &ReadOptions, normalise: bool, cache: &Cache) -> Result<Loaded, LetorError> {
    let read_error = |source| LetorError::Read { file: path.into(), source };
    let source = CachedSource::new(path, cache).map_err(read_error)?;
    let name_of = |hash| data_file_name(path, hash, options, normalise);
    let open = |hash| open_cache_file(&source.folder?.join(name_of(hash)), hash);
    if let Some(data) = source.trusted_hash().and_then(open) {
        return Ok(Loaded { data, from_cache: true });
    }
    let raw = source_bytes(path).map_err(read_error)?;
    let hash = if source.folder.is_none() { 0 } else { xxh3_128(raw.as_slice()) };
    let cached = open(hash);
    let from_cache = cached.is_some();
    let data = cached.map_or_else(|| read(raw, path, options, normalise), Ok)?;
    // A source that changed meanwhile is returned as it was read, but nothing is remembered about it.
    if let Some(folder) = source.folder.filter(|_| source.unchanged().is_some())
        && (from_cache || write_cache_file(&folder.join(name_of(hash)), hash, &data).is_ok())
    {
        source.remember(folder, hash);
    }
    Ok(Loaded { data, from_cache })
}

fn read(raw: SourceBytes, path: &Path, options: &ReadOptions, normalise: bool) -> Result<Dataset, LetorError> {
    let text = decompressed(raw, path).map_err(|source| LetorError::Read { file: path.into(), source })?;
    let data = parse_letor(text.as_slice(), path, options)?;
    Ok(if normalise { normalise_per_query(&data) } else { data })
}

/// Everything that determines the contents is in the name.
fn data_file_name(path: &Path, hash: u128, options: &ReadOptions, normalise: bool) -> String {
    let extension = path.extension().and_then(OsStr::to_str);
    let encoding = extension.filter(|extension| matches!(*extension, "gz" | "zst")).unwrap_or("text");
    let width = options.n_features.map_or("any".to_owned(), |n_features| n_features.to_string());
    let scale = if normalise { "normalised" } else { "raw" };
    format!("{hash:032x}-{encoding}-{width}-{}-{scale}.foltr{}", options.max_label, file::FORMAT_VERSION)
}

#[cfg(test)]
mod tests;
