//! Which vector does a term begin with? A random one, one trained on the collection's own text, or one of a file.

mod error;
mod skip_gram;
#[cfg(test)]
mod tests;
mod vectors;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use foltr_rank::rng::Stream;
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use error::EmbeddingError;
pub use skip_gram::SkipGram;
pub use vectors::{VectorFormat, parse_vectors};

use crate::vocabulary::Vocabulary;

/// Where vectors come from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EmbeddingSource {
    /// Random numbers.
    Random,
    /// Skip-gram with negative sampling on the documents.
    Trained(SkipGram),
    /// A file of word2vec (text or binary) or GloVe (text), plain or gzip.
    Loaded {
        /// The file.
        file: PathBuf,
    },
}

impl Default for EmbeddingSource {
    fn default() -> Self {
        Self::Trained(SkipGram::default())
    }
}

/// Vectors of a vocabulary's terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    /// Numbers of a vector.
    pub n_dimensions: usize,
    /// One vector after the other, by the number of the term.
    pub values: Vec<f32>,
    /// Terms that the source knew; the others are random.
    pub n_covered: usize,
}

impl EmbeddingSource {
    /// Vectors for a vocabulary. `texts` are the documents as numbers of terms, in their order.
    pub fn embed(
        &self,
        vocabulary: &Vocabulary,
        texts: &[Vec<u32>],
        n_dimensions: usize,
        stream: &mut Stream,
    ) -> Result<Embeddings, EmbeddingError> {
        match self {
            Self::Random => Ok(Embeddings::random(vocabulary.len(), n_dimensions, stream)),
            Self::Trained(settings) => Ok(Embeddings::trained(texts, vocabulary.len(), n_dimensions, settings, stream)),
            Self::Loaded { file } => Embeddings::loaded(file, vocabulary, n_dimensions, stream),
        }
    }
}

impl Embeddings {
    /// Random vectors, of length 1 on average.
    pub fn random(n_terms: usize, n_dimensions: usize, stream: &mut Stream) -> Self {
        // A uniform number of -a to a has a variance of a^2 / 3.
        let bound = (3.0 / n_dimensions as f32).sqrt();
        let values = (0..n_terms * n_dimensions).map(|_| stream.random_range(-bound..bound)).collect();
        Self { n_dimensions, values, n_covered: 0 }
    }

    /// Vectors trained on texts, which are numbers of terms below `n_terms`.
    pub fn trained(
        texts: &[Vec<u32>],
        n_terms: usize,
        n_dimensions: usize,
        settings: &SkipGram,
        stream: &mut Stream,
    ) -> Self {
        let (values, n_covered) = skip_gram::train(texts, n_terms, n_dimensions, settings, stream);
        Self { n_dimensions, values, n_covered }
    }

    /// Vectors of a file. A stem has the vector of its most frequent word.
    pub fn loaded(
        file: &Path,
        vocabulary: &Vocabulary,
        n_dimensions: usize,
        stream: &mut Stream,
    ) -> Result<Self, EmbeddingError> {
        let reader = opened(file).map_err(|source| EmbeddingError::Read { file: file.into(), source })?;
        Self::from_vectors(reader, file, vocabulary, n_dimensions, stream)
    }

    /// Vectors of what a file contains; `file` is named in errors.
    pub fn from_vectors(
        reader: impl BufRead,
        file: &Path,
        vocabulary: &Vocabulary,
        n_dimensions: usize,
        stream: &mut Stream,
    ) -> Result<Self, EmbeddingError> {
        let terms: HashMap<&str, usize> = vocabulary.words.iter().map(String::as_str).zip(0..).collect();
        let mut embeddings = Self::random(vocabulary.len(), n_dimensions, stream);
        let mut found = vec![Found::Not; vocabulary.len()];
        parse_vectors(reader, file, |word, vector| {
            if vector.len() != n_dimensions {
                return Err(EmbeddingError::Width { file: file.into(), found: vector.len(), expected: n_dimensions });
            }
            let (term, how) = match terms.get(word) {
                Some(&term) => (term, Found::Exactly),
                // Names and beginnings of sentences: better than nothing.
                None => match terms.get(word.to_lowercase().as_str()) {
                    Some(&term) => (term, Found::InCapitals),
                    None => return Ok(()),
                },
            };
            if how > found[term] {
                found[term] = how;
                embeddings.values[term * n_dimensions..][..n_dimensions].copy_from_slice(vector);
            }
            Ok(())
        })?;
        let is_found: Vec<bool> = found.into_iter().map(|how| how != Found::Not).collect();
        embeddings.n_covered = is_found.iter().filter(|&&is_found| is_found).count();
        if embeddings.n_covered == 0 {
            return Err(EmbeddingError::NoneKnown { file: file.into(), n_terms: vocabulary.len() });
        }
        embeddings.scale_others(&is_found);
        Ok(embeddings)
    }

    /// Random vectors become as long as those of the file are on average.
    fn scale_others(&mut self, is_found: &[bool]) {
        let Self { n_dimensions, values, n_covered } = self;
        let vectors = values.chunks_exact(*n_dimensions).zip(is_found);
        let square = |vector: &[f32]| vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
        let total: f64 = vectors.filter(|(_, is_found)| **is_found).map(|(vector, _)| square(vector)).sum();
        let length = (total / *n_covered as f64).sqrt() as f32;
        for (vector, is_found) in values.chunks_exact_mut(*n_dimensions).zip(is_found) {
            if !is_found {
                vector.iter_mut().for_each(|value| *value *= length);
            }
        }
    }
}

/// How a term was met in a file; the later the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Not,
    InCapitals,
    Exactly,
}

/// A file to read from, decompressed if it begins as gzip does.
fn opened(file: &Path) -> std::io::Result<Box<dyn BufRead>> {
    const BUFFER: usize = 1 << 20;
    let mut raw = BufReader::with_capacity(BUFFER, File::open(file)?);
    let is_gzip = raw.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let plain: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    Ok(Box::new(BufReader::with_capacity(BUFFER, plain)))
}
