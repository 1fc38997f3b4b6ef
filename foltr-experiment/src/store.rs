//! Results on disk: where things are, how a finished run is stored, and who may write.
//!
//! ```text
//! DIR/foltr.json              marks the folder: only folders with this file are written to
//! DIR/resolved.toml           the study with overrides and defaults; can be run again
//! DIR/jobs.csv                which run belongs to which setting, fold and seed
//! DIR/rows.csv, summary.json  all values, and means with intervals by setting; also study.json, verdict.json
//! DIR/runs/<key>/             one finished run: run.json, rows.csv, model.safetensors and whatever else it has
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
mod finished;
mod output_folder;
mod record;
mod writer;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub use files::{put, put_json};
pub(crate) use files::{replace, replace_json};
pub use finished::FinishedRun;
pub use output_folder::OutputFolder;
pub use record::{Lineage, RunRecord, Tombstone};
pub use writer::RunWriter;

/// Hash of the code that computes numbers.
pub const CODE_HASH: &str = env!("FOLTR_CODE_HASH");

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunState {
    Missing,
    Finished(RunRecord),
    /// With the file and what is wrong with it.
    Damaged(String),
    Forgotten(Tombstone),
}

/// The runs of a folder that this process may write to.
#[derive(Debug)]
pub struct RunStore {
    folder: OutputFolder,
}

impl RunStore {
    /// Opens a folder for writing and makes it if needed. Runs that another process left unfinished are removed, unless
    /// they can be resumed.
    ///
    /// # Errors
    /// If it is not foltr's, cannot be made, or another process writes to it.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = OutputFolder::open(path)?;
        let runs = path.join("runs");
        std::fs::create_dir_all(&runs).with_context(|| format!("the folder {} cannot be made", runs.display()))?;
        let store = Self { folder };
        store.clean(&runs)?;
        Ok(store)
    }

    /// Opens the folder to which a study's folder belongs: itself, or the one above it.
    ///
    /// # Errors
    /// If there are no results of foltr.
    pub fn of_study(study: &Path) -> Result<Self> {
        Self::open(&root_of(study)?)
    }

    fn clean(&self, runs: &Path) -> Result<()> {
        for entry in std::fs::read_dir(runs).with_context(|| format!("{} cannot be read", runs.display()))? {
            let path = entry?.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            let stale = match ending {
                Some("partial") => (!path.join(writer::RESUMABLE).exists()).then_some(path),
                // The program ended between the tombstone and the removal.
                Some("forgotten") => Some(path.with_extension("")).filter(|run| run.exists()),
                _ => None,
            };
            if let Some(stale) = stale {
                remove(&stale)?;
            }
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of a study: the store's own without a name.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn study(&self, name: Option<&str>) -> Result<StudyFolder<'_>> {
        let path = name.map_or_else(|| self.path().to_owned(), |name| self.path().join(name));
        std::fs::create_dir_all(&path).with_context(|| format!("the folder {} cannot be made", path.display()))?;
        Ok(StudyFolder { store: self, path })
    }

    /// The folder of a study that is there.
    pub fn study_at(&self, path: &Path) -> StudyFolder<'_> {
        StudyFolder { store: self, path: path.into() }
    }

    pub fn run_folder(&self, key: &str) -> PathBuf {
        run_folder(self.path(), key)
    }

    /// What became of a run; every file is compared with its checksum.
    pub fn state(&self, key: &str) -> RunState {
        if let Some(tombstone) = Tombstone::read(self.path(), key) {
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
    ///
    /// # Errors
    /// If its files cannot be made.
    pub fn start(&self, key: &str) -> Result<RunWriter> {
        self.remove(key)?;
        RunWriter::start(&self.path().join("runs"), key)
    }

    /// Starts a run, or goes on with what an earlier attempt left unfinished.
    ///
    /// # Errors
    /// If its files cannot be made.
    pub fn resume(&self, key: &str) -> Result<RunWriter> {
        let folder = self.run_folder(key);
        remove(&folder)?;
        remove(&folder.with_extension("forgotten"))?;
        RunWriter::resume(&self.path().join("runs"), key)
    }

    /// Removes a run and its tombstone.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self, key: &str) -> Result<()> {
        let folder = self.run_folder(key);
        remove(&folder)?;
        remove(&folder.with_extension("partial"))?;
        remove(&folder.with_extension("forgotten"))
    }

    /// Replaces a run by the one in which clients are forgotten: its files go, a tombstone stays.
    ///
    /// # Errors
    /// If a file cannot be written or removed.
    pub fn bury(&self, key: &str, tombstone: &Tombstone) -> Result<()> {
        let folder = self.run_folder(key);
        tombstone.write(self.path(), key)?;
        remove(&folder)
    }

    /// Copies a finished run from another folder, unless it is there.
    ///
    /// # Errors
    /// If it is damaged or cannot be copied.
    pub fn copy_from(&self, root: &Path, key: &str) -> Result<()> {
        if matches!(self.state(key), RunState::Finished(_)) {
            return Ok(());
        }
        let from = run_folder(root, key);
        let record = RunRecord::verify(&from)?;
        self.remove(key)?;
        let writer = RunWriter::start(&self.path().join("runs"), key)?;
        for name in record.files.keys() {
            writer.copy(&from, name)?;
        }
        writer.finish(record)
    }
}

/// The folder of one study in a store.
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
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        files::replace(&self.path.join(name), |file| Ok(std::io::Write::write_all(file, content)?))
    }

    /// Replaces a file by what `fill` writes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut std::io::BufWriter<std::fs::File>) -> Result<()>,
    ) -> Result<PathBuf> {
        files::replace(&self.path.join(name), fill)
    }
}

/// The folder with the runs of a study: the study's own, or one above it.
///
/// # Errors
/// If none of them was written by foltr.
pub fn root_of(study: &Path) -> Result<PathBuf> {
    if output_folder::is_marked(study) {
        return Ok(study.to_owned());
    }
    let whole = study.canonicalize().unwrap_or_default();
    let above = whole.ancestors().skip(1).take(2).find(|above| output_folder::is_marked(above));
    match above.filter(|_| study.join("jobs.csv").exists()) {
        Some(above) => Ok(above.to_owned()),
        None => bail!("{}", output_folder::not_ours(study)),
    }
}

pub fn run_folder(root: &Path, key: &str) -> PathBuf {
    root.join("runs").join(key)
}

/// The run that stands for a key now: itself, or the last one after clients were forgotten in it.
pub fn current_key(root: &Path, key: &str) -> String {
    let mut current = key.to_owned();
    while let Some(tombstone) = Tombstone::read(root, &current) {
        current = tombstone.successor;
    }
    current
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
