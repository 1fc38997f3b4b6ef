//! What a run keeps for clients that leave, as files of its folder: `history.bin`, or one such file for each shard.
//!
//! A request changes several files at once. All new ones are written to a folder of their own, whose last rename is the
//! moment at which the request is met; whoever opens the run afterwards puts them in place, also after a loss of power.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use foltr_federation::History;
use serde::Serialize;

use crate::rows::Forgotten;

/// What `[unlearning]` or the newest request did.
pub const FORGOTTEN_FILE: &str = "unlearning.json";
/// New files, not all of them there yet.
const UNFINISHED: &str = "forgetting.partial";
/// New files, all of them there.
const READY: &str = "forgetting.ready";

/// The file of a history; shards are counted from 0.
fn file_name(shard: usize, n_shards: usize) -> String {
    if n_shards == 1 { "history.bin".into() } else { format!("history-{shard}.bin") }
}

/// Writes the histories of a run, and what came of its `[unlearning]`.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, histories: &[History], forgotten: Option<&Forgotten>) -> Result<()> {
    for (shard, history) in histories.iter().enumerate() {
        put(&folder.join(file_name(shard, histories.len())), &history.encode())?;
    }
    forgotten.map_or(Ok(()), |forgotten| put_json(&folder.join(FORGOTTEN_FILE), forgotten))
}

/// Reads the histories of a run and checks their chains.
///
/// # Errors
/// If there is none, or a file is damaged or was altered.
pub fn read(folder: &Path, n_shards: usize) -> Result<Vec<History>> {
    let read = |shard: usize| {
        let path = folder.join(file_name(shard, n_shards));
        if !path.exists() {
            bail!("{}: there is no such file; only runs of experiments with [history] can forget", path.display());
        }
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        read_one(&bytes).with_context(|| format!("{} is not believed", path.display()))
    };
    (0..n_shards).map(read).collect()
}

/// Reads a history of some file and checks its chain.
///
/// # Errors
/// If it is damaged or was altered.
pub fn read_one(bytes: &[u8]) -> Result<History> {
    let history = History::decode(bytes)?;
    history.verify()?;
    Ok(history)
}

/// Files that take the place of others all at once.
pub struct Replacement {
    run: PathBuf,
    new: PathBuf,
}

impl Replacement {
    /// A replacement of files of this run. What an earlier one left unfinished is thrown away.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn begin(run: &Path) -> Result<Self> {
        let new = run.join(UNFINISHED);
        if new.exists() {
            std::fs::remove_dir_all(&new).with_context(|| format!("{} cannot be removed", new.display()))?;
        }
        std::fs::create_dir(&new).with_context(|| format!("{} cannot be made", new.display()))?;
        Ok(Self { run: run.into(), new })
    }

    /// Where new files belong, with their names.
    pub fn path(&self) -> &Path {
        &self.new
    }

    /// Makes it happen.
    ///
    /// # Errors
    /// If something cannot be written. Then either nothing has changed, or [`settle`] will finish it.
    pub fn commit(self) -> Result<()> {
        let told = format!("{} cannot be written", self.new.display());
        let rename = || -> std::io::Result<()> {
            File::open(&self.new)?.sync_all()?;
            std::fs::rename(&self.new, self.run.join(READY))?;
            File::open(&self.run)?.sync_all()
        };
        rename().context(told)?;
        settle(&self.run)
    }
}

/// Puts the files of a replacement in place that was committed and not finished, if there is one.
///
/// # Errors
/// If a file cannot be moved.
pub fn settle(run: &Path) -> Result<()> {
    let ready = run.join(READY);
    if !ready.is_dir() {
        return Ok(());
    }
    let finish = || -> std::io::Result<()> {
        for entry in std::fs::read_dir(&ready)? {
            let entry = entry?;
            std::fs::rename(entry.path(), run.join(entry.file_name()))?;
        }
        File::open(run)?.sync_all()?;
        std::fs::remove_dir(&ready)
    };
    finish().with_context(|| format!("{} cannot be put in place", ready.display()))
}

/// Writes a file and makes sure that it is there.
///
/// # Errors
/// If it cannot be written.
pub fn put(path: &Path, content: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// The same for a value as JSON.
///
/// # Errors
/// If it cannot be written.
pub fn put_json(path: &Path, value: &impl Serialize) -> Result<()> {
    put(path, (serde_json::to_string_pretty(value)? + "\n").as_bytes())
}
