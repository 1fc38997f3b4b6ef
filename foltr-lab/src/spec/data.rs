//! `[data]`: where labelled queries come from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where labelled queries come from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Data {
    /// Generated queries; every part of them follows from `shape`, `queries` and `seed`.
    Synthetic {
        /// What the queries look like.
        shape: SyntheticShape,
        /// Number of training queries.
        queries: usize,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Values as they are in the file.
    #[default]
    None,
    /// Every feature to [0, 1] within each query.
    Query,
}

/// What synthetic queries look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyntheticShape {
    /// 10 features, 15 documents a query, grades 0 to 2: for the main job and for tests.
    Tiny,
    /// 46 features, about 41 documents a query, grades 0 to 2: like MQ2007.
    Mq2007,
    /// 136 features, about 120 documents a query, grades 0 to 4: like MSLR-WEB10K.
    Mslr,
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

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Synthetic { shape, .. } => format!("synthetic-{}", shape.name()),
            Self::Folder { path, .. } => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            Self::Files { train, .. } => {
                let stem = train.first().and_then(|path| path.file_stem());
                stem.map_or_else(|| "files".into(), |stem| stem.to_string_lossy().into_owned())
            }
        }
    }
}

impl SyntheticShape {
    /// All shapes, for lists.
    pub const ALL: [Self; 3] = [Self::Tiny, Self::Mq2007, Self::Mslr];

    /// The name in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Mq2007 => "mq2007",
            Self::Mslr => "mslr",
        }
    }
}
