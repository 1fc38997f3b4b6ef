//! NFCorpus as published: folders of parts, each with documents, several kinds of queries, and judgements.
//!
//! `BKR16` Boteva, Gholipour, Sokolov, Riezler: *A Full-Text Learning to Rank Dataset for Medical Information
//! Retrieval*, ECIR 2016.

use std::path::{Path, PathBuf};

use super::source::{Location, entries, lines, single_spaced};
use super::trec::parse_judgements;
use super::{CollectionBuilder, Document, Query};
use crate::FileError;

/// Titles are the only kind of queries that all judged queries have.
const QUERIES: &str = "q-titles.queries";

/// Folders with a file of judgements.
pub(super) fn parts(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut parts = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() && !files_ending(&path, ".qrel")?.is_empty() {
            parts.push(path);
        }
    }
    Ok(parts)
}

/// All parts as one collection; queries remember theirs.
pub(super) fn read(folder: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for part in parts(folder)? {
        let name = part.file_name().unwrap_or_default().to_string_lossy();
        // A part may have no text of its own: its documents are those of the other parts.
        for file in files_ending(&part, ".docs")? {
            builder.read(&file, parse_documents)?;
        }
        for file in files_ending(&part, ".qrel")? {
            builder.read(&file, parse_judgements)?;
        }
        let queries = part.join(QUERIES);
        if !queries.is_file() {
            return Err(FileError::new(&part, format!("has no file of queries `{QUERIES}`")));
        }
        builder.read(&queries, |text, file, builder| parse_queries(text, file, &name, builder))?;
    }
    Ok(())
}

fn files_ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, FileError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.to_string_lossy().ends_with(ending) && path.is_file());
    Ok(files)
}

fn name_and_text(at: Location, content: &str) -> Result<(String, String), FileError> {
    let columns = content.split_once('\t').map(|(id, text)| (id.trim().to_owned(), single_spaced(text)));
    columns.filter(|(id, _)| !id.is_empty()).ok_or_else(|| at.unexpected(content, "a name, a tab and a text"))
}

pub fn parse_documents(text: &str, file: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for (at, content) in lines(text, file) {
        let (id, text) = name_and_text(at, content)?;
        builder.add_document(Document { id, title: title(&text).to_owned(), text }, at)?;
    }
    Ok(())
}

pub fn parse_queries(text: &str, file: &Path, part: &str, builder: &mut CollectionBuilder) -> Result<(), FileError> {
    for (at, content) in lines(text, file) {
        let (id, text) = name_and_text(at, content)?;
        builder.add_query(Query { id, text, part: Some(part.to_owned()) }, at)?;
    }
    Ok(())
}

/// The texts are pages of PubMed in one line: the title ends where the site's name or the abstract begins.
fn title(text: &str) -> &str {
    let ends = [" pubmed ncbi", " abstract "].into_iter().filter_map(|end| text.find(end));
    ends.min().map_or("", |end| &text[..end])
}
