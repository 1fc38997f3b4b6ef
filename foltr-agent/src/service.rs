//! An agent that runs: it answers, looks at files in the background, and learns with others.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentError};
use crate::extract::Extractor;
use crate::scan::{Asked, Progress, Report, Scanner, Surroundings, Watch};

/// All files are looked at again so often: watching misses what happens while a machine sleeps, or on network disks.
const RESCAN: Duration = Duration::from_secs(30 * 60);
/// How soon something asked for begins.
const PATIENCE: Duration = Duration::from_secs(2);
/// The device decides itself whether it is time.
const SYNC: Duration = Duration::from_secs(60);
/// A longer gap means that the machine has slept.
const SLEPT: Duration = Duration::from_secs(120);
/// Of one core, what work in the background takes at most.
const SHARE: f32 = 0.5;

/// What happens in the background.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Indexing {
    pub is_running: bool,
    pub n_done: usize,
    pub n_files: usize,
    pub waits_for: Option<String>,
    /// Of the last complete look at all files.
    pub last: Option<Report>,
    /// Changes below these folders are found every half an hour only, with the reason.
    pub not_watched: Vec<String>,
    /// The last error.
    pub problem: Option<String>,
}

pub struct Service {
    pub agent: Agent,
    extractor: Extractor,
    surroundings: Box<dyn Surroundings>,
    indexing: Mutex<Indexing>,
    is_asked: AtomicBool,
    stop: AtomicBool,
}

impl Service {
    pub fn new(agent: Agent, extractor: Extractor, surroundings: Box<dyn Surroundings>) -> Self {
        // Who starts an agent that knows nothing yet waits for it.
        let is_new = agent.folders_are_new();
        let (indexing, is_asked, stop) = (Mutex::default(), AtomicBool::new(is_new), AtomicBool::new(false));
        Self { agent, extractor, surroundings, indexing, is_asked, stop }
    }

    pub fn indexing(&self) -> Indexing {
        self.indexing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, change: impl FnOnce(&mut Indexing)) {
        change(&mut self.indexing.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Looks at all files soon.
    pub fn ask_for_scan(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Ends [`work`](Self::work).
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Looks at files until it is stopped, on a thread of its own.
    pub fn work(&self) {
        let mut watch = Watch::new().map_err(|error| self.note(|it| it.not_watched = vec![error.to_string()])).ok();
        let (mut watched, mut last_scan): (Vec<PathBuf>, Option<Instant>) = (Vec::new(), None);
        let mut last_seen = Instant::now();
        while !self.is_stopped() {
            self.watch_new_folders(&mut watch, &mut watched);
            let has_slept = last_seen.elapsed() > SLEPT;
            last_seen = Instant::now();
            let is_due = last_scan.is_none_or(|at| at.elapsed() > RESCAN) || has_slept;
            let is_asked = self.is_asked.swap(false, Ordering::Relaxed);
            if is_asked || is_due {
                self.look_at(None, is_asked);
                last_scan = Some(Instant::now());
                last_seen = Instant::now();
                continue;
            }
            let changed = match &watch {
                Some(watch) => watch.next(PATIENCE),
                None => {
                    std::thread::sleep(PATIENCE);
                    Vec::new()
                }
            };
            if !changed.is_empty() {
                self.look_at(Some(&changed), false);
                last_seen = Instant::now();
            }
        }
    }

    fn watch_new_folders(&self, watch: &mut Option<Watch>, watched: &mut Vec<PathBuf>) {
        let Ok(folders) = self.agent.folders() else { return };
        for folder in folders.into_iter().map(|it| it.path) {
            if watched.contains(&folder) {
                continue;
            }
            if let Some(watch) = watch
                && let Err(error) = watch.add(&folder)
            {
                self.note(|it| it.not_watched.push(format!("{}: {error}", folder.display())));
            }
            watched.push(folder);
        }
    }

    fn look_at(&self, paths: Option<&[PathBuf]>, is_asked: bool) {
        let scanner = Scanner {
            extractor: &self.extractor,
            surroundings: if is_asked { &Asked } else { &*self.surroundings },
            share: SHARE,
            stop: &self.stop,
        };
        self.note(|it| (it.is_running, it.n_done, it.n_files) = (true, 0, 0));
        let mut tell = |progress: Progress<'_>| {
            let Progress { n_done, n_files, waits_for, .. } = progress;
            self.note(|it| (it.n_done, it.n_files, it.waits_for) = (n_done, n_files, waits_for.map(str::to_owned)));
        };
        let looked = match paths {
            None => scanner.scan(&self.agent, &mut tell),
            Some(paths) => scanner.look_at(&self.agent, paths, &mut tell),
        };
        let rested = self.rest();
        self.note(|it| {
            (it.is_running, it.waits_for) = (false, None);
            match looked.and_then(|report| rested.map(|()| report)) {
                Ok(report) if paths.is_none() => (it.last, it.problem) = (Some(report), None),
                Ok(_) => it.problem = None,
                Err(error) => it.problem = Some(error.to_string()),
            }
        });
    }

    /// Gives memory back until there is something to do again.
    fn rest(&self) -> Result<(), AgentError> {
        self.extractor.rest();
        self.agent.rest()
    }

    /// Learns with others until it is stopped, on a thread of its own.
    pub fn sync(&self) {
        let mut last: Option<Instant> = None;
        while !self.is_stopped() {
            if last.is_none_or(|at| at.elapsed() > SYNC) {
                // The device says in its status what went wrong, and when it tries again.
                let _ = self.agent.sync();
                last = Some(Instant::now());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}
