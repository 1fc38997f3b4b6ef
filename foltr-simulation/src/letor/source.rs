//! The bytes of a LETOR file: mapped as they are, or decompressed where the name ends in `.gz` or `.zst`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::{LetorError, ReadOptions, ZstdReader, parse_letor};
use crate::dataset::Dataset;
use crate::mapping::MappedFile;

pub(crate) enum SourceBytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

impl SourceBytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(file) => file.bytes(),
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Reads a LETOR file: plain text, gzip (`.gz`) or Zstandard (`.zst`). No cache is used; see [`crate::cache`].
pub fn read_letor(path: &Path, options: &ReadOptions) -> Result<Dataset, LetorError> {
    let read_error = |source| LetorError::Read { file: path.into(), source };
    let raw = source_bytes(path).map_err(read_error)?;
    let text = decompressed(raw, path).map_err(read_error)?;
    parse_letor(text.as_slice(), path, options)
}

/// Whether the last line of a file has no end, as if the file had been cut there: its last number may be a part of one.
/// Compressed files are not looked into; they are refused when they are not whole.
pub fn ends_in_mid_line(path: &Path) -> bool {
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz" || extension == "zst");
    let last_byte = || -> io::Result<u8> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    !is_compressed && last_byte().is_ok_and(|byte| byte != b'\n')
}

/// The file's bytes as they are on disk. Pipes and the like, which cannot be mapped, are read.
pub(crate) fn source_bytes(path: &Path) -> io::Result<SourceBytes> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_file()
        && let Ok(map) = MappedFile::open(&file)
    {
        return Ok(SourceBytes::Mapped(map));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(SourceBytes::Owned(bytes))
}

pub(crate) fn decompressed(raw: SourceBytes, path: &Path) -> io::Result<SourceBytes> {
    let mut text = Vec::new();
    match path.extension().and_then(|extension| extension.to_str()) {
        // Several gzip members one after the other are one text, as gzip itself has it.
        Some("gz") => flate2::read::MultiGzDecoder::new(raw.as_slice()).read_to_end(&mut text)?,
        Some("zst") => ZstdReader::new(raw.as_slice()).read_to_end(&mut text)?,
        _ => return Ok(raw),
    };
    Ok(SourceBytes::Owned(text))
}
