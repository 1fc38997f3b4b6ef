//! Which documents does BM25 find? An inverted index in memory, which can be saved as one file.
//!
//! BM25 is that of `RWJHG94`, with an idf that is never negative (spec section 16.2). Lengths are exact and terms are
//! added in the order of the query: equal documents have equal scores, however many are asked for.

mod file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::Path;

use bytemuck::{Pod, Zeroable};

use crate::FileError;
use crate::analyser::{Analyser, AnalyserSettings};
use crate::collection::Document;
use crate::vocabulary::idf;

/// How soon more occurrences of a term count less.
const K1: f64 = 1.2;
/// How much a document's length counts.
const B: f64 = 0.75;

/// An index of documents, which are numbered by their positions in the collection.
pub struct TextIndex {
    /// How its texts became terms; queries and networks must do the same.
    pub analyser: Analyser,
    pub documents: Vec<Document>,
    lengths: Vec<u32>,
    terms: HashMap<String, Range<usize>>,
    /// Term by term, by document.
    postings: Vec<Posting>,
    /// K1 (1 - B + B length / average length) of each document.
    saturations: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Posting {
    document: u32,
    occurrences: u32,
}

impl TextIndex {
    pub fn in_memory(documents: &[Document], settings: AnalyserSettings) -> Self {
        let analyser = Analyser::new(settings);
        let mut lengths = Vec::new();
        let mut by_term: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
        for (document, content) in (0..).zip(documents) {
            let terms = analyser.terms(&content.content());
            lengths.push(terms.len() as u32);
            for term in terms {
                let postings = by_term.entry(term).or_default();
                match postings.last_mut().filter(|last| last.document == document) {
                    Some(last) => last.occurrences += 1,
                    None => postings.push(Posting { document, occurrences: 1 }),
                }
            }
        }
        let n_postings = by_term.values().map(Vec::len);
        let terms = by_term.keys().cloned().zip(ranges(n_postings)).collect();
        Self::from_parts(settings, documents.to_vec(), lengths, terms, by_term.into_values().flatten().collect())
    }

    fn from_parts(
        settings: AnalyserSettings,
        documents: Vec<Document>,
        lengths: Vec<u32>,
        terms: HashMap<String, Range<usize>>,
        postings: Vec<Posting>,
    ) -> Self {
        let average = lengths.iter().map(|&length| u64::from(length)).sum::<u64>() as f64 / documents.len() as f64;
        let saturation = |&length: &u32| K1 * (1.0 - B + B * f64::from(length) / average);
        let saturations = lengths.iter().map(saturation).collect();
        Self { analyser: Analyser::new(settings), documents, lengths, terms, postings, saturations }
    }

    /// Writes the index to a file. A file that is there is not replaced.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        if path.exists() {
            return Err(FileError::new(path, "exists already; name another file"));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(FileError::io(path, "written"))?;
        }
        // Renamed when it is whole: an interrupted write leaves no index.
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        fs::write(&new, self.to_bytes()).and_then(|()| fs::rename(&new, path)).map_err(FileError::io(path, "written"))
    }

    pub fn open(path: &Path) -> Result<Self, FileError> {
        let no_index = |error| FileError::new(path, format!("no index ({error}); `foltr index` makes one"));
        let bytes = fs::read(path).map_err(no_index)?;
        Self::from_bytes(&bytes)
            .map_err(|invalid| FileError::new(path, format!("not an index that foltr can read: {invalid}")))
    }

    /// The best `k` documents that have a term of the query, with their scores; of equal scores the lower number first.
    pub fn search(&self, query: &str, k: usize) -> Vec<(u32, f32)> {
        let scores = self.scores(query);
        let mut ranked: Vec<(u32, f32)> = (0..).zip(scores).filter(|&(_, score)| score > 0.0).collect();
        let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if k < ranked.len() {
            ranked.select_nth_unstable_by(k, by_score);
            ranked.truncate(k);
        }
        ranked.sort_unstable_by(by_score);
        ranked
    }

    /// BM25 of every document; a term counts as often as the query has it.
    pub fn scores(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.documents.len()];
        for term in self.analyser.terms(query) {
            self.add_scores(&term, &mut scores);
        }
        scores.into_iter().map(|score| score as f32).collect()
    }

    /// Adds idf (K1 + 1) tf / (tf + saturation) to each document with the term (spec section 16.2).
    fn add_scores(&self, term: &str, scores: &mut [f64]) {
        let Some(range) = self.terms.get(term) else { return };
        let weight = (K1 + 1.0) * idf(range.len() as u64, self.documents.len() as u64);
        for posting in &self.postings[range.clone()] {
            let (document, occurrences) = (posting.document as usize, f64::from(posting.occurrences));
            scores[document] += weight * occurrences / (occurrences + self.saturations[document]);
        }
    }
}

/// Ranges of these lengths, one after the other.
fn ranges(lengths: impl IntoIterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    lengths.into_iter().scan(0, |end, length| {
        let start = *end;
        *end += length;
        Some(start..*end)
    })
}
