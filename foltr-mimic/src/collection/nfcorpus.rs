//! NFCorpus as published: folders of parts, each with documents, several kinds of queries, and judgements.
//!
//! `BKR16` Boteva, Gholipour, Sokolov, Riezler: *A Full-Text Learning to Rank Dataset for Medical Information
//! Retrieval*, ECIR 2016.

use std::path::{Path, PathBuf};

use super::error::{At, CollectionError, Expected};
use super::source::{entries, squeezed};
use super::trec::parse_judgements;
use super::{Document, Gathered, Query};

/// Folders with a file of judgements.
pub fn parts(folder: &Path) -> Result<Vec<PathBuf>, CollectionError> {
    let mut parts = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() && !files_ending(&path, ".qrel")?.is_empty() {
            parts.push(path);
        }
    }
    Ok(parts)
}

/// All parts as one collection; queries remember theirs.
pub fn read(folder: &Path, query_kind: &str, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for part in parts(folder)? {
        let name = part.file_name().unwrap_or_default().to_string_lossy();
        // A part may have no text of its own: its documents are those of the other parts.
        for file in files_ending(&part, ".docs")? {
            parse_documents(&gathered.text(&file)?, &file, gathered)?;
        }
        for file in files_ending(&part, ".qrel")? {
            parse_judgements(&gathered.text(&file)?, &file, gathered)?;
        }
        let queries = part.join(format!("q-{query_kind}.queries"));
        if !queries.is_file() {
            let missing = format!("file of queries `q-{query_kind}.queries`");
            return Err(CollectionError::Missing { folder: part, missing });
        }
        parse_queries(&gathered.text(&queries)?, &queries, Some(&name), gathered)?;
    }
    Ok(())
}

fn files_ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, CollectionError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.to_string_lossy().ends_with(ending) && path.is_file());
    Ok(files)
}

/// Lines of a name, a tab and a text.
fn tabbed<'a>(
    text: &'a str,
    file: &'a Path,
) -> impl Iterator<Item = Result<(At<'a>, &'a str, String), CollectionError>> + 'a {
    let lines = (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty());
    lines.map(move |(line, content)| {
        let at = At { file, line };
        let (id, text) = content.split_once('\t').ok_or_else(|| at.found(content, Expected::TabbedText))?;
        match id.trim() {
            "" => Err(at.found(content, Expected::TabbedText)),
            id => Ok((at, id, squeezed(text))),
        }
    })
}

/// Documents, one a line.
pub fn parse_documents(text: &str, file: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for line in tabbed(text, file) {
        let (at, id, text) = line?;
        gathered.add_document(Document { id: id.to_owned(), title: title(&text).to_owned(), text }, at)?;
    }
    Ok(())
}

/// Queries, one a line, of a part if there is one.
pub fn parse_queries(
    text: &str,
    file: &Path,
    part: Option<&str>,
    gathered: &mut Gathered,
) -> Result<(), CollectionError> {
    for line in tabbed(text, file) {
        let (at, id, text) = line?;
        gathered.add_query(Query { id: id.to_owned(), text, part: part.map(str::to_owned) }, at)?;
    }
    Ok(())
}

/// The texts are pages of PubMed in one line: the title ends where the site's name or the abstract begins.
fn title(text: &str) -> &str {
    let ends = [" pubmed ncbi", " abstract "].into_iter().filter_map(|end| text.find(end));
    ends.min().map_or("", |end| &text[..end])
}
