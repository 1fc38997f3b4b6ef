//! BEIR: documents and queries as lines of JSON, judgements as tables with a header.
//!
//! `TRR21` Thakur, Reimers, Rücklé, Srivastava, Gurevych: *BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of
//! Information Retrieval Models*, 2021.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::source::{Location, entries, lines, single_spaced};
use super::{CollectionBuilder, Document, Query};
use crate::FileError;

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: Id,
    #[serde(default)]
    title: Option<String>,
    text: String,
}

/// Some publishers write numbers without quotation marks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(i64),
}

impl Entry {
    fn parse(at: Location, content: &str) -> Result<Self, FileError> {
        let example = r#"an object such as `{"_id": "d1", "title": "", "text": "..."}`"#;
        serde_json::from_str(content).map_err(|error| at.unexpected(content, &format!("{example} ({error})")))
    }

    fn id(&self) -> String {
        match &self.id {
            Id::Text(text) => text.clone(),
            Id::Number(number) => number.to_string(),
        }
    }
}

fn plain_or_compressed(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

pub(super) fn corpus_file(folder: &Path) -> Option<PathBuf> {
    plain_or_compressed(folder, "corpus.jsonl")
}

/// Documents, and queries and judgements where they are there.
pub(super) fn read(folder: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    let corpus = corpus_file(folder).ok_or_else(|| FileError::new(folder, "has no file `corpus.jsonl`"))?;
    builder.read(&corpus, parse_corpus)?;
    if let Some(queries) = plain_or_compressed(folder, "queries.jsonl") {
        builder.read(&queries, parse_queries)?;
    }
    let qrels = folder.join("qrels");
    for file in if qrels.is_dir() { entries(&qrels)? } else { Vec::new() } {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".tsv") {
            Some(part) => builder.read(&file, |text, file, builder| parse_judgements(text, file, part, builder))?,
            None => builder.ignore(&file),
        }
    }
    Ok(())
}

pub fn parse_corpus(text: &str, file: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for (at, content) in lines(text, file) {
        let entry = Entry::parse(at, content)?;
        let title = single_spaced(entry.title.as_deref().unwrap_or_default());
        builder.add_document(Document { id: entry.id(), title, text: single_spaced(&entry.text) }, at)?;
    }
    Ok(())
}

pub fn parse_queries(text: &str, file: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for (at, content) in lines(text, file) {
        let entry = Entry::parse(at, content)?;
        builder.add_query(Query { id: entry.id(), text: single_spaced(&entry.text), part: None }, at)?;
    }
    Ok(())
}

/// Judgements of a part, one per line behind a header.
pub fn parse_judgements(text: &str, file: &Path, part: &str, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for (at, content) in lines(text, file).filter(|(at, content)| at.line > 1 || !content.contains("query-id")) {
        let columns: Vec<&str> = content.split('\t').map(str::trim).collect();
        let [query, document, grade] = columns[..] else {
            let expected = "a judgement of query, document and grade, with tabs between them";
            return Err(at.unexpected(content, expected));
        };
        builder.add_judgement(query, document, grade, at)?;
        builder.set_part(query, part);
    }
    Ok(())
}
