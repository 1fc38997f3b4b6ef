//! The agent of one person: its index, what it learnt, and what is done with them.

mod lists;
mod measuring;
mod searching;
mod status;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use foltr_client::{Device, DeviceError, LocalLearning, OpenError, Options, PdgdParameters, Status, Updates};
use foltr_rank::{Initialisation, RankerShape};
use thiserror::Error;

pub use lists::SavedList;
pub use measuring::{Comparison, Described, Measured};
pub use status::{
    AgentStatus, Budget, Export, ExportedOpening, Federation, FolderStatus, SkippedFile, Stored, consent_name,
};

use crate::answer::{DocumentId, ListId};
use crate::catalogue::{Catalogue, CatalogueError, Folder};
use crate::feature;
use crate::history::{History, HistoryError};
use crate::home::{Home, HomeError, HomeLock};
use crate::index::{IndexError, IndexViewer, TextIndex};
use crate::prior;
use lists::Lists;

/// Places of a list that the model ranks: what a person sees at once.
pub const LIST_LENGTH: usize = 10;
/// A document moves at most so far from where its score puts it, so that what is found again stays where it was.
const DISPLACEMENT: usize = 2;
/// Of the steps with which the agent learns alone: chosen on simulated people who are not judged
/// (`docs/campaigns/refinding.md`).
const LEARNING_RATE: f64 = 0.3;
/// Of so many lists one compares the ranker with plain BM25.
const COMPARED: u64 = 10;

#[derive(Debug, Error)]
pub enum AgentError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Open(#[from] Box<OpenError>),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("{folder} cannot be added: {problem}", folder = .folder.display())]
    Folder { folder: PathBuf, problem: String },
    #[error("this list is over; search again")]
    NoList(ListId),
    #[error("this document is not in the list")]
    NotInList(DocumentId),
    #[error("the agent has failed before; restart it")]
    Broken,
}

/// How the agent works; what is absent has a default.
#[derive(Clone, Default)]
pub struct Settings {
    /// Lists are in the order of their scores, without chance. Then nothing can be learnt from clicks.
    pub no_exploration: bool,
    /// No list is mixed with plain BM25's.
    pub no_comparison: bool,
    /// In place of the system's clock, in seconds since 1970.
    pub clock: Option<Clock>,
    /// In place of [`alone`]: to measure other models and other ways to learn.
    pub alone: Option<LocalLearning>,
}

pub type Clock = Arc<ClockFn>;
type ClockFn = dyn Fn() -> i64 + Send + Sync;

/// One person's agent. Its methods may be called from several threads.
pub struct Agent {
    home: Home,
    settings: AgentSettings,
    catalogue: RwLock<Catalogue>,
    index: Mutex<TextIndex>,
    /// Searches do not wait for what is being written.
    viewer: IndexViewer,
    history: Mutex<History>,
    device: Device,
    lists: Mutex<Lists>,
    _lock: HomeLock,
}

struct AgentSettings {
    explores: bool,
    compares: bool,
    clock: Clock,
}

impl Agent {
    /// Opens the agent of a folder, or makes a new one.
    pub fn open(home: Home, settings: Settings) -> Result<Self, AgentError> {
        let lock = home.lock()?;
        let clock = settings.clock.unwrap_or_else(|| Arc::new(system_clock));
        let catalogue = Catalogue::open(&home.catalogue())?;
        let mut index = TextIndex::open(&home.index())?;
        index.forget_from(catalogue.next_document())?;
        Ok(Self {
            catalogue: RwLock::new(catalogue),
            viewer: index.viewer(),
            index: Mutex::new(index),
            history: Mutex::new(History::open(&home.history())?),
            device: Device::open(home.device(), options(settings.alone)).map_err(Box::new)?,
            lists: Mutex::default(),
            settings: AgentSettings { explores: !settings.no_exploration, compares: !settings.no_comparison, clock },
            home,
            _lock: lock,
        })
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn now(&self) -> i64 {
        (self.settings.clock)()
    }

    pub fn folders(&self) -> Result<Vec<Folder>, AgentError> {
        Ok(self.read_catalogue()?.folders().to_vec())
    }

    /// The files below this folder can be searched as soon as they were looked at.
    pub fn add_folder(&self, folder: &Path) -> Result<PathBuf, AgentError> {
        let wrong = |problem: String| AgentError::Folder { folder: folder.to_owned(), problem };
        let path = folder.canonicalize().map_err(|error| wrong(error.to_string()))?;
        if !path.is_dir() {
            return Err(wrong("it is no folder".into()));
        }
        if path.starts_with(self.home.folder()) {
            return Err(wrong("it is the agent's own folder".into()));
        }
        let mut catalogue = self.write_catalogue()?;
        if let Some(above) = catalogue.folders().iter().find(|it| path.starts_with(&it.path) && path != it.path) {
            return Err(wrong(format!("it is in {}, which was added already", above.path.display())));
        }
        catalogue.add_folder(Folder { path: path.clone(), added: self.now() })?;
        Ok(path)
    }

    /// Whether a folder was added of which no file is known yet.
    pub fn folders_are_new(&self) -> bool {
        self.read_catalogue().is_ok_and(|catalogue| {
            let is_new = |folder: &Folder| catalogue.files().all(|(_, file)| !file.path.starts_with(&folder.path));
            catalogue.folders().iter().any(is_new)
        })
    }

    /// Whether it was there. Its files leave the index when they are looked at next.
    pub fn remove_folder(&self, folder: &Path) -> Result<bool, AgentError> {
        Ok(self.write_catalogue()?.remove_folder(folder)?)
    }

    /// Gives the memory for writing to the index back until it is needed again.
    pub fn rest(&self) -> Result<(), AgentError> {
        Ok(self.lock_index()?.rest()?)
    }

    pub fn device_status(&self) -> Result<Status, AgentError> {
        Ok(self.device.status()?)
    }

    pub(crate) fn read_catalogue(&self) -> Result<std::sync::RwLockReadGuard<'_, Catalogue>, AgentError> {
        self.catalogue.read().map_err(|_| AgentError::Broken)
    }

    pub(crate) fn write_catalogue(&self) -> Result<std::sync::RwLockWriteGuard<'_, Catalogue>, AgentError> {
        self.catalogue.write().map_err(|_| AgentError::Broken)
    }

    pub(crate) fn lock_index(&self) -> Result<MutexGuard<'_, TextIndex>, AgentError> {
        self.index.lock().map_err(|_| AgentError::Broken)
    }

    fn lock_history(&self) -> Result<MutexGuard<'_, History>, AgentError> {
        self.history.lock().map_err(|_| AgentError::Broken)
    }

    fn lock_lists(&self) -> Result<MutexGuard<'_, Lists>, AgentError> {
        self.lists.lock().map_err(|_| AgentError::Broken)
    }
}

fn system_clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64)
}

/// Of the device inside.
fn options(other: Option<LocalLearning>) -> Options {
    let mut options = Options::new(feature::schema());
    options.alone = other.unwrap_or_else(alone);
    options
}

/// How an agent ranks and learns before it learns with others.
pub fn alone() -> LocalLearning {
    LocalLearning {
        ranker: RankerShape::Linear { initialisation: Initialisation::Zero },
        model: Some(prior::model()),
        learner: PdgdParameters {
            learning_rate: LEARNING_RATE,
            updates: Updates::Immediate,
            proximal: None,
            max_displacement: Some(DISPLACEMENT),
        },
        list_length: LIST_LENGTH,
        personalisation: None,
    }
}

#[cfg(test)]
mod tests;
