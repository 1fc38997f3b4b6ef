//! Which files are there, and what text is in them?

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::FileError;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A line of a file, for errors.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    pub file: &'a Path,
    pub line: usize,
}

impl Location<'_> {
    pub fn error(self, message: String) -> FileError {
        FileError { file: self.file.into(), line: Some(self.line), message }
    }

    /// Something else was expected here; of a long text only the beginning is shown.
    pub fn unexpected(self, found: &str, expected: &str) -> FileError {
        const LONGEST: usize = 60;
        let mut beginning: String = found.chars().take(LONGEST).collect();
        if beginning.len() < found.len() {
            beginning.push_str("...");
        }
        self.error(format!("found `{beginning}`, expected {expected}"))
    }
}

pub fn lines<'a>(text: &'a str, file: &'a Path) -> impl Iterator<Item = (Location<'a>, &'a str)> {
    let numbered = (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty());
    numbered.map(move |(line, content)| (Location { file, line }, content))
}

/// The decompressed text of a file, and whether it had to be read as Latin-1: old collections are, and any bytes are.
pub fn read_text(file: &Path) -> Result<(String, bool), FileError> {
    let mut bytes = fs::read(file).map_err(FileError::io(file, "read"))?;
    if bytes.starts_with(&GZIP) {
        let compressed = std::mem::take(&mut bytes);
        MultiGzDecoder::new(compressed.as_slice()).read_to_end(&mut bytes).map_err(FileError::io(file, "read"))?;
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (error.as_bytes().iter().map(|&byte| char::from(byte)).collect(), true),
    })
}

/// The beginning of a file, decompressed: enough to see what it is.
pub fn beginning(file: &Path) -> Result<String, FileError> {
    const LONGEST: u64 = 4096;
    let mut raw = Vec::new();
    let opened = fs::File::open(file).map_err(FileError::io(file, "read"))?;
    opened.take(LONGEST).read_to_end(&mut raw).map_err(FileError::io(file, "read"))?;
    if raw.starts_with(&GZIP) {
        let mut bytes = Vec::new();
        // The compressed beginning is cut off, so an error at its end is no surprise.
        let _ = MultiGzDecoder::new(raw.as_slice()).take(LONGEST).read_to_end(&mut bytes);
        raw = bytes;
    }
    Ok(String::from_utf8_lossy(&raw).into_owned())
}

/// Entries of a folder by name, without hidden ones.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::io(folder, "read"))? {
        let entry = entry.map_err(FileError::io(folder, "read"))?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// All files below a folder by path, without hidden ones; links to folders are not followed, so there is an end.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        match path.is_dir() {
            true if path.is_symlink() => {}
            true => files.extend(files_below(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}

/// Text with single spaces for all white space.
pub fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
