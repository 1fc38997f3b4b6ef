//! What can be wrong with a LETOR file, said with file, line, column and what was expected.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum LetorError {
    #[error("{}: cannot be read: {source}", file.display())]
    Read { file: PathBuf, source: io::Error },
    /// What was read could not be stored: files beyond memory need room for their cache.
    #[error("{}: the cache cannot be written here: {source}; FOLTR_CACHE names another folder", folder.display())]
    Store { folder: PathBuf, source: io::Error },
    /// Line and column (in bytes) count from 1; `found` is the beginning of a long text. `is_cut`: the file ends in this
    /// line.
    #[error(
        "{}:{line}:{column}: found `{found}`, expected {expected}{}",
        file.display(),
        if *is_cut { "; the file ends in the middle of this line: it may have been cut" } else { "" }
    )]
    Line { file: PathBuf, line: usize, column: usize, found: String, expected: Expected, is_cut: bool },
    #[error("{}: no document found; expected lines such as `2 qid:10 1:0.5 2:0.25`", file.display())]
    Empty { file: PathBuf },
    /// The number of features was not declared either.
    #[error("{}: no line has a feature; expected lines such as `2 qid:10 1:0.5 2:0.25`", file.display())]
    NoFeatures { file: PathBuf },
    #[error("{}: a width of {n_features} features was declared, expected 1 to {max}", file.display())]
    Width { file: PathBuf, n_features: usize, max: usize },
    /// Beyond memory, or the documents beyond 32-bit offsets.
    #[error("{}: {n_docs} documents of {n_features} features do not fit into memory", file.display())]
    TooLarge { file: PathBuf, n_docs: usize, n_features: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Expected {
    #[error("a label, a whole number from 0 to {0} (max_label allows more)")]
    Label(u8),
    #[error("`qid:` and the query's name behind the label")]
    Qid,
    #[error("`qid:` and a name in UTF-8")]
    Utf8Qid,
    #[error("`feature:value`, such as `3:0.25`")]
    Feature,
    #[error("a feature index from 1 to {0}")]
    Index(usize),
    #[error("each feature at most once on a line")]
    DistinctIndex,
    #[error("a finite number as the value")]
    FiniteValue,
}
