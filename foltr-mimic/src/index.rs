//! Which documents does BM25 find? An inverted index in memory or in a folder, with the documents in it.
//!
//! BM25 is that of `RWJHG94`, with an idf that is never negative (spec section 16.2).
//!
//! Postings, dictionary and stored documents are tantivy's; scores are not. Tantivy keeps document lengths in one byte:
//! exact up to 40 terms, rounded down by up to a ninth above. Its scores differ from the exact ones by 1 % on average
//! and 7 % at most on Cranfield and NFCorpus, and its first twenty for 220 of 225 and 235 of 325 queries; MAP is off by
//! less than .001. It also adds a document's terms in an order that depends on other documents. Here lengths are exact
//! and terms are added in the order of the query: equal documents have equal scores, however many are asked for.

mod error;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use tantivy::indexer::NoMergePolicy;
use tantivy::postings::Postings;
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::tokenizer::PreTokenizedString;
use tantivy::{DocAddress, DocSet, Index, IndexWriter, Searcher, TERMINATED, TantivyDocument, Term};

pub use error::IndexError;

use crate::analyser::{Analyser, AnalyserSettings};
use crate::collection::Document;
use crate::vocabulary::idf;

/// How soon more occurrences of a term count less.
const K1: f64 = 1.2;
/// How much a document's length counts.
const B: f64 = 0.75;
/// The analyser's settings are in this file of an index's folder.
const SETTINGS: &str = "analyser.json";
/// What the writer may keep in memory.
const WRITER_BYTES: usize = 100_000_000;

/// An index of documents, which are numbered by their positions in the collection.
pub struct TextIndex {
    analyser: Analyser,
    fields: Fields,
    searcher: Searcher,
    /// For each segment, the number of each of its documents.
    numbers: Vec<Vec<u32>>,
    /// Where each document is stored.
    addresses: Vec<DocAddress>,
    /// K1 (1 - B + B length / average length) of each document.
    saturations: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Fields {
    id: Field,
    title: Field,
    text: Field,
    terms: Field,
    number: Field,
    length: Field,
}

impl Fields {
    const NAMES: [&str; 6] = ["id", "title", "text", "terms", "number", "length"];

    fn schema() -> Schema {
        let mut schema = Schema::builder();
        for name in &Self::NAMES[..3] {
            schema.add_text_field(name, STORED);
        }
        let indexing = TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqs);
        schema.add_text_field("terms", TextOptions::default().set_indexing_options(indexing.set_fieldnorms(false)));
        schema.add_u64_field("number", FAST);
        schema.add_u64_field("length", FAST);
        schema.build()
    }

    fn of(schema: &Schema) -> Result<Self, tantivy::TantivyError> {
        let [id, title, text, terms, number, length] = Self::NAMES.map(|name| schema.get_field(name));
        Ok(Self { id: id?, title: title?, text: text?, terms: terms?, number: number?, length: length? })
    }
}

impl TextIndex {
    /// An index in memory.
    pub fn in_memory(documents: &[Document], settings: AnalyserSettings) -> Result<Self, IndexError> {
        let index = Index::create_in_ram(Fields::schema());
        Self::fill(&index, (0..).zip(documents), &Analyser::new(settings))
            .map_err(IndexError::engine("an index in memory"))?;
        Self::over(&index, settings).map_err(IndexError::engine("an index in memory"))
    }

    /// An index in a folder, which is made if it is not there.
    pub fn create(folder: &Path, documents: &[Document], settings: AnalyserSettings) -> Result<Self, IndexError> {
        if folder.join(SETTINGS).exists() {
            return Err(IndexError::Exists { folder: folder.into() });
        }
        fs::create_dir_all(folder).map_err(IndexError::write(folder))?;
        let index = Index::create_in_dir(folder, Fields::schema()).map_err(IndexError::engine(folder.display()))?;
        Self::fill(&index, (0..).zip(documents), &Analyser::new(settings))
            .map_err(IndexError::engine(folder.display()))?;
        let file = folder.join(SETTINGS);
        let text = serde_json::to_string(&settings).expect("two switches are JSON");
        fs::write(&file, text).map_err(IndexError::write(&file))?;
        Self::over(&index, settings).map_err(IndexError::engine(folder.display()))
    }

    /// The index in a folder.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        let file = folder.join(SETTINGS);
        let text = fs::read_to_string(&file).map_err(|source| IndexError::NoIndex { folder: folder.into(), source })?;
        let settings = serde_json::from_str(&text).map_err(|source| IndexError::Settings { file, source })?;
        let index = Index::open_in_dir(folder).map_err(IndexError::engine(folder.display()))?;
        Self::over(&index, settings).map_err(IndexError::engine(folder.display()))
    }

    /// Adds documents with their numbers. They may come in several goes, and in any order.
    fn fill<'a>(
        index: &Index,
        documents: impl Iterator<Item = (u64, &'a Document)>,
        analyser: &Analyser,
    ) -> tantivy::Result<()> {
        let fields = Fields::of(&index.schema())?;
        let mut writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for (number, document) in documents {
            let tokens = analyser.tokens(&document.content());
            let mut stored = TantivyDocument::default();
            stored.add_text(fields.id, &document.id);
            stored.add_text(fields.title, &document.title);
            stored.add_text(fields.text, &document.text);
            stored.add_u64(fields.number, number);
            stored.add_u64(fields.length, tokens.len() as u64);
            stored.add_pre_tokenized_text(fields.terms, PreTokenizedString { text: String::new(), tokens });
            writer.add_document(stored)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()
    }

    fn over(index: &Index, settings: AnalyserSettings) -> tantivy::Result<Self> {
        let fields = Fields::of(&index.schema())?;
        let searcher = index.reader()?.searcher();
        let n_documents = searcher.num_docs() as usize;
        let mut numbers = Vec::new();
        let mut addresses = vec![DocAddress::new(0, 0); n_documents];
        let mut lengths = vec![0; n_documents];
        for (segment_idx, segment) in (0..).zip(searcher.segment_readers()) {
            let number_column = segment.fast_fields().u64("number")?;
            let length_column = segment.fast_fields().u64("length")?;
            let mut numbers_here = Vec::new();
            for place in 0..segment.max_doc() {
                let number = number_column.first(place).unwrap_or_default() as u32;
                if number as usize >= n_documents {
                    let message = format!("document {number} of {n_documents}: some of the index is missing");
                    return Err(tantivy::TantivyError::InternalError(message));
                }
                addresses[number as usize] = DocAddress::new(segment_idx, place);
                lengths[number as usize] = length_column.first(place).unwrap_or_default();
                numbers_here.push(number);
            }
            numbers.push(numbers_here);
        }
        let average = lengths.iter().sum::<u64>() as f64 / n_documents as f64;
        let saturation = |&length: &u64| K1 * (1.0 - B + B * length as f64 / average);
        let saturations = lengths.iter().map(saturation).collect();
        Ok(Self { analyser: Analyser::new(settings), fields, searcher, numbers, addresses, saturations })
    }

    /// How its texts became terms; queries and networks must do the same.
    pub fn analyser(&self) -> &Analyser {
        &self.analyser
    }

    /// Number of documents.
    pub fn n_documents(&self) -> usize {
        self.addresses.len()
    }

    /// A document by its number.
    pub fn document(&self, number: u32) -> Result<Document, IndexError> {
        let address = self.addresses[number as usize];
        let stored: TantivyDocument = self.searcher.doc(address).map_err(IndexError::engine("a stored document"))?;
        let value = |field| stored.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let Fields { id, title, text, .. } = self.fields;
        Ok(Document { id: value(id), title: value(title), text: value(text) })
    }

    /// The best `k` documents that have a term of the query, with their scores; of equal scores the lower number first.
    pub fn search(&self, query: &str, k: usize) -> Result<Vec<(u32, f32)>, IndexError> {
        let scores = self.scores(query)?;
        let mut found: Vec<(u32, f32)> = (0..).zip(scores).filter(|&(_, score)| score > 0.0).collect();
        let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if k < found.len() {
            found.select_nth_unstable_by(k, by_score);
            found.truncate(k);
        }
        found.sort_unstable_by(by_score);
        Ok(found)
    }

    /// Scores of given documents; 0 where none of the query's terms occurs.
    pub fn score(&self, query: &str, documents: &[u32]) -> Result<Vec<f32>, IndexError> {
        let scores = self.scores(query)?;
        Ok(documents.iter().map(|&document| scores[document as usize]).collect())
    }

    /// BM25 of every document; a term counts as often as the query has it.
    pub fn scores(&self, query: &str) -> Result<Vec<f32>, IndexError> {
        let mut scores = vec![0.0; self.n_documents()];
        for term in self.analyser.terms(query) {
            self.add_scores(&term, &mut scores).map_err(IndexError::engine("postings"))?;
        }
        Ok(scores.into_iter().map(|score| score as f32).collect())
    }

    /// Adds idf (K1 + 1) tf / (tf + saturation) to each document with the term (spec section 16.2).
    fn add_scores(&self, term: &str, scores: &mut [f64]) -> tantivy::Result<()> {
        let term = Term::from_field_text(self.fields.terms, term);
        let weight = (K1 + 1.0) * idf(self.searcher.doc_freq(&term)?, self.n_documents() as u64);
        for (segment, numbers) in self.searcher.segment_readers().iter().zip(&self.numbers) {
            let postings = segment.inverted_index(self.fields.terms)?;
            let Some(mut posting) = postings.read_postings(&term, IndexRecordOption::WithFreqs)? else { continue };
            while posting.doc() != TERMINATED {
                let number = numbers[posting.doc() as usize] as usize;
                let occurrences = f64::from(posting.term_freq());
                scores[number] += weight * occurrences / (occurrences + self.saturations[number]);
                posting.advance();
            }
        }
        Ok(())
    }
}
