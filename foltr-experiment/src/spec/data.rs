//! `[data]`: where labelled queries come from.

use std::path::PathBuf;

use foltr_rank::metric::MAX_LABEL;
use foltr_simulation::datasets::synthetic::{MAX_INTENTS, MILD_CONFLICT, STRONG_CONFLICT};
use foltr_simulation::datasets::user_log::UserLog;
use foltr_simulation::datasets::{Source, Synthetic, SyntheticShape};
use foltr_simulation::normalise::Normalisation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Problem, label};
use crate::data::resolve_path;

/// Where labelled queries come from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Data {
    /// Generated queries; every part of them follows from `shape`, `queries` and `seed`.
    Synthetic {
        /// What the queries look like.
        shape: SyntheticShape,
        /// Number of training queries.
        queries: usize,
        /// Number of validation queries; the shape's usual number when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        validation_queries: Option<usize>,
        /// Number of test queries; the shape's usual number when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_queries: Option<usize>,
        /// Generates the data; has nothing to do with the seeds of the runs.
        seed: u64,
        /// Wishes behind the same queries, each with labels of its own; 1 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intents: Option<usize>,
        /// How much the other intents contradict the first; 0.5 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Conflict>,
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalisation,
    },
    /// A folder in LETOR layout, such as MQ2008 with `Fold1` to `Fold5`.
    Folder {
        /// Relative paths are looked up in the working directory, then in the folder that `FOLTR_DATA` names.
        path: PathBuf,
        /// Fold numbers; all folds when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folds: Option<Vec<usize>>,
        /// Features of a document; found in the files when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_features: Option<usize>,
        /// The largest label, 1 to 31, where it is above 4; users are defined for 2, 3 and 5 grades.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_label: Option<u8>,
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalisation,
    },
    /// LETOR files named one by one; several files of one split are read one after the other.
    Files {
        /// Queries that clients draw from.
        train: Vec<PathBuf>,
        /// Queries for model selection.
        #[serde(default)]
        validation: Vec<PathBuf>,
        /// Queries for the reported values.
        test: Vec<PathBuf>,
        /// Features of a document; found in the files when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_features: Option<usize>,
        /// The largest label, 1 to 31, where it is above 4; users are defined for 2, 3 and 5 grades.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_label: Option<u8>,
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalisation,
    },
    /// A folder with one file of features and the judgements of several intents; tested on its training queries.
    Intents {
        /// Has a LETOR file with names of documents, and `intents/1.txt`, `intents/2.txt`, ... in the form of TREC qrels.
        path: PathBuf,
        /// Features of a document; found in the file when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_features: Option<usize>,
        /// The largest label, 1 to 31, where it is above 4; users are defined for 2, 3 and 5 grades.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_label: Option<u8>,
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalisation,
    },
    /// The log of a search engine with the users behind its queries, such as AOL4FOLTR; labels are clicks.
    UserLog(UserLog),
}

/// How much intents contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"mild\", \"strong\" or a number from 0 to 1")]
pub enum Conflict {
    /// By name.
    Level(Level),
    /// 0 is the same wish, 0.5 an unrelated one, 1 the opposite.
    Share(f64),
}

/// Conflicts that studies of personalisation use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Little is gained by a ranker for each intent.
    Mild,
    /// Much is gained.
    Strong,
}

impl Conflict {
    pub const fn share(self) -> f64 {
        match self {
            Self::Level(Level::Mild) => MILD_CONFLICT,
            Self::Level(Level::Strong) => STRONG_CONFLICT,
            Self::Share(share) => share,
        }
    }
}

impl Data {
    pub const fn normalise(&self) -> Normalisation {
        match self {
            Self::Synthetic { normalise, .. }
            | Self::Folder { normalise, .. }
            | Self::Files { normalise, .. }
            | Self::Intents { normalise, .. }
            | Self::UserLog(UserLog { normalise, .. }) => *normalise,
        }
    }

    /// Features of a document, as far as the section says; generated data has those of its shape.
    pub const fn n_features(&self) -> Option<usize> {
        match self {
            Self::Synthetic { shape, .. } => Some(shape.n_features()),
            Self::Folder { n_features, .. }
            | Self::Files { n_features, .. }
            | Self::Intents { n_features, .. }
            | Self::UserLog(UserLog { n_features, .. }) => *n_features,
        }
    }

    /// The largest label that files may have, where the section says so.
    pub const fn max_label(&self) -> Option<u8> {
        match self {
            Self::Folder { max_label, .. } | Self::Files { max_label, .. } | Self::Intents { max_label, .. } => {
                *max_label
            }
            Self::Synthetic { .. } | Self::UserLog(_) => None,
        }
    }

    /// The LETOR files that are read, where the section names them one by one or as a folder that can be looked into.
    pub fn files(&self) -> Vec<PathBuf> {
        let of_folds = |source: &Source, folds: Option<&[usize]>| -> Vec<PathBuf> {
            let numbered = (1..).zip(source.folds());
            let wanted = numbered.filter(|(number, _)| folds.is_none_or(|folds| folds.contains(number)));
            wanted.flat_map(|(_, fold)| [&fold.train, &fold.validation, &fold.test]).flatten().cloned().collect()
        };
        let named: Vec<PathBuf> = match self {
            Self::Synthetic { .. } | Self::Intents { .. } => Vec::new(),
            Self::Folder { path, folds, .. } => {
                let source = resolve_path(path).ok().and_then(|path| Source::open(&path).ok());
                return source.map_or_else(Vec::new, |source| of_folds(&source, folds.as_deref()));
            }
            Self::Files { train, validation, test, .. } => [&train[..], validation, test].concat(),
            Self::UserLog(log) => vec![log.letor.clone()],
        };
        named.iter().filter_map(|path| resolve_path(path).ok()).collect()
    }

    pub(super) fn check(&self) -> Vec<Problem> {
        let is_label = self.max_label().is_none_or(|label| (1..=MAX_LABEL).contains(&label));
        let mut checks = vec![
            (self.n_features() == Some(0), "n_features", "at least one feature is needed"),
            (!is_label, "max_label", "must be 1 to 31: gains 2^label - 1 stay exact"),
        ];
        match self {
            Self::Synthetic { queries, test_queries, intents, conflict, .. } => {
                let n_intents = intents.unwrap_or(1);
                let in_range = conflict.is_none_or(|conflict| (0.0..=1.0).contains(&conflict.share()));
                let idle = conflict.is_some() && n_intents == 1;
                checks.extend([
                    (!(1..=MAX_INTENTS).contains(&n_intents), "intents", "must be 1 to 64"),
                    (!in_range, "conflict", "must be \"mild\", \"strong\" or a number from 0 to 1"),
                    (idle, "conflict", "has no effect with one intent; set data.intents to 2 or more"),
                    (*queries == 0, "queries", "at least one query is needed"),
                    (*test_queries == Some(0), "test_queries", "at least one query is needed"),
                ]);
            }
            Self::Folder { path, folds, .. } => {
                let folds = folds.as_deref().unwrap_or(&[1]);
                let is_repeated = (1..folds.len()).any(|i| folds[..i].contains(&folds[i]));
                checks.extend([
                    (path.as_os_str().is_empty(), "path", "a folder is needed"),
                    (folds.is_empty(), "folds", "name at least one fold, or leave the key out for all"),
                    (folds.contains(&0), "folds", "folds are counted from 1"),
                    (is_repeated, "folds", "a fold is there twice; equal runs would count as two"),
                ]);
            }
            Self::Files { train, test, .. } => checks.extend([
                (train.is_empty(), "train", "at least one file is needed"),
                (test.is_empty(), "test", "at least one file is needed"),
            ]),
            Self::Intents { path, .. } => {
                checks.push((path.as_os_str().is_empty(), "path", "a folder is needed"));
            }
            Self::UserLog(log) => {
                let one_user = "at least one user is needed; leave it out for all";
                checks.extend([
                    (log.min_queries == 0, "min_queries", "a user has at least one query"),
                    (log.max_users == Some(0), "max_users", one_user),
                    (!(log.test_share > 0.0 && log.test_share < 1.0), "test_share", "must be above 0 and below 1"),
                ]);
            }
        }
        let wrong = checks.into_iter().filter(|(is_wrong, ..)| *is_wrong);
        wrong.map(|(_, key, message)| Problem::new(format!("data.{key}"), message)).collect()
    }

    /// Training, validation and test queries of generated data; those of files are in the files.
    pub fn generated(&self) -> Option<[usize; 3]> {
        let Self::Synthetic { shape, queries, validation_queries, test_queries, .. } = self else { return None };
        let usual = Synthetic::new(*shape);
        Some([*queries, validation_queries.unwrap_or(usual.n_validation), test_queries.unwrap_or(usual.n_test)])
    }

    pub const fn seed(&self) -> Option<u64> {
        if let Self::Synthetic { seed, .. } = self { Some(*seed) } else { None }
    }

    /// Fills in numbers that follow from others, so that a resolved file shows them.
    pub(crate) fn resolve(&mut self) {
        if let Self::Synthetic { shape, validation_queries, test_queries, intents, conflict, .. } = self {
            let usual = Synthetic::new(*shape);
            validation_queries.get_or_insert(usual.n_validation);
            test_queries.get_or_insert(usual.n_test);
            if intents.is_some_and(|intents| intents > 1) {
                conflict.get_or_insert(Conflict::Share(usual.conflict));
            }
        }
    }

    pub fn has_intents(&self) -> bool {
        match self {
            Self::Synthetic { intents, .. } => intents.is_some_and(|intents| intents > 1),
            Self::Intents { .. } => true,
            _ => false,
        }
    }

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        let last = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        match self {
            Self::Synthetic { shape, .. } => format!("synthetic-{}", label(shape)),
            Self::Folder { path, .. } | Self::Intents { path, .. } | Self::UserLog(UserLog { letor: path, .. }) => {
                last(path)
            }
            Self::Files { train, .. } => {
                let stem = train.first().and_then(|path| path.file_stem());
                stem.map_or_else(|| "files".into(), |stem| stem.to_string_lossy().into_owned())
            }
        }
    }
}
