//! What can be wrong with a LETOR file, said with file, line, column and what was expected.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a LETOR file could not be read.
#[derive(Debug, Error)]
pub enum LetorError {
    /// The file could not be opened, read or decompressed.
    #[error("{}: cannot be read: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was read could not be stored: files beyond memory need room for their cache.
    #[error("{}: the cache cannot be written here: {source}; FOLTR_CACHE names another folder", folder.display())]
    Store {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is malformed.
    #[error("{}:{line}:{column}: found `{found}`, expected {expected}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Column of the offending text in bytes, from 1.
        column: usize,
        /// The offending text (the beginning of it, if it is long).
        found: String,
        /// What would be right there.
        expected: Expected,
    },
    /// There is no document in the file.
    #[error("{}: no document found; expected lines such as `2 qid:10 1:0.5 2:0.25`", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// There is no feature on any line, and the number of features was not declared.
    #[error("{}: no line has a feature; expected lines such as `2 qid:10 1:0.5 2:0.25`", file.display())]
    NoFeatures {
        /// The file.
        file: PathBuf,
    },
    /// A declared width is out of range.
    #[error("{}: a width of {n_features} features was declared, expected 1 to {max}", file.display())]
    Width {
        /// The file.
        file: PathBuf,
        /// The declared number of features.
        n_features: usize,
        /// The largest number of features.
        max: usize,
    },
    /// The features do not fit into memory, or the documents into 32-bit offsets.
    #[error("{}: {n_docs} documents of {n_features} features do not fit into memory", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Number of documents.
        n_docs: usize,
        /// Features of a document.
        n_features: usize,
    },
}

/// What the reader expected in place of what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A label: a whole number between 0 and this one.
    Label(u8),
    /// `qid:` and the query's name behind the label.
    Qid,
    /// A query's name in UTF-8.
    Utf8Qid,
    /// A pair `feature:value`.
    Feature,
    /// A feature index between 1 and this one.
    Index(usize),
    /// A feature that did not occur on the line before.
    DistinctIndex,
    /// A finite number.
    FiniteValue,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(max) => write!(f, "a label, a whole number from 0 to {max}"),
            Self::Qid => write!(f, "`qid:` and the query's name behind the label"),
            Self::Utf8Qid => write!(f, "`qid:` and a name in UTF-8"),
            Self::Feature => write!(f, "`feature:value`, such as `3:0.25`"),
            Self::Index(max) => write!(f, "a feature index from 1 to {max}"),
            Self::DistinctIndex => write!(f, "each feature at most once on a line"),
            Self::FiniteValue => write!(f, "a finite number as the value"),
        }
    }
}
