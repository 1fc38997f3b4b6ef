//! Which files are there, and what text is in them?

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::CollectionError;

/// Every gzip file begins with this.
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn failed(file: &Path) -> impl FnOnce(io::Error) -> CollectionError {
    let file = file.to_path_buf();
    move |source| CollectionError::Read { file, source }
}

/// What is in a file, decompressed.
pub fn read_bytes(file: &Path) -> Result<Vec<u8>, CollectionError> {
    let raw = fs::read(file).map_err(failed(file))?;
    if !raw.starts_with(&GZIP) {
        return Ok(raw);
    }
    let mut bytes = Vec::new();
    MultiGzDecoder::new(raw.as_slice()).read_to_end(&mut bytes).map_err(failed(file))?;
    Ok(bytes)
}

/// The text of a file, and whether it had to be read as Latin-1: old collections are, and any bytes are Latin-1.
pub fn read_text(file: &Path) -> Result<(String, bool), CollectionError> {
    Ok(decoded(read_bytes(file)?))
}

/// Bytes as UTF-8 if they are, as Latin-1 otherwise.
pub fn decoded(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (error.as_bytes().iter().map(|&byte| char::from(byte)).collect(), true),
    }
}

/// The beginning of a file, decompressed: enough to see what it is.
pub fn beginning(file: &Path) -> Result<String, CollectionError> {
    const LONGEST: u64 = 4096;
    let mut raw = Vec::new();
    let opened = fs::File::open(file).map_err(failed(file))?;
    opened.take(LONGEST).read_to_end(&mut raw).map_err(failed(file))?;
    if raw.starts_with(&GZIP) {
        let mut bytes = Vec::new();
        // The compressed beginning is cut off, so an error at its end is no surprise.
        let _ = MultiGzDecoder::new(raw.as_slice()).take(LONGEST).read_to_end(&mut bytes);
        raw = bytes;
    }
    Ok(String::from_utf8_lossy(&raw).into_owned())
}

/// Entries of a folder by name, without hidden ones.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, CollectionError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// All files below a folder by path, without hidden ones; links to folders are not followed, so there is an end.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, CollectionError> {
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
pub fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}
