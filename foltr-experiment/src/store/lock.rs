//! Which folders are foltr's, and who may write to them.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::files::{create_folder, list, put_json, read_json};

const MARKER: &str = "foltr.json";
const LOCK: &str = ".lock";
const LAYOUT: u32 = 2;

#[derive(Deserialize, Serialize)]
struct Marker {
    /// Changes when folders are laid out in another way.
    layout: u32,
}

/// Locks a folder of foltr, or a new one, until the returned file is dropped.
pub fn lock_folder(path: &Path) -> Result<File> {
    create_folder(path)?;
    let is_new = !is_marked(path);
    if is_new {
        ensure!(is_empty(path)?, not_ours(path));
    } else {
        let Marker { layout } = read_json(&path.join(MARKER))?;
        ensure!(
            layout == LAYOUT,
            "{} was written by another version of foltr (layout {layout}, this one has {LAYOUT}); choose another --out",
            path.display()
        );
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
        put_json(&path.join(MARKER), &Marker { layout: LAYOUT })?;
    }
    Ok(lock)
}

pub(crate) fn is_marked(path: &Path) -> bool {
    path.join(MARKER).is_file()
}

/// Nothing but folders of foltr, and what an earlier start may have left before it wrote the marker.
fn is_empty(path: &Path) -> Result<bool> {
    let own = [path.join(LOCK), path.join(format!(".{MARKER}.new"))];
    Ok(list(path)?.iter().all(|entry| own.contains(entry) || is_marked(entry)))
}

/// Why a folder is not written to, or has no results.
pub(super) fn not_ours(path: &Path) -> String {
    let shown = path.display();
    let has_runs = path.join("runs").is_dir() && path.join("run.json").is_file();
    let is_seed =
        |entry: &std::path::PathBuf| entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-"));
    if has_runs || list(path).is_ok_and(|entries| entries.iter().any(is_seed)) {
        return format!(
            "{shown} was written by an older version of foltr, whose runs cannot be reused; delete it or choose another folder"
        );
    }
    if path.is_file() {
        return format!("{shown} is a file; expected a result folder of `foltr run`");
    }
    match path.exists() {
        false => format!("{shown}: no such folder; expected a result folder of `foltr run`"),
        true => {
            format!("{shown} has files that foltr did not write ({MARKER} is missing); choose an empty or new folder")
        }
    }
}
