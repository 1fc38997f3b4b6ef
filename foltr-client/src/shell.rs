//! The blocking shell around the core: it stores what the core wants stored, and sends what it wants sent.
//!
//! Calls of several threads are served one after the other. A visit to the server does not stop them: while a request is
//! under way, the core is free.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use foltr_federation::protocol::Invitation;
use foltr_rank::{ImpressionId, OwnRanker};

use crate::core::{Action, Click, Consent, Core, Event, LoadError, Outcome, Request, Shown, Status, Synced};
use crate::error::{DeviceError, OpenError};
use crate::folder_lock::FolderLock;
use crate::item::{Item, Records, State};
use crate::options::Options;
use crate::randomness::Randomness;
use crate::store::{Pending, Store, StoreError, merge, salvage};
use crate::transport::Transport;

/// The name of the file in a device's folder.
pub(crate) const FILE: &str = "device.db";

/// A device generic over where its random numbers come from and how it reaches the server.
pub(crate) struct Shell<R, T> {
    inside: Mutex<Inside<R>>,
    /// Locked for a whole visit.
    transport: Mutex<T>,
    _lock: Option<FolderLock>,
}

/// Seconds since 1970.
pub(crate) type Clock = Box<dyn Fn() -> u64 + Send>;

struct Inside<R> {
    core: Core,
    random: R,
    clock: Clock,
    store: Result<Store, StoreError>,
    /// What the last transactions could not write.
    pending: Pending,
    /// A transaction that must be durable has failed: whatever holds its writes must be durable, too.
    must_sync: bool,
    /// All records are to be deleted before anything is written or sent.
    must_erase: bool,
    store_problem: Option<StoreError>,
}

pub(crate) fn system_clock() -> Clock {
    Box::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

impl<R: Randomness, T: Transport> Shell<R, T> {
    pub fn open(folder: &Path, options: Options, random: R, transport: T) -> Result<Self, OpenError> {
        let wrong = |source| OpenError::Folder { folder: folder.to_owned(), source };
        create_folder(folder).map_err(wrong)?;
        let lock = FolderLock::take(folder)?;
        let (store, records) = Store::open(&folder.join(FILE), None)?;
        Self::with_store(store, records, options, random, transport, system_clock(), Some(lock))
    }

    pub(crate) fn with_store(
        store: Store,
        records: Records,
        options: Options,
        mut random: R,
        transport: T,
        clock: Clock,
        lock: Option<FolderLock>,
    ) -> Result<Self, OpenError> {
        let (core, actions) = Core::load(options, records, &mut random)?;
        let mut inside = Inside::new(core, random, clock, Ok(store));
        inside.perform(actions)?;
        Ok(Self { inside: Mutex::new(inside), transport: Mutex::new(transport), _lock: lock })
    }

    /// A device that ranks with the last good model of a folder and stores nothing.
    pub fn open_read_only(folder: &Path, options: Options, mut random: R, transport: T) -> Result<Self, OpenError> {
        let file: PathBuf = folder.join(FILE);
        let records = salvage(&file);
        let core = load_what_is_sound(&options, records, &mut random)?;
        let store = Err(StoreError::ReadOnly { file });
        let inside = Inside::new(core, random, system_clock(), store);
        Ok(Self { inside: Mutex::new(inside), transport: Mutex::new(transport), _lock: None })
    }

    pub fn rank(&self, features: &[f32]) -> Result<Shown, DeviceError> {
        match self.inside()?.event(Event::Rank(features))? {
            Step::Done(Outcome::Shown(shown)) => Ok(shown),
            _ => Err(DeviceError::Broken),
        }
    }

    pub fn clicked(&self, impression: ImpressionId, position: usize) -> Result<Click, DeviceError> {
        match self.inside()?.event(Event::Clicked { impression, position })? {
            Step::Done(Outcome::Clicked(click)) => Ok(click),
            _ => Err(DeviceError::Broken),
        }
    }

    pub fn dismiss(&self, impression: ImpressionId) -> Result<(), DeviceError> {
        self.inside()?.event(Event::Dismissed(impression)).map(drop)
    }

    pub fn join(&self, invitation: &Invitation, consent: Consent) -> Result<Synced, DeviceError> {
        self.visit(|inside| inside.event(Event::Join { invitation, consent }))
    }

    pub fn sync(&self) -> Result<Synced, DeviceError> {
        self.visit(|inside| {
            if let Err(error) = &inside.store {
                return Err(error.clone().into());
            }
            inside.retry_store()?;
            inside.event(Event::Sync)
        })
    }

    pub fn rank_next(&self, features: &[f32], previous: Option<ImpressionId>) -> Result<Shown, DeviceError> {
        match self.inside()?.event(Event::RankNext { features, previous })? {
            Step::Done(Outcome::Shown(shown)) => Ok(shown),
            _ => Err(DeviceError::Broken),
        }
    }

    pub fn withdraw(&self, impression: ImpressionId) -> Result<(), DeviceError> {
        self.inside()?.event(Event::Withdrawn(impression)).map(drop)
    }

    pub fn ranker(&self) -> Result<OwnRanker, DeviceError> {
        Ok(self.inside()?.core.ranker())
    }

    pub fn set_paused(&self, is_paused: bool) -> Result<(), DeviceError> {
        self.inside()?.event(if is_paused { Event::Pause } else { Event::Resume }).map(drop)
    }

    /// Deletes here, then asks the server; not being able to reach it now is no error.
    pub fn forget(&self) -> Result<Synced, DeviceError> {
        self.inside()?.event(Event::Forget)?;
        match self.sync() {
            Err(DeviceError::Refused(_) | DeviceError::NotReached(..)) => Ok(Synced::ForgettingLater),
            synced => synced,
        }
    }

    pub fn is_paused(&self) -> Result<bool, DeviceError> {
        Ok(self.inside()?.core.is_paused())
    }

    pub fn status(&self) -> Result<Status, DeviceError> {
        let inside = self.inside()?;
        let mut status = inside.core.status();
        if let Ok(store) = &inside.store {
            status.stored = store.contents()?;
        }
        let problem = inside.store.as_ref().err().or(inside.store_problem.as_ref());
        if let Some(problem) = problem {
            status.problem = Some(problem.to_string());
        }
        Ok(status)
    }

    pub fn deletion_receipt(&self) -> Result<Option<Vec<u8>>, DeviceError> {
        Ok(self.inside()?.core.deletion_receipt().map(<[u8]>::to_vec))
    }

    fn inside(&self) -> Result<MutexGuard<'_, Inside<R>>, DeviceError> {
        self.inside.lock().map_err(|_| DeviceError::Broken)
    }

    /// Sends what the core wants to send, until it has had enough.
    fn visit(&self, begin: impl FnOnce(&mut Inside<R>) -> Result<Step, DeviceError>) -> Result<Synced, DeviceError> {
        let mut transport = self.transport.lock().map_err(|_| DeviceError::Broken)?;
        let mut step = begin(&mut *self.inside()?)?;
        loop {
            match step {
                Step::Done(Outcome::Synced(synced)) => return Ok(synced),
                Step::Done(_) => return Err(DeviceError::Broken),
                Step::Send(request) => {
                    let answer = transport.send(&request);
                    let mut inside = self.inside()?;
                    step = match answer {
                        Ok(answer) => inside.event(Event::Answered(answer))?,
                        Err(why) => inside.event(Event::NotReached).map_err(|error| error.because(&why))?,
                    };
                }
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn with_core<V>(&self, look: impl FnOnce(&mut Core, &mut R) -> V) -> V {
        let mut inside = self.inside.lock().expect("no panic before");
        let Inside { core, random, .. } = &mut *inside;
        look(core, random)
    }

    #[cfg(test)]
    pub(crate) fn transport(&self) -> MutexGuard<'_, T> {
        self.transport.lock().expect("no panic before")
    }
}

enum Step {
    Done(Outcome),
    Send(Request),
}

impl<R: Randomness> Inside<R> {
    const fn new(core: Core, random: R, clock: Clock, store: Result<Store, StoreError>) -> Self {
        let (must_sync, must_erase, store_problem) = (false, false, None);
        Self { core, random, clock, store, pending: Pending::new(), must_sync, must_erase, store_problem }
    }

    fn event(&mut self, event: Event<'_>) -> Result<Step, DeviceError> {
        let now = (self.clock)();
        let actions = self.core.poll(now, event, &mut self.random);
        self.perform(actions)?.ok_or(DeviceError::Broken)
    }

    fn perform(&mut self, actions: Vec<Action>) -> Result<Option<Step>, DeviceError> {
        let mut step = None;
        for action in actions {
            match action {
                Action::Store { writes, durable } => {
                    merge(&mut self.pending, writes);
                    self.commit(durable)?;
                }
                Action::Erase { writes } => {
                    // What waited was of the past that goes.
                    self.pending.clear();
                    self.must_erase = true;
                    merge(&mut self.pending, writes);
                    self.commit(true)?;
                }
                Action::Send(request) => step = Some(Step::Send(request)),
                Action::Answer(outcome) => step = Some(Step::Done(outcome?)),
            }
        }
        Ok(step)
    }

    /// What need not be durable may fail: it is tried again with the next transaction.
    fn commit(&mut self, durable: bool) -> Result<(), DeviceError> {
        let now = (self.clock)();
        self.must_sync |= durable;
        let Self { store, pending, must_sync, must_erase, .. } = self;
        let written = store.as_mut().map_err(|error| error.clone()).and_then(|store| match must_erase {
            true => store.erase(pending, now),
            false => store.commit(pending, now, *must_sync),
        });
        match written {
            Ok(()) => {
                self.pending.clear();
                (self.must_sync, self.must_erase, self.store_problem) = (false, false, None);
                Ok(())
            }
            Err(error) => {
                if self.is_hopeless(&error) {
                    self.pending.clear();
                }
                self.store_problem = Some(error.clone());
                if durable { Err(error.into()) } else { Ok(()) }
            }
        }
    }

    /// Nothing will be written any more, so that nothing need wait.
    fn is_hopeless(&self, error: &StoreError) -> bool {
        self.store.is_err() || matches!(error, StoreError::Failed { .. } | StoreError::Damaged { .. })
    }

    /// A message must not be sent as long as its ledger entry is not on the disk.
    fn retry_store(&mut self) -> Result<(), DeviceError> {
        if self.pending.is_empty() && !self.must_sync { Ok(()) } else { self.commit(true) }
    }
}

/// A new folder is durable when this returns, as far as the system can tell.
fn create_folder(folder: &Path) -> std::io::Result<()> {
    if !folder.is_dir() {
        std::fs::create_dir_all(folder)?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            // Not every system can sync a folder.
            let _ = std::fs::File::open(parent).and_then(|parent| parent.sync_all());
        }
    }
    Ok(())
}

/// The device that the records make, without those that do not fit together.
fn load_what_is_sound(options: &Options, records: Records, random: &mut dyn Randomness) -> Result<Core, OpenError> {
    let is_of_federation = |item: &Item| {
        use State::{Adoption, Clock, Device, Federation, Forgetting, Learner, Outbox, Plan, Progress};
        match item {
            Item::State(Federation | Plan | Device | Learner | Clock | Progress | Adoption | Outbox | Forgetting) => {
                true
            }
            Item::State(_) => false,
            Item::Impression(_) | Item::List(_) | Item::Release(_) | Item::Receipt(_) => true,
        }
    };
    let mut attempts = vec![records.clone(), records];
    attempts[1].retain(|item, _| !is_of_federation(item));
    for records in attempts {
        match Core::load(options.clone(), records, random) {
            Ok((core, _)) => return Ok(core),
            Err(LoadError::Damaged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Core::load(options.clone(), Records::new(), random)?.0)
}
