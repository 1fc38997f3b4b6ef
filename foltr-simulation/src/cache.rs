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

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::dataset::Dataset;
use crate::letor::{LetorError, ReadOptions, decompressed, parse_letor, source_bytes};
use crate::normalise::normalise_per_query;

use file::{open_cache_file, write_cache_file};
use stamp::{Fingerprint, Stamp};
pub(crate) use streamed::{Streamed, load_streamed};

mod file;
mod growing;
mod stamp;
mod streamed;

/// The environment variable that names the cache folder, or says `off`.
pub const CACHE_VARIABLE: &str = "FOLTR_CACHE";

/// The folder beside the data that holds their cache.
const FOLDER_NAME: &str = ".foltr-cache";

/// Where caches are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Beside the data where that folder may be written, otherwise in the user's cache folder.
    Automatic,
    /// In this folder.
    Folder(PathBuf),
    /// Nowhere: every file is read from text.
    Off,
}

impl Cache {
    /// What `FOLTR_CACHE` says: a folder, `off`, or nothing for [`Cache::Automatic`].
    pub fn from_environment() -> Self {
        Self::from_setting(env::var_os(CACHE_VARIABLE).as_deref())
    }

    fn from_setting(setting: Option<&OsStr>) -> Self {
        match setting {
            None => Self::Automatic,
            Some(folder) if folder.is_empty() => Self::Automatic,
            Some(off) if off.eq_ignore_ascii_case("off") => Self::Off,
            Some(folder) => Self::Folder(folder.into()),
        }
    }

    /// Folders to look into and to write to, best first.
    fn folders(&self, source: &Path) -> Vec<PathBuf> {
        match self {
            Self::Off => Vec::new(),
            Self::Folder(folder) => vec![folder.clone()],
            Self::Automatic => {
                let beside = source.parent().filter(|folder| may_write(folder)).map(|folder| folder.join(FOLDER_NAME));
                let of_user = dirs::cache_dir().map(|folder| folder.join("foltr"));
                beside.into_iter().chain(of_user).collect()
            }
        }
    }
}

/// Whether a folder's permissions allow writing at all. Asked first because an administrator could write regardless.
fn may_write(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// A data set, and whether it came from the cache.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The data.
    pub data: Dataset,
    /// Whether no text had to be read.
    pub from_cache: bool,
}

/// Loads a LETOR file (plain, `.gz` or `.zst`), from the cache where possible; `normalise` scales it per query.
pub fn load_letor(path: &Path, options: &ReadOptions, normalise: bool, cache: &Cache) -> Result<Loaded, LetorError> {
    let read_error = |source| LetorError::Read { file: path.into(), source };
    let path_key = fs::canonicalize(path).map_err(read_error)?;
    let folders = cache.folders(&path_key);
    let before = Fingerprint::of(&path_key);
    let stamp_name = stamp_name(&path_key);
    let stamps: Vec<_> = folders.iter().map(|folder| Stamp::read(&folder.join(&stamp_name))).collect();
    let name_of = |hash| data_file_name(path, hash, options, normalise);
    let open = |hash| folders.iter().find_map(|folder| open_cache_file(&folder.join(name_of(hash)), hash));

    let trusted = stamps.iter().flatten().find(|stamp| before.as_ref().is_some_and(|now| stamp.is_current(now)));
    if let Some(data) = trusted.and_then(|stamp| open(stamp.source_hash)) {
        return Ok(Loaded { data, from_cache: true });
    }
    let now = stamp::seconds_now();
    let raw = source_bytes(path).map_err(read_error)?;
    if folders.is_empty() {
        return Ok(Loaded { data: read(raw, path, options, normalise)?, from_cache: false });
    }
    let hash = xxh3_128(raw.as_slice());
    let found = open(hash);
    let from_cache = found.is_some();
    let data = found.map_or_else(|| read(raw, path, options, normalise), Ok)?;
    // A source that changed meanwhile is returned as it was read, but nothing is remembered about it.
    if let Some(fingerprint) = before.filter(|before| Fingerprint::of(&path_key).as_ref() == Some(before)) {
        let stamp = Stamp { fingerprint, hashed_at: now, source_hash: hash };
        for (folder, old) in folders.iter().zip(&stamps) {
            let is_stored = from_cache || write_cache_file(&folder.join(name_of(hash)), hash, &data).is_ok();
            if is_stored && stamp.write(&folder.join(&stamp_name)).is_ok() {
                remove_outdated(folder, old.as_ref(), hash, name_of);
                break;
            }
        }
    }
    Ok(Loaded { data, from_cache })
}

fn read(
    raw: crate::letor::SourceBytes,
    path: &Path,
    options: &ReadOptions,
    normalise: bool,
) -> Result<Dataset, LetorError> {
    let text = decompressed(raw, path).map_err(|source| LetorError::Read { file: path.into(), source })?;
    let data = parse_letor(text.as_slice(), path, options)?;
    Ok(if normalise { normalise_per_query(&data) } else { data })
}

/// The stamp of a source is found by its place.
fn stamp_name(source: &Path) -> String {
    format!("{:016x}.stamp", xxh3_64(source.as_os_str().as_encoded_bytes()))
}

/// Everything that determines the contents is in the name.
fn data_file_name(path: &Path, hash: u128, options: &ReadOptions, normalise: bool) -> String {
    let extension = path.extension().and_then(OsStr::to_str);
    let encoding = extension.filter(|extension| matches!(*extension, "gz" | "zst")).unwrap_or("text");
    let width = options.n_features.map_or("any".to_owned(), |n_features| n_features.to_string());
    let scale = if normalise { "normalised" } else { "raw" };
    format!("{hash:032x}-{encoding}-{width}-{}-{scale}.foltr{}", options.max_label, file::FORMAT_VERSION)
}

/// Deletes what the path held before, so that edits do not fill the disk. Failure only wastes space.
fn remove_outdated(folder: &Path, old: Option<&Stamp>, hash: u128, name_of: impl Fn(u128) -> String) {
    if let Some(old) = old.filter(|old| old.source_hash != hash) {
        let _ = fs::remove_file(folder.join(name_of(old.source_hash)));
    }
}

#[cfg(test)]
mod tests;
