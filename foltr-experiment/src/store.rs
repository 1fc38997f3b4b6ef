//! Results on disk: where things are, how a finished run is stored, and who may write.
//!
//! ```text
//! DIR/foltr.json              marks the folder: only folders with this file are written to
//! DIR/resolved.toml           the study with overrides and defaults; can be run again
//! DIR/jobs.csv                which run belongs to which setting, fold and seed
//! DIR/rows.csv, summary.json  all values, and means with intervals by setting; also study.json, verdict.json
//! DIR/runs/<key>/             one finished run: run.json, rows.csv, model.safetensors, deploy.json and whatever else it has
//! DIR/runs/<key>.partial/     a run that is not finished
//! DIR/runs/<key>.forgotten    a run in which clients were forgotten, and the key of the run after that
//! ```
//!
//! One study has its files in DIR itself, so that `foltr run FILE --out DIR` has its tables where people look for them.
//! Several studies (`foltr reproduce`) have them in `DIR/<study>/` and share `DIR/runs`.
//!
//! A run gets its name by one rename after all of it has reached the disk, and `run.json` has the checksum of every
//! file: a folder `runs/<key>` is a whole run or is found to be damaged, whatever happened to the program, the machine
//! or the files.

mod files;
mod lock;
mod record;
mod writer;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use files::{create_folder, remove};
pub(crate) use files::{list, put, put_json, read, read_json, replace};
pub(crate) use lock::is_marked;
pub use lock::lock_folder;
pub(crate) use record::RowFile;
pub use record::{Lineage, RunRecord, Tombstone};
pub use writer::RunWriter;

pub const CODE_HASH: &str = env!("FOLTR_CODE_HASH");

const ROWS_FILE: &str = "rows.csv";
/// What the final rankers are worth to every client, if clients differ.
const CLIENTS_FILE: &str = "clients.csv";
/// What the final ranker is worth on every held-out query.
const QUERIES_FILE: &str = "queries.csv";
/// What a server needs beside the model to deploy the run; runs of earlier versions have none.
pub const DEPLOYMENT_FILE: &str = "deploy.json";

#[derive(Clone, Debug, PartialEq)]
pub enum RunState {
    Missing,
    Finished(RunRecord),
    Damaged(String),
    Forgotten(Tombstone),
}

/// The runs of a folder that this process may write to.
#[derive(Debug)]
pub struct RunStore {
    path: PathBuf,
    _lock: File,
}

impl RunStore {
    /// Opens a folder for writing and makes it if needed. Runs that another process left unfinished are removed, unless
    /// they can be resumed.
    pub fn open(path: &Path) -> Result<Self> {
        let store = Self { path: path.into(), _lock: lock_folder(path)? };
        let runs = path.join("runs");
        create_folder(&runs)?;
        for path in list(&runs)? {
            let stale = match path.extension().and_then(|ending| ending.to_str()) {
                Some("partial") => (!path.join(writer::RESUMABLE).exists()).then_some(path),
                // The program ended between the tombstone and the removal.
                Some("forgotten") => Some(path.with_extension("")),
                _ => None,
            };
            stale.map_or(Ok(()), |stale| remove(&stale))?;
        }
        Ok(store)
    }

    /// Opens the folder to which a study's folder belongs: itself, or the one above it.
    pub fn of_study(study: &Path) -> Result<Self> {
        Self::open(&root_of(study)?)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a study: the store's own without a name.
    pub fn study(&self, name: Option<&str>) -> Result<StudyFolder<'_>> {
        let path = name.map_or_else(|| self.path.clone(), |name| self.path.join(name));
        create_folder(&path)?;
        Ok(self.study_at(&path))
    }

    pub fn study_at(&self, path: &Path) -> StudyFolder<'_> {
        StudyFolder { store: self, path: path.into() }
    }

    pub fn run_folder(&self, key: &str) -> PathBuf {
        run_folder(&self.path, key)
    }

    /// Compares every file of a run with its checksum.
    pub fn state(&self, key: &str) -> RunState {
        if let Some(tombstone) = Tombstone::read(&self.path, key) {
            return RunState::Forgotten(tombstone);
        }
        let folder = self.run_folder(key);
        if !folder.exists() {
            return RunState::Missing;
        }
        match RunRecord::verify(&folder) {
            Ok(record) => RunState::Finished(record),
            Err(damage) => RunState::Damaged(format!("{damage:#}")),
        }
    }

    /// Starts a run. Nothing of an earlier attempt, finished or not, is left.
    pub fn start(&self, key: &str) -> Result<RunWriter> {
        self.remove(key)?;
        RunWriter::open(self.run_folder(key), false)
    }

    /// Starts a run, or resumes what an earlier attempt left unfinished.
    pub fn resume(&self, key: &str) -> Result<RunWriter> {
        remove(&self.run_folder(key))?;
        remove(&tombstone_path(&self.path, key))?;
        RunWriter::open(self.run_folder(key), true)
    }

    pub fn remove(&self, key: &str) -> Result<()> {
        remove(&self.run_folder(key))?;
        remove(&self.run_folder(key).with_extension("partial"))?;
        remove(&tombstone_path(&self.path, key))
    }

    /// Replaces a run by the one in which clients are forgotten: its files go, a tombstone stays.
    pub fn bury(&self, key: &str, tombstone: &Tombstone) -> Result<()> {
        tombstone.write(&self.path, key)?;
        remove(&self.run_folder(key))
    }

    /// Copies a finished run from another folder, unless it is there.
    pub fn copy_from(&self, root: &Path, key: &str) -> Result<()> {
        if matches!(self.state(key), RunState::Finished(_)) {
            return Ok(());
        }
        let from = run_folder(root, key);
        let record = RunRecord::verify(&from)?;
        let writer = self.start(key)?;
        record.files.keys().try_for_each(|name| writer.copy(&from, name))?;
        writer.finish(record)
    }
}

#[derive(Debug)]
pub struct StudyFolder<'a> {
    pub store: &'a RunStore,
    path: PathBuf,
}

impl StudyFolder<'_> {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces a file as a whole: readers see the old one or the new one.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        put(&self.path.join(name), content)
    }

    pub fn write_with(&self, name: &str, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
        replace(&self.path.join(name), fill)
    }
}

/// The folder with the runs of a study: the study's own, or one above it.
pub fn root_of(study: &Path) -> Result<PathBuf> {
    if lock::is_marked(study) {
        return Ok(study.to_owned());
    }
    let whole = study.canonicalize().unwrap_or_default();
    let above = whole.ancestors().skip(1).take(2).find(|above| lock::is_marked(above));
    match above.filter(|_| study.join("jobs.csv").exists()) {
        Some(above) => Ok(above.to_owned()),
        None => bail!("{}", lock::not_ours(study)),
    }
}

pub fn run_folder(root: &Path, key: &str) -> PathBuf {
    root.join("runs").join(key)
}

fn tombstone_path(root: &Path, key: &str) -> PathBuf {
    run_folder(root, key).with_extension("forgotten")
}

/// The run that stands for a key now: itself, or the last one after clients were forgotten in it.
pub fn current_key(root: &Path, key: &str) -> String {
    let mut current = key.to_owned();
    while let Some(tombstone) = Tombstone::read(root, &current) {
        current = tombstone.successor;
    }
    current
}

#[cfg(test)]
mod tests;
