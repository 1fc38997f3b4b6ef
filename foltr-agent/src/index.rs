//! The words of all documents on the disk, by tantivy: which documents have them, where, and how often.

mod candidates;
mod matches;
mod query;
mod schema;
mod snippet;
mod words;

use std::ops::Bound;
use std::path::{Path, PathBuf};

use tantivy::query::RangeQuery;
use tantivy::schema::{Term, Value as _};
use tantivy::{DocAddress, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument};
use thiserror::Error;

pub use candidates::{Among, Candidate, Candidates};
pub use matches::{FieldMatch, Matches};
pub use query::{QueryWord, WordQuery};
pub use schema::{Field, N_FIELDS};

use crate::answer::{DocumentId, Filter, Fragment};
use crate::document::Kind;
use schema::Fields;

/// Memory of the writer; what does not fit goes to the disk earlier.
const WRITER_BYTES: usize = 40 << 20;

#[derive(Debug, Error)]
pub enum IndexError {
    #[error("the index {folder} cannot be used: {problem}; delete this folder to index all files again", folder = .folder.display())]
    Index { folder: PathBuf, problem: String },
}

/// A document as it goes into the index.
#[derive(Clone, Debug)]
pub struct IndexedDocument<'a> {
    pub id: DocumentId,
    pub title: &'a str,
    pub headings: &'a str,
    pub body: &'a str,
    /// The name of its file.
    pub name: &'a str,
    /// The folders above it.
    pub folders: &'a str,
    pub author: &'a str,
    pub kind: Kind,
    pub changed: i64,
}

pub struct TextIndex {
    folder: PathBuf,
    index: tantivy::Index,
    fields: Fields,
    reader: IndexReader,
    writer: Option<IndexWriter>,
}

impl TextIndex {
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        let wrong = |problem: String| IndexError::Index { folder: folder.to_owned(), problem };
        std::fs::create_dir_all(folder).map_err(|error| wrong(error.to_string()))?;
        let open = || -> tantivy::Result<Self> {
            let fields = Fields::new();
            let directory = tantivy::directory::MmapDirectory::open(folder)?;
            let index = tantivy::Index::open_or_create(directory, fields.schema.clone())?;
            index.tokenizers().register(words::ANALYSER, words::analyser());
            let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
            Ok(Self { folder: folder.to_owned(), index, fields, reader, writer: None })
        };
        open().map_err(|error| wrong(error.to_string()))
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> IndexError {
        IndexError::Index { folder: self.folder.clone(), problem: error.to_string() }
    }

    fn writer(&mut self) -> Result<&mut IndexWriter, IndexError> {
        if self.writer.is_none() {
            let made = self.index.writer_with_num_threads(1, WRITER_BYTES);
            self.writer = Some(made.map_err(|error| self.wrong(&error))?);
        }
        Ok(self.writer.as_mut().expect("it was made"))
    }

    /// A new document, or one that was removed. It is found after [`commit`](Self::commit).
    pub fn add(&mut self, document: &IndexedDocument<'_>) -> Result<(), IndexError> {
        let made = self.fields.document(document);
        let writer = self.writer()?;
        let added = writer.add_document(made).map(drop);
        added.map_err(|error| self.wrong(&error))
    }

    pub fn remove(&mut self, id: DocumentId) -> Result<(), IndexError> {
        let id = Term::from_field_u64(self.fields.id, id.0);
        self.writer()?.delete_term(id);
        Ok(())
    }

    /// What was added and removed is durable, and found. All documents so far have ids below `next`.
    pub fn commit(&mut self, next: DocumentId) -> Result<(), IndexError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut commit = || {
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&next.0.to_string());
            prepared.commit()?;
            self.reader.reload()
        };
        commit().map_err(|error| self.wrong(&error))
    }

    /// Removes documents of which the catalogue knows nothing: those of a batch that was committed here, and not there.
    pub fn forget_from(&mut self, next: DocumentId) -> Result<(), IndexError> {
        let payload = self.index.load_metas().map_err(|error| self.wrong(&error))?.payload;
        let committed: u64 = payload.and_then(|payload| payload.parse().ok()).unwrap_or(0);
        if committed > next.0 {
            let from = Bound::Included(Term::from_field_u64(self.fields.id, next.0));
            let query = Box::new(RangeQuery::new(from, Bound::Unbounded));
            let deleted = self.writer()?.delete_query(query).map(drop);
            deleted.map_err(|error| self.wrong(&error))?;
            self.commit(next)?;
            self.rest()?;
        }
        Ok(())
    }

    /// Gives the writer's memory back, when there is nothing to write for a while.
    pub fn rest(&mut self) -> Result<(), IndexError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.wait_merging_threads().map_err(|error| self.wrong(&error))?;
        self.reader.reload().map_err(|error| self.wrong(&error))
    }

    pub fn view(&self) -> IndexView {
        self.viewer().view()
    }

    pub fn viewer(&self) -> IndexViewer {
        IndexViewer { reader: self.reader.clone(), fields: self.fields.clone(), folder: self.folder.clone() }
    }
}

/// Looks at the index, also while it is written.
pub struct IndexViewer {
    reader: IndexReader,
    fields: Fields,
    folder: PathBuf,
}

impl IndexViewer {
    /// What was committed last.
    pub fn view(&self) -> IndexView {
        IndexView { searcher: self.reader.searcher(), fields: self.fields.clone(), folder: self.folder.clone() }
    }
}

/// The index as it was at one moment.
pub struct IndexView {
    searcher: Searcher,
    fields: Fields,
    folder: PathBuf,
}

impl IndexView {
    pub fn n_documents(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// The query that these words make. The last one may be the beginning of a word.
    pub fn query(&self, words: &str) -> Result<WordQuery, IndexError> {
        self.named(query::read(self, words))
    }

    /// The best documents by the sum of BM25 over fields, at most `most`, and how many have a word of the query.
    pub fn candidates(
        &self,
        query: &WordQuery,
        filter: &Filter,
        among: &Among,
        most: usize,
    ) -> Result<Candidates, IndexError> {
        self.named(candidates::find(self, query, filter, among, most))
    }

    /// Where the words are in these documents, in their order.
    pub fn matches(&self, query: &WordQuery, candidates: &[Candidate]) -> Result<Vec<Matches>, IndexError> {
        self.named(matches::find(self, query, candidates))
    }

    /// The passage of a document that matches best.
    pub fn snippet(&self, query: &WordQuery, candidate: &Candidate) -> Result<Vec<Fragment>, IndexError> {
        let body = self.body(candidate.address)?;
        Ok(snippet::best(&body, query))
    }

    fn body(&self, address: DocAddress) -> Result<String, IndexError> {
        let document: TantivyDocument = self.named(self.searcher.doc(address))?;
        let body = document.get_first(self.fields.body()).and_then(|value| value.as_str());
        Ok(body.unwrap_or_default().to_owned())
    }

    fn named<T>(&self, result: tantivy::Result<T>) -> Result<T, IndexError> {
        result.map_err(|error| IndexError::Index { folder: self.folder.clone(), problem: error.to_string() })
    }
}

#[cfg(test)]
mod tests;
