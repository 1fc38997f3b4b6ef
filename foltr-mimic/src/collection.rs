//! Which documents, queries and judgements are there? Read from TREC, BEIR and NFCorpus files, or a folder of texts.

pub mod beir;
mod builder;
pub mod nfcorpus;
mod notes;
mod source;
#[cfg(test)]
mod tests;
pub mod trec;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::FileError;

pub use builder::CollectionBuilder;
pub use notes::{Notes, Unknown};
use source::{Location, files_below, single_spaced};
pub(crate) use source::{lines, read_text};

/// A text that can be found. White space is single spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub id: String,
    /// Empty if it has none.
    pub title: String,
    /// Some collections repeat the title at its beginning.
    pub text: String,
}

impl Document {
    /// Title and text, the title once.
    pub fn content(&self) -> String {
        match self.text.starts_with(&self.title) {
            true => self.text.clone(),
            false => format!("{} {}", self.title, self.text),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub id: String,
    pub text: String,
    /// The part of the collection it belongs to (`train`, `dev`, `test`), where there are parts.
    pub part: Option<String>,
}

/// How relevant a document is for a query, both by their positions in the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub query: u32,
    pub document: u32,
    /// 0 is not relevant; at most [`MAX_GRADE`].
    pub grade: u8,
}

/// Grades above this one would not be exact as exponential gains.
pub const MAX_GRADE: u8 = 31;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    pub documents: Vec<Document>,
    pub queries: Vec<Query>,
    /// By query and document, each pair once.
    pub judgements: Vec<Judgement>,
}

/// How a collection is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// SGML documents (`<doc>`), topics (`<top>`) and judgements (`query 0 document grade`), in any files.
    Trec,
    /// `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv`.
    Beir,
    /// Folders of parts, each with `d-*.docs`, `q-*.queries` and `*.qrel`.
    Nfcorpus,
    /// Files of text: documents only.
    Folder,
}

/// What a judgement of grade 0 says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ZeroGrade {
    /// The document is not relevant.
    #[default]
    NotRelevant,
    /// The document is relevant, as every judged one: of collections that list nothing else, and give 0 a meaning of its
    /// own.
    Relevant,
}

impl Form {
    /// The form of a folder: BEIR if it has `corpus.jsonl`, NFCorpus if a folder in it has a `*.qrel` file, TREC if a
    /// file anywhere in it has `<doc>` in its first four kilobytes, texts otherwise.
    pub fn detect(folder: &Path) -> Result<Self, FileError> {
        if beir::corpus_file(folder).is_some() {
            return Ok(Self::Beir);
        }
        if !nfcorpus::parts(folder)?.is_empty() {
            return Ok(Self::Nfcorpus);
        }
        let is_trec = trec::has_documents(&files_below(folder)?)?;
        Ok(if is_trec { Self::Trec } else { Self::Folder })
    }
}

impl Collection {
    /// Grades 1 for every judged document, if 0 says relevant, too. Says how many judgements change.
    pub fn read_grades(&mut self, zero: ZeroGrade) -> usize {
        if zero == ZeroGrade::NotRelevant {
            return 0;
        }
        let changed = self.judgements.iter_mut().filter(|judgement| judgement.grade != 1);
        changed.map(|judgement| judgement.grade = 1).count()
    }

    /// The collection in a folder, and what is worth knowing about its files. Without a form it is detected.
    pub fn read(folder: &Path, form: Option<Form>) -> Result<(Self, Notes), FileError> {
        let form = form.map_or_else(|| Form::detect(folder), Ok)?;
        let mut builder = CollectionBuilder::default();
        match form {
            Form::Trec => trec::read(folder, &mut builder)?,
            Form::Beir => beir::read(folder, &mut builder)?,
            Form::Nfcorpus => nfcorpus::read(folder, &mut builder)?,
            Form::Folder => read_texts(folder, &mut builder)?,
        }
        builder.finish(folder, form)
    }
}

/// A folder of text files: each is a document, named by its path, with its first line as title. Those with a zero byte
/// are no text, and are noted.
fn read_texts(folder: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for file in files_below(folder)? {
        builder.read(&file, |text, file, builder| {
            if text.contains('\0') {
                builder.ignore(file);
                return Ok(());
            }
            builder.add_document(document(folder, file, text), Location { file, line: 1 })
        })?;
    }
    Ok(())
}

fn document(folder: &Path, file: &Path, text: &str) -> Document {
    let relative = file.strip_prefix(folder).unwrap_or(file);
    // One name on every system.
    let id = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
    let title = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Document { id, title: single_spaced(title), text: single_spaced(text) }
}
