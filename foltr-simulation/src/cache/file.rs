//! The cache file, byte by byte: header, index, padding, features.
//!
//! ```text
//! 0    8   magic "FOLTRds1"
//! 8    80  ten 64-bit numbers: byte order mark, source hash (low, high), features, floats in a row, documents, queries,
//!          bytes of query ids, where the features begin, length of the file
//! 88   8   XXH3 of everything before the features but these eight bytes
//! 96       offsets of queries (u32, one more than queries), ends of query ids (u32), query ids, labels (u8),
//!          XXH3 of each block of features (u64)
//! n        features (f32), from a multiple of 4096 on
//! ```
//!
//! Opening checks lengths, the checksum of header and index, and the checksums of [`N_CHECKED_BLOCKS`] blocks spread
//! over the features: all of them up to 32 MiB, a bounded number beyond, so that opening stays a matter of milliseconds.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use foltr_rank::row_stride;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::dataset::{Dataset, FeatureRows};
use crate::mapping::MappedFile;

/// Part of every file's name: files of another version are never looked at.
pub(super) const FORMAT_VERSION: u32 = 1;

/// What the names of unfinished files begin with.
pub(super) const UNFINISHED: &str = ".writing";

const MAGIC: &[u8; 8] = b"FOLTRds1";
const BYTE_ORDER: u64 = 0x0102_0304_0506_0708;
const N_FIELDS: usize = 10;
const HEADER_BYTES: usize = 8 + 8 * N_FIELDS;
const INDEX_START: usize = HEADER_BYTES + 8;
const PAGE: usize = 4096;
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// Blocks of features whose checksum is checked on opening.
const N_CHECKED_BLOCKS: usize = 32;

/// Writes a file under a temporary name in the same folder, then renames it. Creates the folder if need be.
pub(super) fn replace_file(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Readable by those who share the data; the default would be private.
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    let mut file = builder.prefix(UNFINISHED).tempfile_in(folder)?;
    write(file.as_file_mut())?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|refused| refused.error)?;
    Ok(())
}

pub(super) fn write_cache_file(path: &Path, source_hash: u128, data: &Dataset) -> io::Result<()> {
    let features: &[u8] = bytemuck::cast_slice(data.rows());
    let index = Index {
        n_features: data.n_features(),
        query_start: data.query_start().to_vec(),
        query_ids: (0..data.n_queries()).map(|query_idx| data.query_id(query_idx).into()).collect(),
        labels: data.all_labels().to_vec(),
        checksums: features.chunks(BLOCK_BYTES).map(xxh3_64).collect(),
    };
    index.write(path, source_hash, |file| file.write_all(features))
}

/// Everything of a cache file but the features.
#[derive(Default)]
pub(super) struct Index {
    pub(super) n_features: usize,
    pub(super) query_start: Vec<u32>,
    pub(super) query_ids: Vec<Box<str>>,
    pub(super) labels: Vec<u8>,
    /// Of each block of features.
    pub(super) checksums: Vec<u64>,
}

impl Index {
    /// Writes the file; `write_features` appends the features.
    pub(super) fn write(
        &self,
        path: &Path,
        source_hash: u128,
        write_features: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (index, n_id_bytes) = self.bytes()?;
        let stride = row_stride(self.n_features);
        let features_start = INDEX_START + index.len();
        let fields: [u64; N_FIELDS] = [
            BYTE_ORDER,
            source_hash as u64,
            (source_hash >> 64) as u64,
            self.n_features as u64,
            stride as u64,
            self.labels.len() as u64,
            self.query_ids.len() as u64,
            n_id_bytes,
            features_start as u64,
            (features_start + self.labels.len() * stride * size_of::<f32>()) as u64,
        ];
        let mut header = MAGIC.to_vec();
        header.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
        header.extend(checksum(&header, &index).to_ne_bytes());
        replace_file(path, |file| {
            file.write_all(&header)?;
            file.write_all(&index)?;
            write_features(file)
        })
    }

    /// The bytes between header and features, padded to a page, and how many of them are query ids.
    fn bytes(&self) -> io::Result<(Vec<u8>, u64)> {
        let mut index: Vec<u8> = bytemuck::cast_slice(&self.query_start).to_vec();
        let mut id_end = 0u32;
        for id in &self.query_ids {
            let id_len = u32::try_from(id.len()).ok();
            id_end = id_len.and_then(|len| id_end.checked_add(len)).ok_or(io::ErrorKind::InvalidInput)?;
            index.extend(id_end.to_ne_bytes());
        }
        self.query_ids.iter().for_each(|id| index.extend(id.as_bytes()));
        index.extend(&self.labels);
        index.extend(self.checksums.iter().flat_map(|sum| sum.to_ne_bytes()));
        let features_start = (INDEX_START + index.len()).next_multiple_of(PAGE);
        index.resize(features_start - INDEX_START, 0);
        Ok((index, u64::from(id_end)))
    }
}

fn checksum(header: &[u8], index: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(index);
    hash.digest()
}

/// The data set in a cache file, or `None` if the file is absent, damaged, or made from another source.
pub(super) fn open_cache_file(path: &Path, source_hash: u128) -> Option<Dataset> {
    let map = MappedFile::open(&File::open(path).ok()?).ok()?;
    let bytes = map.bytes();
    let header = bytes.get(..HEADER_BYTES)?;
    let field = |i: usize| u64::from_ne_bytes(header[8 + 8 * i..16 + 8 * i].try_into().expect("eight bytes"));
    let size = |i: usize| usize::try_from(field(i)).ok();
    let (n_features, stride, n_docs, n_queries, n_id_bytes) = (size(3)?, size(4)?, size(5)?, size(6)?, size(7)?);
    let (features_start, file_len) = (size(8)?, size(9)?);
    let is_ours = header.starts_with(MAGIC) && field(0) == BYTE_ORDER;
    let is_same = field(1) == source_hash as u64 && field(2) == (source_hash >> 64) as u64;
    let is_whole = bytes.len() == file_len && features_start.is_multiple_of(PAGE) && features_start >= INDEX_START;
    if !is_ours || !is_same || !is_whole || stride != n_features.checked_next_multiple_of(foltr_rank::query::LANES)? {
        return None;
    }
    let index = bytes.get(INDEX_START..features_start)?;
    if checksum(header, index).to_ne_bytes() != bytes[HEADER_BYTES..INDEX_START] {
        return None;
    }
    let n_feature_bytes = n_docs.checked_mul(stride)?.checked_mul(size_of::<f32>())?;
    if file_len - features_start != n_feature_bytes {
        return None;
    }
    let mut rest = index;
    let query_start = take_numbers(&mut rest, n_queries.checked_add(1)?)?;
    let id_ends = take_numbers(&mut rest, n_queries)?;
    let query_ids = split_ids(rest.split_off(..n_id_bytes)?, &id_ends)?;
    let labels = rest.split_off(..n_docs)?.to_vec();
    check_blocks(&bytes[features_start..], rest)?;
    let rows = FeatureRows::Mapped { file: Arc::new(map), start: features_start, len: n_feature_bytes };
    Dataset::from_rows(n_features, rows, labels, query_start, query_ids).ok()
}

fn take_numbers(rest: &mut &[u8], count: usize) -> Option<Vec<u32>> {
    let taken = rest.split_off(..count.checked_mul(size_of::<u32>())?)?;
    Some(taken.chunks_exact(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes"))).collect())
}

fn split_ids(text: &[u8], ends: &[u32]) -> Option<Vec<Box<str>>> {
    let text = std::str::from_utf8(text).ok()?;
    let starts = [0].into_iter().chain(ends.iter().copied());
    starts.zip(ends).map(|(start, &end)| text.get(start as usize..end as usize).map(Into::into)).collect()
}

/// Compares blocks of features with their checksums: the first, the last and others evenly between.
fn check_blocks(features: &[u8], checksums: &[u8]) -> Option<()> {
    let n_blocks = features.len().div_ceil(BLOCK_BYTES);
    let n_checked = n_blocks.min(N_CHECKED_BLOCKS);
    for i in 0..n_checked {
        let block = if n_checked < 2 { 0 } else { i * (n_blocks - 1) / (n_checked - 1) };
        let bytes = &features[block * BLOCK_BYTES..((block + 1) * BLOCK_BYTES).min(features.len())];
        if checksums.get(8 * block..8 * block + 8)? != xxh3_64(bytes).to_ne_bytes() {
            return None;
        }
    }
    Some(())
}
