//! Which documents, queries and judgements are there? Read from TREC, BEIR and NFCorpus files, or a folder of texts.

mod beir;
mod error;
mod folder;
mod gather;
mod nfcorpus;
mod notes;
mod source;
#[cfg(test)]
mod tests;
mod trec;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use beir::{parse_corpus as parse_beir_corpus, parse_judgements as parse_beir_judgements};
pub use error::{CollectionError, Expected};
pub use gather::Gathered;
pub use nfcorpus::{parse_documents as parse_nfcorpus_documents, parse_queries as parse_tabbed_queries};
pub use notes::{Notes, Unknown};
pub(crate) use source::read_text;
pub use trec::{
    parse_documents as parse_trec_documents, parse_judgements as parse_trec_judgements,
    parse_topics as parse_trec_topics,
};

/// A text that can be found. White space is single spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its name in the collection's files.
    pub id: String,
    /// Its title; empty if it has none.
    pub title: String,
    /// Its text. Some collections repeat the title at its beginning.
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

/// What somebody searches for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Its name in the collection's files.
    pub id: String,
    /// What was typed.
    pub text: String,
    /// The part of the collection it belongs to (`train`, `dev`, `test`), where there are parts.
    pub part: Option<String>,
}

/// How relevant a document is for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Number of the query: its position in the collection.
    pub query: u32,
    /// Number of the document.
    pub document: u32,
    /// 0 is not relevant; at most [`MAX_GRADE`].
    pub grade: u8,
}

/// Grades above this one would not be exact as exponential gains.
pub const MAX_GRADE: u8 = 31;

/// Documents, queries and judgements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// All documents.
    pub documents: Vec<Document>,
    /// All queries.
    pub queries: Vec<Query>,
    /// All judgements, by query and document, each pair once.
    pub judgements: Vec<Judged>,
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

/// What judgements call a topic of a TREC file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TopicIds {
    /// Its `<num>`.
    Numbered,
    /// Its position in the file, from 1, as the judgements of Cranfield do.
    Positions,
}

/// How a collection is read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// The form; detected where it is not said ([`Form::detect`]).
    pub form: Option<Form>,
    /// What judgements call a topic; where it is not said, positions if some judged name is no number of a topic, but
    /// all of them are positions.
    pub topic_ids: Option<TopicIds>,
    /// Which queries of NFCorpus: `titles` are the only ones that all judged queries have.
    pub query_kind: String,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { form: None, topic_ids: None, query_kind: "titles".to_owned() }
    }
}

impl Form {
    /// The form of a folder: BEIR if it has `corpus.jsonl`, NFCorpus if a folder in it has a `*.qrel` file, TREC if a
    /// file anywhere in it has `<doc>` in its first four kilobytes, texts otherwise.
    pub fn detect(folder: &Path) -> Result<Self, CollectionError> {
        if beir::corpus_file(folder).is_some() {
            return Ok(Self::Beir);
        }
        if !nfcorpus::parts(folder)?.is_empty() {
            return Ok(Self::Nfcorpus);
        }
        let is_trec = trec::has_documents(&source::files_below(folder)?)?;
        Ok(if is_trec { Self::Trec } else { Self::Folder })
    }
}

impl Collection {
    /// The collection in a folder, and what is worth knowing about its files.
    pub fn read(folder: &Path, options: &ReadOptions) -> Result<(Self, Notes), CollectionError> {
        let form = match options.form {
            Some(form) => form,
            None => Form::detect(folder)?,
        };
        let mut gathered = Gathered::default();
        match form {
            Form::Trec => trec::read(folder, &mut gathered)?,
            Form::Beir => beir::read(folder, &mut gathered)?,
            Form::Nfcorpus => nfcorpus::read(folder, &options.query_kind, &mut gathered)?,
            Form::Folder => folder::read(folder, &mut gathered)?,
        }
        gathered.finish(folder, form, options.topic_ids)
    }
}
