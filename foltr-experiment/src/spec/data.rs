//! `[data]`: where labelled queries come from.

use std::path::PathBuf;

use foltr_simulation::datasets::synthetic::{MILD_CONFLICT, STRONG_CONFLICT};
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_words;

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
        normalise: Normalise,
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
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalise,
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
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalise,
    },
    /// A folder with one file of features and the judgements of several intents; tested on its training queries.
    Intents {
        /// Has a LETOR file with names of documents, and `intents/1.txt`, `intents/2.txt`, ... in the form of TREC qrels.
        path: PathBuf,
        /// Features of a document; found in the file when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_features: Option<usize>,
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalise,
    },
    /// The log of a search engine with the users behind its queries, such as AOL4FOLTR; labels are clicks.
    UserLog {
        /// Features and clicks of all queries, of any size.
        letor: PathBuf,
        /// Table with the columns `qid`, `user_id` and `timestamp`.
        metadata: PathBuf,
        /// Users with fewer queries are left out.
        #[serde(default = "one")]
        min_queries: usize,
        /// At most so many users, those with the most queries; all when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_users: Option<usize>,
        /// Share of each user's queries, the last ones in time, that are its test queries.
        #[serde(default = "a_fifth")]
        test_share: f64,
        /// Features of a document; those of the first one when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_features: Option<usize>,
        /// Feature scaling.
        #[serde(default)]
        normalise: Normalise,
    },
}

const fn one() -> usize {
    1
}

const fn a_fifth() -> f64 {
    0.2
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
    /// The conflict as a number from 0 to 1.
    pub const fn share(self) -> f64 {
        match self {
            Self::Level(Level::Mild) => MILD_CONFLICT,
            Self::Level(Level::Strong) => STRONG_CONFLICT,
            Self::Share(share) => share,
        }
    }
}

/// Feature scaling (spec section 1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Values as they are in the file.
    #[default]
    None,
    /// Every feature to [0, 1] within each query.
    Query,
}

impl Data {
    /// How features are scaled.
    pub const fn normalise(&self) -> Normalise {
        match self {
            Self::Synthetic { normalise, .. }
            | Self::Folder { normalise, .. }
            | Self::Files { normalise, .. }
            | Self::Intents { normalise, .. }
            | Self::UserLog { normalise, .. } => *normalise,
        }
    }

    /// Training, validation and test queries of generated data; those of files are in the files.
    pub fn generated(&self) -> Option<[usize; 3]> {
        let Self::Synthetic { shape, queries, validation_queries, test_queries, .. } = self else { return None };
        let usual = Synthetic::new(*shape);
        Some([*queries, validation_queries.unwrap_or(usual.n_validation), test_queries.unwrap_or(usual.n_test)])
    }

    /// The seed of generated data.
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

    /// Whether documents have labels for several intents.
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
            Self::Synthetic { shape, .. } => format!("synthetic-{}", in_words(shape)),
            Self::Folder { path, .. } | Self::Intents { path, .. } | Self::UserLog { letor: path, .. } => last(path),
            Self::Files { train, .. } => {
                let stem = train.first().and_then(|path| path.file_stem());
                stem.map_or_else(|| "files".into(), |stem| stem.to_string_lossy().into_owned())
            }
        }
    }
}
