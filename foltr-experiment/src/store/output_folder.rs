//! A folder that foltr made and that one process writes to.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::files::replace_json;

const MARKER: &str = "foltr.json";
const LOCK: &str = ".lock";
const LAYOUT: u32 = 2;

/// The content of the marker file.
#[derive(Deserialize, Serialize)]
struct Marker {
    /// Changes when folders are laid out in another way.
    layout: u32,
}

/// A folder for results: foltr's own, and locked.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    _lock: File,
}

impl OutputFolder {
    /// Opens a folder for writing; makes it if needed.
    ///
    /// # Errors
    /// If it has files that foltr did not write, cannot be made, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path).with_context(|| format!("the folder {} cannot be made", path.display()))?;
        let is_new = !is_marked(path);
        ensure!(!is_new || is_empty(path)?, not_ours(path));
        if !is_new {
            check_layout(path)?;
        }
        let lock_path = path.join(LOCK);
        let lock = File::create(&lock_path).with_context(|| format!("{} cannot be written", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another foltr is writing to {}; wait for it, or choose another --out", path.display())
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("{} cannot be locked", lock_path.display()));
            }
        }
        if is_new {
            replace_json(&path.join(MARKER), &Marker { layout: LAYOUT })?;
        }
        Ok(Self { path: path.into(), _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

pub(super) fn is_marked(path: &Path) -> bool {
    path.join(MARKER).is_file()
}

fn check_layout(path: &Path) -> Result<()> {
    let marker = path.join(MARKER);
    let text = std::fs::read_to_string(&marker).with_context(|| format!("{} cannot be read", marker.display()))?;
    let found: Marker = serde_json::from_str(&text).with_context(|| format!("{} is damaged", marker.display()))?;
    ensure!(
        found.layout == LAYOUT,
        "{} was written by another version of foltr (layout {}, this one has {LAYOUT}); choose another --out",
        path.display(),
        found.layout
    );
    Ok(())
}

/// Nothing but folders of foltr, and what an earlier start may have left before it wrote the marker.
fn is_empty(path: &Path) -> Result<bool> {
    let entries = std::fs::read_dir(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let new_marker = format!(".{MARKER}.new");
    for entry in entries {
        let entry = entry?;
        let is_own = entry.file_name() == LOCK || entry.file_name().to_str() == Some(&new_marker);
        if !is_own && !is_marked(&entry.path()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Why a folder is not written to, or has no results.
pub(super) fn not_ours(path: &Path) -> String {
    let shown = path.display();
    let has_runs = path.join("runs").is_dir() && path.join("run.json").is_file();
    let has_seeds = std::fs::read_dir(path).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("seed-")))
    });
    if has_runs || has_seeds {
        return format!(
            "{shown} was written by an older version of foltr, whose runs cannot be reused; delete it or choose another folder"
        );
    }
    match path.exists() {
        false => format!("{shown}: no such folder; expected a result folder of `foltr run`"),
        true => {
            format!("{shown} has files that foltr did not write ({MARKER} is missing); choose an empty or new folder")
        }
    }
}
