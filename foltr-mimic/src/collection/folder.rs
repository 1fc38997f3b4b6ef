//! A folder of text files: each is a document, named by its path, with its first line as title.

use std::path::Path;

use super::source::{Location, files_below, single_spaced};
use super::{CollectionBuilder, Document};
use crate::FileError;

/// Reads all files that are text: those with a zero byte are not, and are noted.
pub(super) fn read(folder: &Path, builder: &mut CollectionBuilder) -> Result<(), FileError> {
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
