//! What can be wrong with a collection's files, said with file, line and what would be right.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a collection, or a file of queries, could not be read.
#[derive(Debug, Error)]
pub enum CollectionError {
    /// A file or folder could not be opened, read or decompressed.
    #[error("{}: cannot be read: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is malformed.
    #[error("{}:{line}: found `{found}`, expected {expected}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The offending text (the beginning of it, if it is long).
        found: String,
        /// What would be right there.
        expected: Expected,
    },
    /// Two different texts have one name.
    #[error("{}:{line}: `{id}` was the name of another text before; expected each name once", file.display())]
    Repeated {
        /// The file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The name.
        id: String,
    },
    /// A file that the form needs is not there.
    #[error("{}: has no {missing}", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// What should be there.
        missing: String,
    },
    /// There is no document.
    #[error(
        "{}: no document found; expected a folder with a collection in TREC, BEIR or NFCorpus form, or texts",
        folder.display()
    )]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

/// What the reader expected in place of what it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A tag with a name or text in it, or the end of what a tag opened.
    Tag(&'static str),
    /// Four columns of a TREC judgement.
    Judgement,
    /// Three columns of a BEIR judgement.
    TabbedJudgement,
    /// A grade.
    Grade,
    /// A name, a tab and a text.
    TabbedText,
    /// A JSON object of a document or query, and what the JSON reader says.
    Json(String),
    /// Fewer texts than have numbers.
    Number,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "`{tag}`"),
            Self::Judgement => write!(f, "a judgement `query 0 document grade`"),
            Self::TabbedJudgement => write!(f, "a judgement of query, document and grade, with tabs between them"),
            Self::Grade => write!(f, "a whole number up to {} as the grade", super::MAX_GRADE),
            Self::TabbedText => write!(f, "a name, a tab and a text"),
            Self::Json(reason) => {
                write!(f, "an object such as `{{\"_id\": \"d1\", \"title\": \"\", \"text\": \"...\"}}` ({reason})")
            }
            Self::Number => write!(f, "fewer than 2^32 texts"),
        }
    }
}

/// A place in a file, for errors.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub file: &'a Path,
    pub line: usize,
}

impl At<'_> {
    /// Something else was expected here.
    pub fn found(self, found: &str, expected: Expected) -> CollectionError {
        const LONGEST: usize = 60;
        let mut beginning: String = found.chars().take(LONGEST).collect();
        if beginning.len() < found.len() {
            beginning.push_str("...");
        }
        CollectionError::Line { file: self.file.to_path_buf(), line: self.line, found: beginning, expected }
    }
}
