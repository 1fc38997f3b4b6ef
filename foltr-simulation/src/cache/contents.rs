//! What the cache folder holds, by source file, and how to empty it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::stamp::{Fingerprint, Stamp};

/// The cache files made from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CachedFiles {
    /// The LETOR file; unknown where nothing remembers it.
    pub source: Option<PathBuf>,
    pub state: SourceState,
    pub n_files: usize,
    pub n_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceState {
    /// As it was when it was read.
    Unchanged,
    /// Written since; the next use reads it anew.
    Changed,
    Missing,
    Unknown,
}

impl SourceState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// Everything in a cache folder by source, in the order of their paths; files that no source is known of come first.
pub fn contents(folder: &Path) -> io::Result<Vec<CachedFiles>> {
    let files = own_files(folder)?;
    let mut by_hash: BTreeMap<String, Vec<&OwnFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.kind == Kind::Data) {
        by_hash.entry(file.name[..N_HASH_DIGITS].to_owned()).or_default().push(file);
    }
    let mut all = Vec::new();
    for file in files.iter().filter(|file| file.kind == Kind::Stamp) {
        let Some(stamp) = Stamp::read(&folder.join(&file.name)) else { continue };
        let own = by_hash.remove(&format!("{:032x}", stamp.source_hash)).unwrap_or_default();
        let state = match Fingerprint::of(&stamp.path) {
            Some(now) if now == stamp.fingerprint => SourceState::Unchanged,
            Some(_) => SourceState::Changed,
            None => SourceState::Missing,
        };
        all.push(CachedFiles { source: Some(stamp.path), state, ..counted(&own) });
    }
    let unknown: Vec<&OwnFile> = by_hash.into_values().flatten().collect();
    if !unknown.is_empty() {
        all.push(counted(&unknown));
    }
    all.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(all)
}

fn counted(files: &[&OwnFile]) -> CachedFiles {
    let n_bytes = files.iter().map(|file| file.n_bytes).sum();
    CachedFiles { source: None, state: SourceState::Unknown, n_files: files.len(), n_bytes }
}

/// Removes every file that a cache has written, and the folder if nothing else is in it. Returns the number of data files
/// and the bytes of all files. Whoever has a file open goes on reading it.
pub fn clear(folder: &Path) -> io::Result<(usize, u64)> {
    let (mut n_files, mut n_bytes) = (0, 0);
    for file in own_files(folder)? {
        fs::remove_file(folder.join(&file.name))?;
        n_files += usize::from(file.kind == Kind::Data);
        n_bytes += file.n_bytes;
    }
    // Refused if somebody else's file is there.
    let _ = fs::remove_dir(folder);
    Ok((n_files, n_bytes))
}

/// Removes the data files of a source hash, unless another stamp names it. Failure only wastes space.
pub(super) fn remove_outdated(folder: &Path, source_hash: u128) {
    let Ok(files) = own_files(folder) else { return };
    let is_used = files
        .iter()
        .filter(|file| file.kind == Kind::Stamp)
        .any(|file| Stamp::read(&folder.join(&file.name)).is_some_and(|stamp| stamp.source_hash == source_hash));
    if is_used {
        return;
    }
    let prefix = format!("{source_hash:032x}-");
    for file in files.iter().filter(|file| file.name.starts_with(&prefix)) {
        let _ = fs::remove_file(folder.join(&file.name));
    }
}

struct OwnFile {
    name: String,
    kind: Kind,
    n_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Stamp,
    /// Of a program that was stopped while it wrote.
    Unfinished,
}

const N_HASH_DIGITS: usize = 32;

/// The files of a cache folder that a cache has written, by name; none if there is no such folder.
fn own_files(folder: &Path) -> io::Result<Vec<OwnFile>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Another process may have removed it meanwhile.
        let (Some(kind), Ok(about)) = (kind_of(&name), entry.metadata()) else { continue };
        if about.is_file() {
            files.push(OwnFile { name, kind, n_bytes: about.len() });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn kind_of(name: &str) -> Option<Kind> {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name.starts_with(super::file::UNFINISHED) {
        return Some(Kind::Unfinished);
    }
    if let Some(stem) = name.strip_suffix(".stamp") {
        return (stem.len() == 16 && is_hex(stem)).then_some(Kind::Stamp);
    }
    let (hash, rest) = name.split_once('-')?;
    let version = rest.rsplit_once(".foltr")?.1;
    (hash.len() == N_HASH_DIGITS && is_hex(hash) && is_hex(version)).then_some(Kind::Data)
}
