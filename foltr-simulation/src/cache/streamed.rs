//! LETOR files that do not fit into memory: one pass over the text writes a cache file for each part of it.
//!
//! The parts are mapped afterwards, so only the pages in use are in memory. Unlike smaller files, these need the cache:
//! where none may be kept, it lives in files without a name until the program ends.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use foltr_rank::{normalise_rows, row_stride};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::file::{BLOCK_BYTES, FORMAT_VERSION, Index, open_cache_file};
use super::{Cache, CachedSource, data_file_name};
use crate::dataset::Dataset;
use crate::letor::{self, LetorError, ReadOptions, StreamedQuery, ZstdReader, stream_letor};

pub(crate) struct Streamed<'a> {
    pub(crate) path: &'a Path,
    pub(crate) options: &'a ReadOptions,
    pub(crate) normalise: bool,
    pub(crate) cache: &'a Cache,
    pub(crate) n_parts: usize,
    /// A hash of everything that decides which query is in which part.
    pub(crate) selection: u64,
}

/// The parts of a file; `part_of` says where a query belongs, if anywhere. Queries keep the order of the file.
pub(crate) fn load_streamed<E: From<LetorError>>(
    source: &Streamed<'_>,
    part_of: impl FnMut(&str) -> Result<Option<usize>, E>,
) -> Result<Vec<Dataset>, E> {
    let read_error = |error| LetorError::Read { file: source.path.into(), source: error };
    let cached = CachedSource::new(source.path, source.cache).map_err(read_error)?;
    let open = |hash| source.open(cached.folder?, hash);
    if let Some(parts) = cached.trusted_hash().and_then(open) {
        return Ok(parts);
    }
    let temporary = tempfile::tempdir().map_err(read_error)?;
    let (folder, growing) = source.first_writable(cached.folder, temporary.path())?;
    let hash = source.convert(&folder, growing, part_of)?;
    let parts = source.open(&folder, hash);
    if folder != temporary.path() {
        cached.remember(&folder, hash);
    }
    let lost = || io::Error::other("the cache file that was just written cannot be opened");
    Ok(parts.ok_or_else(|| LetorError::Store { folder, source: lost() })?)
}

impl Streamed<'_> {
    /// Everything that determines the contents is in the name.
    fn name(&self, hash: u128, part: usize) -> String {
        let whole = data_file_name(self.path, hash, self.options, self.normalise);
        let stem = whole.trim_end_matches(&format!(".foltr{FORMAT_VERSION}"));
        format!("{stem}-{:016x}-{part}.foltr{FORMAT_VERSION}", self.selection)
    }

    fn open(&self, folder: &Path, hash: u128) -> Option<Vec<Dataset>> {
        (0..self.n_parts).map(|part| open_cache_file(&folder.join(self.name(hash, part)), hash)).collect()
    }

    /// The cache folder, or the other one if it takes no files, and an empty file there for each part.
    fn first_writable(&self, cache: Option<&Path>, last: &Path) -> Result<(PathBuf, Vec<GrowingFile>), LetorError> {
        let begin = |folder: &Path| (0..self.n_parts).map(|_| GrowingFile::new(folder)).collect::<io::Result<Vec<_>>>();
        if let Some((folder, Ok(growing))) = cache.map(|folder| (folder, begin(folder))) {
            return Ok((folder.into(), growing));
        }
        let growing = begin(last).map_err(|source| LetorError::Store { folder: last.into(), source })?;
        Ok((last.into(), growing))
    }

    /// One pass over the file; returns the hash of its bytes.
    fn convert<E: From<LetorError>>(
        &self,
        folder: &Path,
        mut growing: Vec<GrowingFile>,
        mut part_of: impl FnMut(&str) -> Result<Option<usize>, E>,
    ) -> Result<u128, E> {
        let read_error = |source| LetorError::Read { file: self.path.into(), source };
        let store_error = |source| LetorError::Store { folder: folder.into(), source };
        let mut raw = Hashed { file: BufReader::new(File::open(self.path).map_err(read_error)?), hash: Xxh3::new() };
        let (mut normalised, mut width) = (Vec::new(), 1);
        let receive = |query: StreamedQuery<'_>| {
            width = query.n_features;
            let Some(part) = part_of(query.id)? else { return Ok::<(), E>(()) };
            if self.normalise {
                normalised.resize(query.rows.len(), 0.0);
                normalise_rows(query.rows, &mut normalised, row_stride(query.n_features));
            }
            let rows = if self.normalise { &normalised } else { query.rows };
            Ok(growing[part].push(&StreamedQuery { rows, ..query }).map_err(store_error)?)
        };
        let text: Box<dyn Read + '_> = match self.path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(&mut raw)),
            Some("zst") => Box::new(ZstdReader::new(BufReader::new(&mut raw))),
            _ => Box::new(&mut raw),
        };
        stream_letor(text, self.path, self.options, letor::BLOCK_BYTES, receive)?;
        // What a decoder leaves behind its end belongs to the file.
        io::copy(&mut raw, &mut io::sink()).map_err(read_error)?;
        let hash = raw.hash.digest128();
        for (part, file) in growing.into_iter().enumerate() {
            file.finish(&folder.join(self.name(hash, part)), hash, width).map_err(store_error)?;
        }
        Ok(hash)
    }
}

struct Hashed {
    file: BufReader<File>,
    hash: Xxh3,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.file.read(buffer)?;
        self.hash.update(&buffer[..n_bytes]);
        Ok(n_bytes)
    }
}

/// A cache file that is written query after query. The index comes first in a cache file but is known last: features wait
/// in a file without a name and are copied.
struct GrowingFile {
    features: File,
    /// Features that are not written yet: less than a block.
    block: Vec<u8>,
    index: Index,
}

impl GrowingFile {
    /// An empty one, whose features wait in this folder.
    fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let index = Index { query_start: vec![0], ..Index::default() };
        Ok(Self { features: tempfile::tempfile_in(folder)?, block: Vec::with_capacity(BLOCK_BYTES), index })
    }

    fn push(&mut self, query: &StreamedQuery<'_>) -> io::Result<()> {
        let index = &mut self.index;
        index.n_features = query.n_features;
        index.labels.extend_from_slice(query.labels);
        index.query_start.push(u32::try_from(index.labels.len()).map_err(|_| io::ErrorKind::FileTooLarge)?);
        index.query_ids.push(query.id.into());
        let mut bytes: &[u8] = bytemuck::cast_slice(query.rows);
        while !bytes.is_empty() {
            let n_bytes = bytes.len().min(BLOCK_BYTES - self.block.len());
            self.block.extend_from_slice(bytes.split_off(..n_bytes).expect("not more than there are"));
            if self.block.len() == BLOCK_BYTES {
                self.write_block()?;
            }
        }
        Ok(())
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.index.checksums.push(xxh3_64(&self.block));
        self.features.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Writes the cache file of a source with this hash. `n_features` is the width of a file without any query.
    fn finish(mut self, path: &Path, source_hash: u128, n_features: usize) -> io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.features.rewind()?;
        self.index.n_features = self.index.n_features.max(n_features);
        self.index.write(path, source_hash, |file| io::copy(&mut self.features, file).map(|_| ()))
    }
}
