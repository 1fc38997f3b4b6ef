//! A cache file that is written query after query, for data that is never in memory as a whole.
//!
//! The index comes first in a cache file but is known last: features wait in a file without a name and are copied.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::file::{BLOCK_BYTES, Index};
use crate::letor::StreamedQuery;

pub(super) struct GrowingFile {
    features: File,
    /// Features that are not written yet: less than a block.
    block: Vec<u8>,
    index: Index,
}

impl GrowingFile {
    /// An empty one, whose features wait in this folder.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let index = Index {
            n_features: 0,
            query_start: vec![0],
            query_ids: Vec::new(),
            labels: Vec::new(),
            checksums: Vec::new(),
        };
        Ok(Self { features: tempfile::tempfile_in(folder)?, block: Vec::with_capacity(BLOCK_BYTES), index })
    }

    pub(super) fn push(&mut self, query: &StreamedQuery<'_>) -> io::Result<()> {
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
    pub(super) fn finish(mut self, path: &Path, source_hash: u128, n_features: usize) -> io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.features.rewind()?;
        self.index.n_features = self.index.n_features.max(n_features);
        self.index.write(path, source_hash, |file| io::copy(&mut self.features, file).map(|_| ()))
    }
}
