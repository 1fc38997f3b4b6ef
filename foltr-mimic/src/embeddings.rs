//! Which vector does a term begin with? A random one, one trained on the collection's own text, or one of a file.

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

pub use skip_gram::SkipGram;
pub use vectors::parse_vectors;

use crate::FileError;
use crate::analyser::Analyser;
use crate::collection::Document;
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

impl EmbeddingSource {
    /// Vectors of a vocabulary's terms, one after the other; none where every network draws its own.
    pub fn embed(
        &self,
        vocabulary: &Vocabulary,
        documents: &[Document],
        analyser: &Analyser,
        n_dimensions: usize,
        stream: &mut Stream,
    ) -> Result<Option<Vec<f32>>, FileError> {
        match self {
            Self::Random => Ok(None),
            Self::Trained(settings) => {
                let numbers = |document: &Document| vocabulary.numbers(&document.content(), analyser);
                let texts: Vec<Vec<u32>> = documents.iter().map(numbers).collect();
                Ok(Some(skip_gram::train(&texts, vocabulary.terms.len(), n_dimensions, settings, stream)))
            }
            Self::Loaded { file } => {
                let reader = open(file).map_err(FileError::io(file, "read"))?;
                load(reader, file, vocabulary, n_dimensions, stream).map(Some)
            }
        }
    }
}

/// The cosine of two vectors of random terms, on average over many pairs. Vectors that say something about their terms have
/// about 0; those that were trained on too little text, or have one component that all share, up to 1.
pub fn mean_cosine(values: &[f32], n_dimensions: usize, stream: &mut Stream) -> f64 {
    const N_PAIRS: usize = 10_000;
    let n_terms = values.len() / n_dimensions.max(1);
    if n_terms < 2 {
        return 0.0;
    }
    let vector = |term: usize| &values[term * n_dimensions..][..n_dimensions];
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let mut cosine = || {
        let first = stream.random_range(0..n_terms as u64) as usize;
        let other = (first + 1 + stream.random_range(0..n_terms as u64 - 1) as usize) % n_terms;
        let (a, b) = (vector(first), vector(other));
        let lengths = (dot(a, a) * dot(b, b)).sqrt();
        if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
    };
    (0..N_PAIRS).map(|_| cosine()).sum::<f64>() / N_PAIRS as f64
}

/// Random vectors, of length 1 on average.
fn random(n_terms: usize, n_dimensions: usize, stream: &mut Stream) -> Vec<f32> {
    // A uniform number of -a to a has a variance of a^2 / 3.
    let bound = (3.0 / n_dimensions as f32).sqrt();
    (0..n_terms * n_dimensions).map(|_| stream.random_range(-bound..bound)).collect()
}

/// How a term was met in a file; the later the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    None,
    InCapitals,
    Exact,
}

/// Vectors of a file; `file` is named in errors. A stem has the vector of its most frequent word.
fn load(
    reader: impl BufRead,
    file: &Path,
    vocabulary: &Vocabulary,
    n_dimensions: usize,
    stream: &mut Stream,
) -> Result<Vec<f32>, FileError> {
    let terms: HashMap<&str, usize> = vocabulary.words.iter().map(String::as_str).zip(0..).collect();
    let mut values = random(vocabulary.terms.len(), n_dimensions, stream);
    let mut matches = vec![Match::None; vocabulary.terms.len()];
    parse_vectors(reader, file, |word, vector| {
        let found = vector.len();
        if found != n_dimensions {
            let instead = format!("set the embedding size to {found} or take another file");
            return Err(FileError::new(
                file,
                format!("vectors have {found} numbers, expected {n_dimensions}; {instead}"),
            ));
        }
        let exact = terms.get(word).map(|&term| (term, Match::Exact));
        // Names and beginnings of sentences: better than nothing.
        let in_capitals = || terms.get(word.to_lowercase().as_str()).map(|&term| (term, Match::InCapitals));
        if let Some((term, how)) = exact.or_else(in_capitals)
            && how > matches[term]
        {
            matches[term] = how;
            values[term * n_dimensions..][..n_dimensions].copy_from_slice(vector);
        }
        Ok(())
    })?;
    if matches.iter().all(|&how| how == Match::None) {
        let n_terms = vocabulary.terms.len();
        let expected = "expected words of the collection's language";
        return Err(FileError::new(file, format!("has none of the {n_terms} words of the vocabulary; {expected}")));
    }
    scale_others(&mut values, n_dimensions, &matches);
    Ok(values)
}

/// Random vectors become as long as those of the file are on average.
fn scale_others(values: &mut [f32], n_dimensions: usize, matches: &[Match]) {
    let square = |vector: &[f32]| vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
    let of_file = values.chunks_exact(n_dimensions).zip(matches).filter(|(_, how)| **how != Match::None);
    let squares: Vec<f64> = of_file.map(|(vector, _)| square(vector)).collect();
    let length = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() as f32;
    for (vector, _) in values.chunks_exact_mut(n_dimensions).zip(matches).filter(|(_, how)| **how == Match::None) {
        vector.iter_mut().for_each(|value| *value *= length);
    }
}

/// A file to read from, decompressed if it begins as gzip does.
fn open(file: &Path) -> std::io::Result<Box<dyn BufRead>> {
    const BUFFER: usize = 1 << 20;
    let mut raw = BufReader::with_capacity(BUFFER, File::open(file)?);
    let is_gzip = raw.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let plain: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
    Ok(Box::new(BufReader::with_capacity(BUFFER, plain)))
}
