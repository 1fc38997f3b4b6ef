//! The words of a query, and what they may stand for in the index.

use std::collections::{BTreeMap, HashSet};

use tantivy::schema::Term;

use super::{Field, IndexView, words};

/// More words say little, and take time.
const MOST_WORDS: usize = 24;
/// Words that a beginning may stand for; the most frequent ones.
const MOST_ENDINGS: usize = 12;
/// Words that are looked at to find them, in one field of one segment.
const MOST_LOOKED_AT: usize = 400;
/// How many letters the index may have cut off from what was typed.
const LONGEST_ENDING: usize = 3;
/// Shorter words have lost nothing.
const SHORTEST_STEM: usize = 3;

/// A word of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryWord {
    /// As the index has it.
    pub term: String,
    /// With its ending.
    pub typed: String,
    /// What it may stand for: `term`, and if it is the beginning of a word, words that begin so.
    pub terms: Vec<String>,
    pub idf: f32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordQuery {
    /// All different.
    pub words: Vec<QueryWord>,
    /// The terms in the order in which they were typed.
    pub sequence: Vec<String>,
}

impl WordQuery {
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether a word of a text is one that is looked for.
    pub fn has(&self, term: &str) -> bool {
        self.words.iter().any(|word| word.terms.iter().any(|it| it == term))
    }
}

pub(super) fn read(view: &IndexView, text: &str) -> tantivy::Result<WordQuery> {
    let stems = words::words(&mut words::query_analyser(), text);
    let typed = words::words(&mut words::unstemmed_analyser(), text);
    // What follows a word ends it.
    let is_open = text.chars().next_back().is_some_and(char::is_alphanumeric);
    let mut query = WordQuery::default();
    let mut seen = HashSet::new();
    let n_words = stems.len();
    for (at, (stem, typed)) in stems.into_iter().zip(typed).enumerate() {
        query.sequence.push(stem.text.clone());
        if query.words.len() == MOST_WORDS || !seen.insert(stem.text.clone()) {
            continue;
        }
        let mut terms = vec![stem.text.clone()];
        if is_open && at + 1 == n_words {
            terms.extend(endings(view, &typed.text)?.into_iter().filter(|it| *it != stem.text));
        }
        let idf = view.idf(&terms)?;
        query.words.push(QueryWord { term: stem.text, typed: typed.text, terms, idf });
    }
    Ok(query)
}

/// The most frequent words that begin so, or what the index has made of such a word.
fn endings(view: &IndexView, typed: &str) -> tantivy::Result<Vec<String>> {
    let mut found = beginning_with(view, typed)?;
    let mut shorter = typed;
    for _ in 0..LONGEST_ENDING {
        let Some((at, _)) = shorter.char_indices().next_back() else { break };
        shorter = &shorter[..at];
        if !found.is_empty() || shorter.len() < SHORTEST_STEM {
            break;
        }
        let n_documents = view.document_frequency(shorter)?;
        if n_documents > 0 {
            found.push((shorter.to_owned(), n_documents));
        }
    }
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MOST_ENDINGS);
    Ok(found.into_iter().map(|(term, _)| term).collect())
}

fn beginning_with(view: &IndexView, beginning: &str) -> tantivy::Result<Vec<(String, u64)>> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for segment in view.searcher.segment_readers() {
        for field in [Field::Title, Field::Name, Field::Body, Field::Author] {
            let inverted = segment.inverted_index(view.fields.text[field as usize])?;
            let mut terms = inverted.terms().range().ge(beginning.as_bytes()).into_stream()?;
            let mut n_looked_at = 0;
            while terms.advance() && terms.key().starts_with(beginning.as_bytes()) && n_looked_at < MOST_LOOKED_AT {
                n_looked_at += 1;
                if let Ok(term) = std::str::from_utf8(terms.key()) {
                    let n_documents = u64::from(terms.value().doc_freq);
                    *found.entry(term.to_owned()).or_default() += n_documents;
                }
            }
        }
    }
    Ok(found.into_iter().collect())
}

impl IndexView {
    /// In how many documents a word is, at least: where it is most frequent.
    fn document_frequency(&self, term: &str) -> tantivy::Result<u64> {
        let mut most = 0;
        for field in self.fields.text {
            most = most.max(self.searcher.doc_freq(&Term::from_field_text(field, term))?);
        }
        Ok(most)
    }

    fn idf(&self, terms: &[String]) -> tantivy::Result<f32> {
        let mut most = 0;
        for term in terms {
            most = most.max(self.document_frequency(term)?);
        }
        Ok(idf(most, self.n_documents()))
    }
}

/// As Lucene has it: never negative.
fn idf(n_with_it: u64, n_documents: u64) -> f32 {
    let (with_it, all) = (n_with_it as f32, n_documents.max(n_with_it) as f32);
    (1.0 + (all - with_it + 0.5) / (with_it + 0.5)).ln()
}
