//! `[data]`: where labelled queries come from.

use std::path::PathBuf;

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
            Self::Synthetic { normalise, .. } | Self::Folder { normalise, .. } | Self::Files { normalise, .. } => {
                *normalise
            }
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
    pub(super) fn resolve(&mut self) {
        if let Self::Synthetic { shape, validation_queries, test_queries, .. } = self {
            let usual = Synthetic::new(*shape);
            validation_queries.get_or_insert(usual.n_validation);
            test_queries.get_or_insert(usual.n_test);
        }
    }

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Synthetic { shape, .. } => format!("synthetic-{}", in_words(shape)),
            Self::Folder { path, .. } => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            Self::Files { train, .. } => {
                let stem = train.first().and_then(|path| path.file_stem());
                stem.map_or_else(|| "files".into(), |stem| stem.to_string_lossy().into_owned())
            }
        }
    }
}
