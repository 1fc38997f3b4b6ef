//! What was opened, when, and for which words. It never leaves this machine.

mod store;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use foltr_rank::interleave::InterleavedComparison;

pub use store::HistoryError;
use store::Store;

use crate::answer::DocumentId;

const DAY: f32 = 86_400.0;
/// After so long an opening counts half.
const HALF_LIFE: f32 = 30.0 * DAY;
/// How many of the last openings say where somebody works at present.
const RECENT: usize = 20;

/// A document was opened from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub document: DocumentId,
    /// Seconds since 1970.
    pub at: i64,
    /// The words that were typed.
    pub query: String,
    /// Its place in the list, from 1.
    pub rank: u32,
}

/// How a search ended, for the agent's own measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub at: i64,
    /// The rank of the first opening; nothing if none was.
    pub rank: Option<u32>,
    /// Characters of the query when its list was made.
    pub n_typed: u32,
}

#[derive(Debug)]
pub struct History {
    store: Store,
    openings: Vec<Opening>,
    by_document: HashMap<DocumentId, Vec<usize>>,
    endings: Vec<Ending>,
    comparison: InterleavedComparison,
}

/// What openings say about a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    pub n_openings: u32,
    pub last: Option<i64>,
    /// Openings, those of long ago counted less.
    pub frecency: f32,
    /// How often it was opened for exactly these words.
    pub n_same_query: u32,
    /// The share of words of the query that it was opened for, at best.
    pub similar_query: f32,
}

impl History {
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let store = Store::open(path)?;
        let mut history = Self {
            openings: store.openings()?,
            endings: store.endings()?,
            comparison: store.comparison()?,
            by_document: HashMap::new(),
            store,
        };
        for (at, opening) in history.openings.iter().enumerate() {
            history.by_document.entry(opening.document).or_default().push(at);
        }
        Ok(history)
    }

    /// When it returns, the opening is durable.
    pub fn add(&mut self, opening: Opening) -> Result<(), HistoryError> {
        self.store.add_opening(&opening)?;
        self.by_document.entry(opening.document).or_default().push(self.openings.len());
        self.openings.push(opening);
        Ok(())
    }

    pub fn end_search(&mut self, ending: Ending) -> Result<(), HistoryError> {
        self.store.add_ending(&ending)?;
        self.endings.push(ending);
        Ok(())
    }

    /// What a list of two rankers has said.
    pub fn add_preference(&mut self, preference: f64) -> Result<(), HistoryError> {
        let mut comparison = self.comparison;
        comparison.add(preference);
        self.store.write_comparison(&comparison)?;
        self.comparison = comparison;
        Ok(())
    }

    pub const fn comparison(&self) -> &InterleavedComparison {
        &self.comparison
    }

    /// Deletes all of it, on the disk as well.
    pub fn erase(&mut self) -> Result<(), HistoryError> {
        self.store.erase()?;
        self.openings.clear();
        self.by_document.clear();
        self.endings.clear();
        self.comparison = InterleavedComparison::default();
        Ok(())
    }

    pub fn openings(&self) -> &[Opening] {
        &self.openings
    }

    pub fn endings(&self) -> &[Ending] {
        &self.endings
    }

    /// The documents that were opened last, the last one first, each once.
    pub fn recent(&self) -> Vec<DocumentId> {
        let mut seen = HashSet::new();
        self.openings.iter().rev().map(|it| it.document).filter(|it| seen.insert(*it)).take(RECENT).collect()
    }

    pub fn use_of(&self, document: DocumentId, words: &HashSet<String>, now: i64) -> Use {
        let Some(openings) = self.by_document.get(&document) else { return Use::default() };
        let mut found = Use { n_openings: openings.len() as u32, ..Use::default() };
        for opening in openings.iter().map(|&at| &self.openings[at]) {
            let age = (now - opening.at).max(0) as f32;
            found.frecency += (-age / HALF_LIFE).exp2();
            found.last = found.last.max(Some(opening.at));
            let similarity = similarity(words, &word_set(&opening.query));
            found.n_same_query += u32::from(similarity == 1.0);
            found.similar_query = found.similar_query.max(similarity);
        }
        found
    }
}

/// The words of a query, without their order.
pub fn word_set(query: &str) -> HashSet<String> {
    let words = query.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Words in both as a share of words in either.
fn similarity(a: &HashSet<String>, b: &HashSet<String>) -> f32 {
    let n_both = a.intersection(b).count();
    if n_both == 0 { 0.0 } else { n_both as f32 / (a.len() + b.len() - n_both) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(document: u64, at: i64, query: &str) -> Opening {
        Opening { document: DocumentId(document), at, query: query.into(), rank: 2 }
    }

    #[test]
    fn what_was_opened_is_known_after_a_restart_until_it_is_erased() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history.db");
        let mut history = History::open(&path).expect("a new one");
        history.add(opening(1, 0, "red boat")).expect("written");
        history.add(opening(1, 60 * 86_400, "Boat red")).expect("written");
        history.add(opening(2, 60 * 86_400, "car")).expect("written");
        history.end_search(Ending { at: 1, rank: None, n_typed: 4 }).expect("written");
        drop(history);
        let mut history = History::open(&path).expect("there");
        let seen = history.use_of(DocumentId(1), &word_set("red boat"), 60 * 86_400);
        let expected =
            Use { n_openings: 2, last: Some(60 * 86_400), frecency: 1.25, n_same_query: 2, similar_query: 1.0 };
        assert_eq!(seen, expected);
        let other = history.use_of(DocumentId(1), &word_set("red car shop"), 60 * 86_400);
        assert_eq!((other.n_same_query, other.similar_query), (0, 0.25));
        assert_eq!(history.recent(), [DocumentId(2), DocumentId(1)]);
        assert_eq!(history.endings().len(), 1);
        history.erase().expect("erased");
        drop(history);
        let history = History::open(&path).expect("there");
        assert_eq!((history.openings().len(), history.endings().len()), (0, 0));
        let bytes: Vec<u8> = ["history.db", "history.db-wal"]
            .iter()
            .flat_map(|name| std::fs::read(folder.path().join(name)).unwrap_or_default())
            .collect();
        assert!(!bytes.windows(4).any(|it| it == b"boat"), "words stay on the disk");
    }
}
