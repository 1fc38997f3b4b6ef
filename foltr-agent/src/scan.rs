//! Looking at files: what is new or changed goes into the index, what is gone leaves it, what was moved stays known.
//!
//! Files are handled in batches. A batch is in the index before the catalogue says so: after a crash in between, its files are
//! looked at again.

mod batch;
mod surroundings;
mod walk;
mod watch;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentError};
use crate::catalogue::{FileId, FileRecord, Stamp};
use crate::extract::Extractor;
use batch::Batch;
pub use surroundings::{Asked, Machine, Surroundings};
use walk::{Walked, walk};
pub use watch::Watch;

/// So few files are no burden.
const FEW: usize = 50;
/// How long it waits before it looks again whether it may go on.
const WAIT: Duration = Duration::from_secs(2);

/// What a look at files has found.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Report {
    pub n_files: usize,
    /// New or changed, and in the index now.
    pub n_indexed: usize,
    pub n_unchanged: usize,
    pub n_moved: usize,
    pub n_removed: usize,
    /// Not in the index, each with its reason in the catalogue.
    pub n_skipped: usize,
    /// Folders that could not be read; what is known of their files stays.
    pub problems: Vec<String>,
    /// It was stopped before its end.
    pub is_partial: bool,
}

/// How far a look at files has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    pub n_done: usize,
    pub n_files: usize,
    pub file: &'a Path,
    /// Why it waits, if it does.
    pub waits_for: Option<&'static str>,
}

/// What looks at files, and when it may.
pub struct Scanner<'a> {
    pub extractor: &'a Extractor,
    pub surroundings: &'a dyn Surroundings,
    /// Of the time, how much it works: 1 does not rest at all.
    pub share: f32,
    pub stop: &'a AtomicBool,
}

/// Files that are known but were not found where they were.
struct Missing {
    by_stamp: HashMap<Stamp, FileId>,
    by_hash: HashMap<(u128, u64), FileId>,
    all: HashSet<FileId>,
}

impl Scanner<'_> {
    /// Looks at all folders of an agent.
    pub fn scan(&self, agent: &Agent, tell: &mut dyn FnMut(Progress<'_>)) -> Result<Report, AgentError> {
        let folders: Vec<PathBuf> = agent.folders()?.into_iter().map(|folder| folder.path).collect();
        let report = self.look_at(agent, &folders, tell)?;
        self.remove_strangers(agent, &folders, report)
    }

    /// Looks at some files and folders, such as those that have changed.
    pub fn look_at(
        &self,
        agent: &Agent,
        paths: &[PathBuf],
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Report, AgentError> {
        let folders: Vec<PathBuf> = agent.folders()?.into_iter().map(|folder| folder.path).collect();
        let Walked { files, unreadable, problems } = walk(paths, &folders, agent.home().folder(), self.stop);
        let mut report = Report { n_files: files.len(), problems, ..Report::default() };
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Report { is_partial: true, ..report });
        }
        let mut missing = self.missing(agent, paths, &files, &unreadable)?;
        let mut batch = Batch::default();
        for (at, (path, stamp)) in files.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                batch.write(agent)?;
                return Ok(Report { is_partial: true, ..report });
            }
            let begun = Instant::now();
            if !self.look_at_file(agent, path, *stamp, &mut missing, &mut batch, &mut report)? {
                continue;
            }
            tell(Progress { n_done: at, n_files: files.len(), file: path, waits_for: None });
            if batch.is_full() {
                batch.write(agent)?;
            }
            self.rest(
                begun.elapsed(),
                Progress { n_done: at, n_files: files.len(), file: path, waits_for: None },
                tell,
            );
        }
        for file in missing.all {
            report.n_removed += 1;
            batch.remove(agent, file)?;
        }
        batch.write(agent)?;
        Ok(report)
    }

    /// Whether there was anything to do.
    fn look_at_file(
        &self,
        agent: &Agent,
        path: &Path,
        stamp: Stamp,
        missing: &mut Missing,
        batch: &mut Batch,
        report: &mut Report,
    ) -> Result<bool, AgentError> {
        let known = agent.read_catalogue()?.file_at(path).map(|(id, file)| (id, file.clone()));
        if let Some((_, file)) = known.as_ref().filter(|(_, file)| file.stamp == stamp) {
            report.n_unchanged += 1;
            report.n_skipped += usize::from(file.skipped.is_some());
            return Ok(false);
        }
        let moved = known.is_none().then(|| missing.by_stamp.get(&stamp).copied()).flatten();
        let hash = batch::hash(path, stamp.size);
        let moved = moved.or_else(|| {
            let is_new = known.is_none() && stamp.size > 0;
            is_new.then(|| missing.by_hash.get(&(hash?, stamp.size)).copied()).flatten()
        });
        let moved = moved.filter(|file| missing.all.remove(file));
        report.n_moved += usize::from(moved.is_some());
        let file = moved.or(known.map(|(id, _)| id));
        let record = FileRecord { path: path.to_owned(), stamp, hash: hash.unwrap_or(0), skipped: None };
        match batch.add(agent, self.extractor, file, record)? {
            true => report.n_indexed += 1,
            false => report.n_skipped += 1,
        }
        Ok(true)
    }

    fn missing(
        &self,
        agent: &Agent,
        paths: &[PathBuf],
        files: &[(PathBuf, Stamp)],
        unreadable: &[PathBuf],
    ) -> Result<Missing, AgentError> {
        let found: HashSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
        let catalogue = agent.read_catalogue()?;
        let is_missing = |file: &FileRecord| {
            !found.contains(file.path.as_path())
                && paths.iter().any(|path| file.path.starts_with(path))
                && !unreadable.iter().any(|folder| file.path.starts_with(folder))
        };
        let (mut by_stamp, mut by_hash, mut all) = (HashMap::new(), HashMap::new(), HashSet::new());
        for (id, file) in catalogue.files().filter(|(_, file)| is_missing(file)) {
            all.insert(id);
            by_stamp.insert(file.stamp, id);
            if file.hash != 0 {
                by_hash.insert((file.hash, file.stamp.size), id);
            }
        }
        Ok(Missing { by_stamp, by_hash, all })
    }

    /// Files of folders that were removed.
    fn remove_strangers(&self, agent: &Agent, folders: &[PathBuf], mut report: Report) -> Result<Report, AgentError> {
        let strangers: Vec<FileId> = {
            let catalogue = agent.read_catalogue()?;
            let is_stranger = |file: &FileRecord| !folders.iter().any(|folder| file.path.starts_with(folder));
            catalogue.files().filter(|(_, file)| is_stranger(file)).map(|(id, _)| id).collect()
        };
        let mut batch = Batch::default();
        for file in strangers {
            report.n_removed += 1;
            batch.remove(agent, file)?;
        }
        batch.write(agent)?;
        Ok(report)
    }

    /// Leaves the machine to others for a while.
    fn rest(&self, worked: Duration, progress: Progress<'_>, tell: &mut dyn FnMut(Progress<'_>)) {
        let share = self.share.clamp(0.01, 1.0);
        std::thread::sleep(worked.mul_f32(1.0 / share - 1.0));
        if progress.n_files <= FEW {
            return;
        }
        while let Some(reason) = self.surroundings.reason_to_wait() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            tell(Progress { waits_for: Some(reason), ..progress });
            std::thread::sleep(WAIT);
        }
    }
}

#[cfg(test)]
mod tests;
