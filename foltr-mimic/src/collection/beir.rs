//! BEIR: documents and queries as lines of JSON, judgements as tables with a header.
//!
//! `TRR21` Thakur, Reimers, Rücklé, Srivastava, Gurevych: *BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of
//! Information Retrieval Models*, 2021.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::{At, CollectionError, Expected};
use super::source::{entries, squeezed};
use super::{Document, Gathered, Query};

/// A line of a corpus or of queries.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: Name,
    #[serde(default)]
    title: Option<String>,
    text: String,
}

/// Some publishers write numbers without quotation marks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Number(i64),
}

impl Name {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

fn plain_or_compressed(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// The file of documents, if the folder has one.
pub fn corpus_file(folder: &Path) -> Option<PathBuf> {
    plain_or_compressed(folder, "corpus.jsonl")
}

/// Documents, and queries and judgements where they are there.
pub fn read(folder: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    let missing = || CollectionError::Missing { folder: folder.into(), missing: "file `corpus.jsonl`".to_owned() };
    let corpus = corpus_file(folder).ok_or_else(missing)?;
    parse_corpus(&gathered.text(&corpus)?, &corpus, gathered)?;
    if let Some(queries) = plain_or_compressed(folder, "queries.jsonl") {
        parse_queries(&gathered.text(&queries)?, &queries, gathered)?;
    }
    let qrels = folder.join("qrels");
    for file in if qrels.is_dir() { entries(&qrels)? } else { Vec::new() } {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".tsv") {
            Some(part) => parse_judgements(&gathered.text(&file)?, &file, part, gathered)?,
            None => gathered.ignore(&file),
        }
    }
    Ok(())
}

fn parse_entries<'a>(
    text: &'a str,
    file: &'a Path,
) -> impl Iterator<Item = Result<(At<'a>, Entry), CollectionError>> + 'a {
    let lines = (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty());
    lines.map(move |(line, content)| {
        let at = At { file, line };
        match serde_json::from_str(content) {
            Ok(entry) => Ok((at, entry)),
            Err(error) => Err(at.found(content, Expected::Json(error.to_string()))),
        }
    })
}

/// Documents, one a line.
pub fn parse_corpus(text: &str, file: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for line in parse_entries(text, file) {
        let (at, entry) = line?;
        let (title, text) = (squeezed(&entry.title.unwrap_or_default()), squeezed(&entry.text));
        gathered.add_document(Document { id: entry.id.into_text(), title, text }, at)?;
    }
    Ok(())
}

fn parse_queries(text: &str, file: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for line in parse_entries(text, file) {
        let (at, entry) = line?;
        gathered.add_query(Query { id: entry.id.into_text(), text: squeezed(&entry.text), part: None }, at)?;
    }
    Ok(())
}

/// Judgements of a part, one a line behind a header.
pub fn parse_judgements(text: &str, file: &Path, part: &str, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for (line, content) in (1..).zip(text.lines()) {
        let is_header = line == 1 && content.contains("query-id");
        if is_header || content.trim().is_empty() {
            continue;
        }
        let at = At { file, line };
        let columns: Vec<&str> = content.split('\t').map(str::trim).collect();
        let [query, document, grade] = columns[..] else {
            return Err(at.found(content, Expected::TabbedJudgement));
        };
        gathered.add_judgement(query, document, grade, at)?;
        gathered.set_part(query, part);
    }
    Ok(())
}
