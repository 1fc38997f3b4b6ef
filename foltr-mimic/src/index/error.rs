//! What can go wrong with an index.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why an index could not be made, opened or searched.
#[derive(Debug, Error)]
pub enum IndexError {
    /// A file could not be written.
    #[error("{}: cannot be written", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder has an index already.
    #[error("{}: an index is here already; name another folder", folder.display())]
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder has no index.
    #[error("{}: no index is here; `foltr index` makes one", folder.display())]
    NoIndex {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The analyser's settings are malformed.
    #[error("{}: expected such as `{{\"stop_words\": true, \"stem\": true}}`", file.display())]
    Settings {
        /// The file.
        file: PathBuf,
        /// What the JSON reader said.
        source: serde_json::Error,
    },
    /// The search engine failed.
    #[error("{place}: the search engine failed")]
    Engine {
        /// Where.
        place: String,
        /// What it said.
        source: tantivy::TantivyError,
    },
}

impl IndexError {
    pub(super) fn engine(place: impl Display) -> impl FnOnce(tantivy::TantivyError) -> Self {
        let place = place.to_string();
        move |source| Self::Engine { place, source }
    }

    pub(super) fn write(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_path_buf();
        move |source| Self::Write { file, source }
    }
}
