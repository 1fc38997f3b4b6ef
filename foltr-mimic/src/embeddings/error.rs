//! What can be wrong with a file of vectors, said with file, line and what would be right.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why vectors could not be read.
#[derive(Debug, Error)]
pub enum EmbeddingError {
    /// The file could not be opened, read or decompressed.
    #[error("{}: cannot be read: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is another kind of file.
    #[error(
        "{}: not a file of word vectors but {looks_like}; expected word2vec (text or binary) or GloVe (text)",
        file.display()
    )]
    NotVectors {
        /// The file.
        file: PathBuf,
        /// What it looks like.
        looks_like: String,
    },
    /// A line has too many or too few numbers.
    #[error("{}:{line}: found {found} numbers behind the word, expected {expected} as before", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Numbers on the line.
        found: usize,
        /// Numbers on the lines before, or as the header says.
        expected: usize,
    },
    /// A value is not a number.
    #[error("{}: `{found}` in vector {vector}, expected a finite number", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// Which vector, from 1.
        vector: usize,
        /// What is there.
        found: String,
    },
    /// The file ends too early.
    #[error("{}: ends in vector {vector}, expected {n_vectors} vectors as its header says", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// Which vector is not whole, from 1.
        vector: usize,
        /// Vectors by the header.
        n_vectors: usize,
    },
    /// Vectors have another size than the network's.
    #[error(
        "{}: vectors have {found} numbers, expected {expected}; set the embedding size to {found} or take another file",
        file.display()
    )]
    Width {
        /// The file.
        file: PathBuf,
        /// Numbers of its vectors.
        found: usize,
        /// Numbers of the network's vectors.
        expected: usize,
    },
    /// No word of it is of use.
    #[error(
        "{}: has none of the {n_terms} words of the vocabulary; expected words of the collection's language",
        file.display()
    )]
    NoneKnown {
        /// The file.
        file: PathBuf,
        /// Terms of the vocabulary.
        n_terms: usize,
    },
}
