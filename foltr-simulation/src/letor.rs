//! Reads LETOR/SVMlight text, `label qid:Q f:v f:v ... # comment`, at the speed of memory (spec section 1.2).
//!
//! `QL13` Qin, Liu: *Introducing LETOR 4.0 Datasets*, 2013, describes the format.
//!
//! Feature indices count from 1 and may come in any order; missing features are 0; labels may be written as floats;
//! blank lines, comments and Windows line ends are fine. A query's lines need not be contiguous: they are appended to
//! the query, and queries keep the order in which they first appear.
//!
//! Deviations from the reference code: NaN and infinity are refused with file and line instead of read as 0, as are
//! repeated features on a line, fractional or negative labels, and labels above [`ReadOptions::max_label`].
//!
//! The text is cut into newline-aligned pieces of fixed size that are read in parallel, so the result does not depend
//! on the number of threads.

use std::collections::HashMap;
use std::path::Path;

use foltr_rank::row_stride;
use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use crate::dataset::{AlignedRows, Dataset};

use chunk::{Chunk, Fault, Limits, read_chunk};
pub use error::{Expected, LetorError};
pub use names::document_names;
pub(crate) use names::{Unnamed, read_names};
pub(crate) use source::{SourceBytes, decompressed, source_bytes};
pub use source::{ends_in_mid_line, read_letor};
pub(crate) use stream::{BLOCK_BYTES, StreamedQuery, stream_letor};
pub use write::{letor_text, write_letor};
pub(crate) use zstd::ZstdReader;

mod chunk;
mod error;
mod names;
mod number;
mod source;
mod stream;
mod write;
mod zstd;

/// The largest feature index. Rows are dense: without a limit one mistyped index would ask for all memory.
pub const MAX_FEATURES: usize = 16_384;

/// Bytes of text read as one piece: small enough to stay in cache with its rows, large enough to cost nothing.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of a long token that an error message repeats.
const MAX_QUOTED: usize = 40;

/// The highest grade of the public collections and of the click models; a higher label is more likely a mistake.
pub const USUAL_MAX_LABEL: u8 = 4;

/// What a file is expected to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadOptions {
    /// Features of a document. A higher index is an error. `None`: the highest index that occurs.
    pub n_features: Option<usize>,
    /// The highest label; a higher one is an error.
    pub max_label: u8,
}

impl Default for ReadOptions {
    /// Width from the file; labels up to [`USUAL_MAX_LABEL`].
    fn default() -> Self {
        Self { n_features: None, max_label: USUAL_MAX_LABEL }
    }
}

/// Reads LETOR text that is already in memory. `name` is what error messages call it.
pub fn parse_letor(bytes: &[u8], name: &Path, options: &ReadOptions) -> Result<Dataset, LetorError> {
    let limits = limits_of(name, options)?;
    // Editors on Windows may put a byte-order mark first.
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let width = options.n_features.or_else(|| first_width(text, limits));
    assemble(read_block(text, width, limits, name, 0)?, name, options)
}

fn limits_of(name: &Path, options: &ReadOptions) -> Result<Limits, LetorError> {
    let max_index = options.n_features.unwrap_or(MAX_FEATURES);
    if !(1..=MAX_FEATURES).contains(&max_index) {
        return Err(LetorError::Width { file: name.into(), n_features: max_index, max: MAX_FEATURES });
    }
    Ok(Limits { max_label: options.max_label, max_index })
}

/// The pieces of a text, read in parallel. `n_lines` of the file come before it.
fn read_block(
    text: &[u8],
    width: Option<usize>,
    limits: Limits,
    name: &Path,
    n_lines: usize,
) -> Result<Vec<Chunk>, LetorError> {
    let stride = width.map_or(0, row_stride);
    let read = |(start, piece): (usize, &[u8])| read_chunk(piece, stride, limits).map_err(|fault| (start, fault));
    let chunks: Vec<_> = split_at_newlines(text).into_par_iter().map(read).collect();
    let chunks = chunks.into_iter().collect::<Result<_, _>>();
    chunks.map_err(|(start, fault)| line_error(text, start, &fault, name, n_lines))
}

/// The width of the first document, as a guess of all widths. A bad line is reported later, in its place.
fn first_width(text: &[u8], limits: Limits) -> Option<usize> {
    let mut rest = text;
    while !rest.is_empty() {
        let line_len = memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        match read_chunk(&rest[..line_len], 0, limits) {
            Ok(first) if first.labels.is_empty() => rest = &rest[line_len..],
            Ok(first) => return Some(first.max_index),
            Err(_) => return None,
        }
    }
    None
}

/// Pieces of about [`CHUNK_BYTES`] with their offsets, each ending behind a newline or at the end of the text.
fn split_at_newlines(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let least = (start + CHUNK_BYTES).min(text.len());
        let end = memchr(b'\n', &text[least..]).map_or(text.len(), |newline| least + newline + 1);
        pieces.push((start, &text[start..end]));
        start = end;
    }
    pieces
}

/// Says where in the file a fault is. Lines are counted only now: good files never pay for it.
fn line_error(text: &[u8], chunk_start: usize, fault: &Fault, name: &Path, n_lines: usize) -> LetorError {
    let start = chunk_start + fault.start;
    let line_start = memchr::memrchr(b'\n', &text[..start]).map_or(0, |newline| newline + 1);
    let found = &text[start..chunk_start + fault.end];
    let quoted = String::from_utf8_lossy(&found[..found.len().min(MAX_QUOTED)]);
    LetorError::Line {
        file: name.into(),
        line: n_lines + 1 + memchr_iter(b'\n', &text[..start]).count(),
        column: 1 + start - line_start,
        found: if found.is_empty() { "end of line".into() } else { quoted.into_owned() },
        expected: fault.expected,
        is_cut: memchr(b'\n', &text[start..]).is_none(),
    }
}

/// A run of rows: which chunk, and its first and last row there.
type Piece = (usize, usize, usize);

/// Brings the rows of each query together, in order of first appearance.
fn assemble(chunks: Vec<Chunk>, name: &Path, options: &ReadOptions) -> Result<Dataset, LetorError> {
    let n_docs = chunks.iter().map(|chunk| chunk.labels.len()).sum::<usize>();
    let max_index = chunks.iter().map(|chunk| chunk.max_index).max().unwrap_or(0);
    let n_features = options.n_features.unwrap_or(max_index);
    let file = || name.to_path_buf();
    if n_docs == 0 {
        return Err(LetorError::Empty { file: file() });
    }
    if n_features == 0 {
        return Err(LetorError::NoFeatures { file: file() });
    }
    let too_large = || LetorError::TooLarge { file: file(), n_docs, n_features };
    u32::try_from(n_docs).map_err(|_| too_large())?;
    let stride = row_stride(n_features);
    let (query_ids, pieces) = group_runs(&chunks);

    let mut features = AlignedRows::try_zeroed(n_docs * stride).ok_or_else(too_large)?;
    let mut labels = Vec::with_capacity(n_docs);
    let mut query_start = vec![0];
    let mut targets = Vec::with_capacity(pieces.len());
    let mut rest = features.as_mut_slice();
    for query in &pieces {
        for &(chunk, first, end) in query {
            labels.extend_from_slice(&chunks[chunk].labels[first..end]);
        }
        query_start.push(labels.len() as u32);
        let n_rows = query.iter().map(|&(_, first, end)| end - first).sum::<usize>();
        targets.push(rest.split_off_mut(..n_rows * stride).expect("as many rows as documents"));
    }
    targets.into_par_iter().zip(&pieces).with_min_len(64).for_each(|(target, query)| {
        copy_rows(target, stride, query, &chunks);
    });
    let parts = Dataset::from_parts(n_features, features, labels, query_start, query_ids);
    Ok(parts.expect("as many rows, labels and offsets as documents and queries"))
}

/// Query ids in order of first appearance, and the runs of rows of each.
fn group_runs(chunks: &[Chunk]) -> (Vec<Box<str>>, Vec<Vec<Piece>>) {
    let mut query_ids: Vec<Box<str>> = Vec::new();
    let mut pieces: Vec<Vec<Piece>> = Vec::new();
    let mut query_of: HashMap<&str, usize> = HashMap::new();
    for (chunk_idx, chunk) in chunks.iter().enumerate() {
        let ends = chunk.runs.iter().skip(1).map(|run| run.first_row).chain([chunk.labels.len()]);
        for (run, end) in chunk.runs.iter().zip(ends) {
            let query = *query_of.entry(&run.query_id).or_insert_with(|| {
                query_ids.push(run.query_id.clone());
                pieces.push(Vec::new());
                pieces.len() - 1
            });
            pieces[query].push((chunk_idx, run.first_row, end));
        }
    }
    (query_ids, pieces)
}

/// Copies the runs of one query into its place. A chunk's rows may be narrower or (with zeros) wider.
fn copy_rows(mut target: &mut [f32], stride: usize, query: &[Piece], chunks: &[Chunk]) {
    for &(chunk, first, end) in query {
        let from = &chunks[chunk];
        let block = target.split_off_mut(..(end - first) * stride).expect("room for every run");
        if from.stride == stride {
            block.copy_from_slice(&from.rows[first * stride..end * stride]);
        } else if from.stride > 0 {
            let width = stride.min(from.stride);
            let rows = from.rows[first * from.stride..end * from.stride].chunks_exact(from.stride);
            for (to, row) in block.chunks_exact_mut(stride).zip(rows) {
                to[..width].copy_from_slice(&row[..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
