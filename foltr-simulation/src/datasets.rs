//! Collections on disk: which files are the training, validation and test data of which fold.
//!
//! Known layouts, found by the names in a folder (each file also as `.gz` or `.zst`):
//!
//! | layout | names | collections |
//! |---|---|---|
//! | folds | `Fold1` ... with `train.txt`, `vali.txt`, `test.txt` | MQ2007, MQ2008, MSLR-WEB10K, MSLR-WEB30K |
//! | parts | `S1.txt` ... `S5.txt` | LETOR 4.0 before its folds were made |
//! | Yahoo | `set1.train.txt`, `set1.valid.txt`, `set1.test.txt` | Yahoo learning to rank challenge, set 1 |
//! | split | `train.txt`, `vali.txt`, `test.txt` | Istella-S, or any other |
//! | named | files with the words `train`, `vali` or `dev`, and `test` in their names | any other |
//!
//! `QL13` Qin, Liu (MQ2007, MQ2008, MSLR); `CC11` Chapelle, Chang (Yahoo); `LNO16` Lucchese et al. (Istella-S).
//! Anything else is given as lists of files with [`Source::from_files`]. Collections that are more than labelled queries:
//! [`intent_folder`] has several judgements of each document, [`user_log`] knows who issued each query.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use crate::cache::{Cache, load_letor};
use crate::dataset::{Dataset, PartsError};
use crate::letor::{LetorError, ReadOptions};

pub use layout::Layout;
pub use synthetic::{Synthetic, SyntheticShape};

pub mod intent_folder;
mod layout;
pub mod synthetic;
pub mod user_log;

/// Training, validation and test data with the same features. Clones share everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// What clients learn from.
    pub train: Dataset,
    /// What parameters are chosen on, if there is such a part.
    pub validation: Option<Dataset>,
    /// What results are reported on.
    pub test: Dataset,
    /// What each wish behind the queries makes of the same documents; the three parts above have the labels of the
    /// first. Empty where there is but one.
    pub intents: Vec<IntentLabels>,
    /// Who issued each query, for the log of a search engine.
    pub owners: Option<Arc<Owners>>,
}

/// The labels that one intent gives to all documents of a fold, query after query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentLabels {
    pub train: Arc<[u8]>,
    /// Of validation documents; empty where there are none.
    pub validation: Arc<[u8]>,
    pub test: Arc<[u8]>,
}

impl IntentLabels {
    /// One for each intent, from the labels of each split by intent.
    pub(crate) fn by_intent(train: Vec<Vec<u8>>, validation: Option<Vec<Vec<u8>>>, test: Vec<Vec<u8>>) -> Vec<Self> {
        let validation = validation.unwrap_or_else(|| vec![Vec::new(); train.len()]);
        let of_intent = |((train, validation), test): ((Vec<u8>, Vec<u8>), Vec<u8>)| Self {
            train: train.into(),
            validation: validation.into(),
            test: test.into(),
        };
        train.into_iter().zip(validation).zip(test).map(of_intent).collect()
    }
}

/// The user of each query of a fold, as numbers from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    /// Number of users. Each has at least one training query.
    pub n_users: u32,
    pub train: Vec<u32>,
    pub test: Vec<u32>,
}

impl Fold {
    /// A fold whose queries have one meaning and no known users.
    pub const fn new(train: Dataset, validation: Option<Dataset>, test: Dataset) -> Self {
        Self { train, validation, test, intents: Vec::new(), owners: None }
    }

    pub fn n_intents(&self) -> usize {
        self.intents.len().max(1)
    }

    /// The fold as one intent sees it; features are shared, not copied.
    pub fn of_intent(&self, intent: usize) -> Self {
        assert!(intent < self.n_intents(), "intent {intent} of {}", self.n_intents());
        match self.intents.get(intent) {
            Some(labels) => self.with_labels(labels),
            None => self.clone(),
        }
    }

    /// The same documents with other labels, as the only ones.
    pub(crate) fn with_labels(&self, labels: &IntentLabels) -> Self {
        Self {
            train: self.train.with_labels(labels.train.clone()),
            validation: self.validation.as_ref().map(|data| data.with_labels(labels.validation.clone())),
            test: self.test.with_labels(labels.test.clone()),
            intents: Vec::new(),
            owners: self.owners.clone(),
        }
    }

    /// The largest label that any intent gives to any document.
    pub fn max_label(&self) -> u8 {
        let parts = [Some(&self.train), self.validation.as_ref(), Some(&self.test)];
        let own = parts.into_iter().flatten().map(Dataset::max_label);
        let of_intents = self.intents.iter().flat_map(|labels| [&labels.train, &labels.validation, &labels.test]);
        own.chain(of_intents.flat_map(|labels| labels.iter().copied())).max().unwrap_or(0)
    }

    /// A hash of everything that a run on this fold can depend on.
    pub fn content_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        for part in [Some(&self.train), self.validation.as_ref(), Some(&self.test)] {
            hash.update(&part.map_or(0, Dataset::content_hash).to_le_bytes());
        }
        for labels in self.intents.iter().flat_map(|intent| [&intent.train, &intent.validation, &intent.test]) {
            hash.update(labels);
        }
        for owners in self.owners.iter().flat_map(|owners| [&owners.train, &owners.test]) {
            hash.update(bytemuck::cast_slice(owners));
        }
        hash.digest()
    }
}

/// How files are to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Whether features are scaled to `[0, 1]` within each query (spec section 1.3).
    pub normalise: bool,
    pub cache: Cache,
    /// What the files may hold. Without a declared width all parts get the largest width found in any of them.
    pub read: ReadOptions,
}

impl LoadOptions {
    /// Options with the usual limits of files.
    pub fn new(normalise: bool, cache: &Cache) -> Self {
        Self { normalise, cache: cache.clone(), read: ReadOptions::default() }
    }
}

/// Why data could not be found or loaded.
#[derive(Debug, Error)]
pub enum DataError {
    #[error(transparent)]
    Letor(#[from] LetorError),
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A file or folder is not what it should be: its path, line, and what would be right.
    #[error("{0}")]
    Unusable(String),
}

impl DataError {
    fn of(path: &Path, message: impl Display) -> Self {
        Self::Unusable(format!("{}: {message}", path.display()))
    }

    fn of_line(file: &Path, line: impl Display, message: impl Display) -> Self {
        Self::Unusable(format!("{}:{line}: {message}", file.display()))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldFiles {
    pub train: Vec<PathBuf>,
    /// Validation data; may be empty.
    pub validation: Vec<PathBuf>,
    pub test: Vec<PathBuf>,
}

/// A collection on disk: its layout and the files of its folds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    folder: PathBuf,
    pub layout: Layout,
    folds: Vec<FoldFiles>,
}

impl Source {
    /// Finds the collection in a folder. Reads no data yet.
    pub fn open(folder: &Path) -> Result<Self, DataError> {
        let (layout, folds) = layout::detect(folder)?;
        Ok(Self { folder: folder.into(), layout, folds })
    }

    /// A collection of one fold from lists of files. Files of a list are joined; each file's queries are its own.
    pub fn from_files(train: &[PathBuf], validation: &[PathBuf], test: &[PathBuf]) -> Result<Self, DataError> {
        for (part, files) in [("train", train), ("test", test)] {
            if files.is_empty() {
                let message = format!("no file was given for the {part} data; expected at least one");
                return Err(DataError::Unusable(message));
            }
        }
        let folder = train[0].parent().unwrap_or(Path::new("")).to_path_buf();
        let files = FoldFiles { train: train.to_vec(), validation: validation.to_vec(), test: test.to_vec() };
        Ok(Self { folder, layout: Layout::Files, folds: vec![files] })
    }

    pub fn n_folds(&self) -> usize {
        self.folds.len()
    }

    pub fn folds(&self) -> &[FoldFiles] {
        &self.folds
    }

    /// Loads fold `fold_idx`, counted from 0.
    pub fn load_fold(&self, fold_idx: usize, options: &LoadOptions) -> Result<Fold, DataError> {
        let files = self.folds.get(fold_idx).ok_or_else(|| {
            let (number, n_folds) = (fold_idx + 1, self.n_folds());
            let message = format!("fold {number} was asked for, but there are only {n_folds} (counted from 1)");
            DataError::of(&self.folder, message)
        })?;
        let mut options = options.clone();
        options.read.n_features = options.read.n_features.or(self.layout.n_features());
        let load = |paths: &[PathBuf]| -> Result<Vec<Dataset>, DataError> {
            let load_one = |path| load_letor(path, &options.read, options.normalise, &options.cache);
            Ok(paths.iter().map(|path| load_one(path).map(|loaded| loaded.data)).collect::<Result<_, _>>()?)
        };
        let (train, validation, test) = (load(&files.train)?, load(&files.validation)?, load(&files.test)?);
        let all = || train.iter().chain(&validation).chain(&test);
        let n_features = all().map(Dataset::n_features).max().unwrap_or(0);
        let validation = if validation.is_empty() { None } else { Some(join(&validation, n_features)?) };
        Ok(Fold::new(join(&train, n_features)?, validation, join(&test, n_features)?))
    }
}

/// One data set of the given width; a single file stays mapped.
fn join(parts: &[Dataset], n_features: usize) -> Result<Dataset, PartsError> {
    let wide: Vec<Dataset> = parts.iter().map(|part| part.widen(n_features)).collect();
    if let [only] = wide.as_slice() { Ok(only.clone()) } else { Dataset::concat(&wide) }
}

#[cfg(test)]
mod tests;
