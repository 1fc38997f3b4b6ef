//! What can go wrong with an index.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why an index could not be written or opened.
#[derive(Debug, Error)]
pub enum IndexError {
    /// The file could not be written.
    #[error("{}: cannot be written", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there already.
    #[error("{}: exists already; name another file", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// There is no such file.
    #[error("{}: no index; `foltr index` makes one", file.display())]
    NoIndex {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content is not that of an index.
    #[error("{}: not an index that foltr can read: {found}; expected {expected}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        found: String,
        /// What would be right.
        expected: String,
    },
}
