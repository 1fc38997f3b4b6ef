//! What the caller has: workers that are started when they are needed.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::open::{Opened, open_regular};
use super::parse::{MOST_TITLE, Request, end_of_character};
use super::worker::{End, Failure, Worker};
use super::{Format, Limits, Reason};
use crate::document::{Kind, Text};

/// What is started as a worker, and must call [`super::run_child`].
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
    /// All environment variables that it gets.
    pub variables: Vec<(OsString, OsString)>,
}

impl Program {
    /// The running program with a subcommand, and an empty environment.
    pub fn itself(subcommand: &str) -> std::io::Result<Self> {
        Ok(Self { path: std::env::current_exe()?, arguments: vec![subcommand.into()], variables: Vec::new() })
    }
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Texts {
        kind: Kind,
        n_texts: u64,
    },
    /// After so many texts, which were given: more than 0 only for a mailbox that cannot be read to its end.
    Skipped {
        reason: Reason,
        n_texts: u64,
    },
}

/// Reads texts of files through workers. Any number of threads may use one; each has a worker of its own at a time.
#[derive(Debug)]
pub struct Extractor {
    program: Program,
    limits: Limits,
    idle: Mutex<Vec<Worker>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

impl Extractor {
    /// Starts nothing yet.
    pub fn new(program: Program, limits: Limits) -> Self {
        Self { program, limits, idle: Mutex::default() }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Gives the texts of a file one by one, until there are none or `give` breaks.
    pub fn extract(&self, path: &Path, give: &mut dyn FnMut(Text) -> ControlFlow<()>) -> Outcome {
        let mut n_texts = 0;
        let mut counted = |text| {
            n_texts += 1;
            give(text)
        };
        match self.checked(path).and_then(|(opened, request)| self.ask(&opened, &request, &mut counted)) {
            Ok(kind) => Outcome::Texts { kind, n_texts },
            Err(reason) => Outcome::Skipped { reason, n_texts },
        }
    }

    /// All texts at once; for a mailbox that may be many.
    pub fn texts(&self, path: &Path) -> Result<(Kind, Vec<Text>), Reason> {
        let mut texts = Vec::new();
        let outcome = self.extract(path, &mut |text| {
            texts.push(text);
            ControlFlow::Continue(())
        });
        match outcome {
            Outcome::Texts { kind, .. } => Ok((kind, texts)),
            Outcome::Skipped { reason, .. } => Err(reason),
        }
    }

    /// Ends workers that have nothing to do; others are started when they are needed.
    pub fn rest(&self) {
        // Killed behind the lock.
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(idle);
    }

    fn checked(&self, path: &Path) -> Result<(Opened, Request), Reason> {
        let opened = open_regular(path)?;
        let format = Format::of(path, &opened.first)?;
        let most = self.limits.file(format);
        if opened.size > most {
            return Err(Reason::TooLarge(most));
        }
        let mut name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.truncate(end_of_character(&name, MOST_TITLE));
        Ok((opened, Request { format, name }))
    }

    fn ask(
        &self,
        opened: &Opened,
        request: &Request,
        give: &mut dyn FnMut(Text) -> ControlFlow<()>,
    ) -> Result<Kind, Reason> {
        let kind = request.format.kind();
        let total = self.limits.time_of_file(request.format, opened.size);
        loop {
            let mut worker = self.worker()?;
            let mut has_given = false;
            let mut noted = |text| {
                has_given = true;
                give(text)
            };
            let failure = match worker.ask((request, &opened.file), total, &self.limits, &mut noted) {
                Ok(End::Done) => {
                    self.keep(worker, opened.size);
                    return Ok(kind);
                }
                Ok(End::Skipped(reason)) => {
                    self.keep(worker, opened.size);
                    return Err(reason);
                }
                Ok(End::Stopped) => return Ok(kind),
                Err(failure) => failure,
            };
            // An older worker may have died of an earlier file, or for want of memory that a new one has.
            let may_be_its_age = matches!(failure, Failure::Gone) && !worker.is_fresh() && !has_given;
            let reason = worker.reason(&failure, &self.limits);
            if !may_be_its_age || rewind(opened).is_err() {
                return Err(reason);
            }
        }
    }

    fn worker(&self) -> Result<Worker, Reason> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Worker::start(&self.program, &self.limits), Ok).map_err(|error| {
            match Reason::unreadable(&error) {
                Reason::CannotRead(why) => Reason::NoParser(why),
                other => other,
            }
        })
    }

    fn keep(&self, worker: Worker, size: u64) {
        if !worker.is_worn(&self.limits, size) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
    }
}

/// The first worker has moved the position that its descriptor shares.
fn rewind(opened: &Opened) -> std::io::Result<()> {
    use std::io::Seek;
    (&opened.file).rewind()
}
