//! A folder of text files: each is a document, named by its path, with its first line as title.

use std::path::Path;

use super::error::{At, CollectionError};
use super::source::{files_below, squeezed};
use super::{Document, Gathered};

/// Reads all files that are text: those with a zero byte are not, and are noted.
pub fn read(folder: &Path, gathered: &mut Gathered) -> Result<(), CollectionError> {
    for file in files_below(folder)? {
        let text = gathered.text(&file)?;
        match text.contains('\0') {
            true => gathered.ignore(&file),
            false => gathered.add_document(document(folder, &file, &text), At { file: &file, line: 1 })?,
        }
    }
    Ok(())
}

fn document(folder: &Path, file: &Path, text: &str) -> Document {
    let relative = file.strip_prefix(folder).unwrap_or(file);
    // One name on every system.
    let id = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
    let title = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Document { id, title: squeezed(title), text: squeezed(text) }
}
