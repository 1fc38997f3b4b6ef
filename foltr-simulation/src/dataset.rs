//! Labelled queries in one contiguous, aligned feature matrix (spec sections 1.1 and 21).
//!
//! Rows are padded with zeros to whole vector registers, as [`QueryView`] wants them. A [`Dataset`] is cheap to clone:
//! clones share the matrix, which is either owned memory or a memory-mapped cache.

use std::ops::Range;
use std::sync::Arc;

use foltr_rank::{QueryView, row_stride};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

pub use crate::dataset::rows::AlignedRows;
pub(crate) use crate::dataset::rows::FeatureRows;
pub use crate::dataset::summary::{Summary, summary};

mod rows;
mod summary;

/// Labelled queries: features, grades, and where each query begins.
///
/// ```
/// use std::path::Path;
/// use foltr_simulation::letor::{ReadOptions, parse_letor};
///
/// let text = b"2 qid:7 1:0.5 2:1.0\n0 qid:7 1:0.25\n1 qid:8 1:1.0 2:0.5\n";
/// let data = parse_letor(text, Path::new("train.txt"), &ReadOptions::default())?;
/// assert_eq!((data.n_queries(), data.n_docs(), data.n_features()), (2, 3, 2));
/// assert_eq!((data.query_id(0), data.labels(0)), ("7", &[2, 0][..]));
/// assert_eq!(data.query(0).row(1)[..2], [0.25, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    n_features: usize,
    features: FeatureRows,
    labels: Arc<[u8]>,
    query_start: Arc<[u32]>,
    query_ids: Arc<[Box<str>]>,
    max_label: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PartsError {
    #[error("a data set needs at least one feature, found none")]
    NoFeatures,
    #[error("{found} floats of features for {n_docs} documents; expected {expected} (rows padded to {stride})")]
    FeatureCount { found: usize, expected: usize, n_docs: usize, stride: usize },
    #[error("query offsets must rise from 0 to {n_docs} in {n_queries} non-empty steps, one for each query id")]
    QueryOffsets { n_docs: usize, n_queries: usize },
    #[error("cannot join data of {found} features to data of {expected} features")]
    Width { found: usize, expected: usize },
}

impl Dataset {
    /// A data set from padded rows, one label a row, and `query_start` (offsets, from 0 to the number of rows).
    pub fn from_parts(
        n_features: usize,
        features: AlignedRows,
        labels: Vec<u8>,
        query_start: Vec<u32>,
        query_ids: Vec<Box<str>>,
    ) -> Result<Self, PartsError> {
        Self::from_rows(n_features, FeatureRows::Owned(Arc::new(features)), labels, query_start, query_ids)
    }

    pub(crate) fn from_rows(
        n_features: usize,
        features: FeatureRows,
        labels: Vec<u8>,
        query_start: Vec<u32>,
        query_ids: Vec<Box<str>>,
    ) -> Result<Self, PartsError> {
        if n_features == 0 {
            return Err(PartsError::NoFeatures);
        }
        let (n_docs, n_queries, stride) = (labels.len(), query_ids.len(), row_stride(n_features));
        let (found, expected) = (features.as_slice().len(), n_docs * stride);
        if found != expected {
            return Err(PartsError::FeatureCount { found, expected, n_docs, stride });
        }
        let rises = query_start.windows(2).all(|step| step[0] < step[1]);
        let spans = query_start.first() == Some(&0) && query_start.last() == u32::try_from(n_docs).ok().as_ref();
        if !rises || !spans || query_start.len() != n_queries + 1 {
            return Err(PartsError::QueryOffsets { n_docs, n_queries });
        }
        let max_label = labels.iter().copied().max().unwrap_or(0);
        Ok(Self {
            n_features,
            features,
            labels: labels.into(),
            query_start: query_start.into(),
            query_ids: query_ids.into(),
            max_label,
        })
    }

    pub fn n_queries(&self) -> usize {
        self.query_ids.len()
    }

    pub fn n_docs(&self) -> usize {
        self.labels.len()
    }

    pub fn n_features(&self) -> usize {
        self.n_features
    }

    pub fn max_label(&self) -> u8 {
        self.max_label
    }

    #[inline]
    pub fn docs(&self, query_idx: usize) -> Range<usize> {
        self.query_start[query_idx] as usize..self.query_start[query_idx + 1] as usize
    }

    #[inline]
    pub fn query(&self, query_idx: usize) -> QueryView<'_> {
        let stride = row_stride(self.n_features);
        let docs = self.docs(query_idx);
        QueryView::new(&self.features.as_slice()[docs.start * stride..docs.end * stride], self.n_features)
    }

    #[inline]
    pub fn labels(&self, query_idx: usize) -> &[u8] {
        &self.labels[self.docs(query_idx)]
    }

    /// The name of one query in its source.
    pub fn query_id(&self, query_idx: usize) -> &str {
        &self.query_ids[query_idx]
    }

    /// The padded rows of all documents, query after query.
    pub fn rows(&self) -> &[f32] {
        self.features.as_slice()
    }

    /// The grades of all documents, query after query.
    pub fn all_labels(&self) -> &[u8] {
        &self.labels
    }

    /// Where each query begins, and behind the last one where it ends.
    pub fn query_start(&self) -> &[u32] {
        &self.query_start
    }

    /// Whether any document of the query is relevant (label above 0).
    pub fn has_relevant(&self, query_idx: usize) -> bool {
        self.labels(query_idx).iter().any(|&label| label > 0)
    }

    /// A hash of features, labels, offsets and query ids: equal data have equal hashes, however they were loaded.
    pub fn content_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&(self.n_features as u64).to_le_bytes());
        hash.update(bytemuck::cast_slice(self.rows()));
        hash.update(&self.labels);
        hash.update(bytemuck::cast_slice(&self.query_start));
        for id in self.query_ids.iter() {
            hash.update(id.as_bytes());
            hash.update(&[0]);
        }
        hash.digest()
    }

    /// The same documents with other labels; the matrix is shared, not copied.
    pub fn with_labels(&self, labels: impl Into<Arc<[u8]>>) -> Self {
        let labels = labels.into();
        assert_eq!(labels.len(), self.n_docs(), "one label for each document");
        let max_label = labels.iter().copied().max().unwrap_or(0);
        Self { labels, max_label, ..self.clone() }
    }

    /// Only these documents (rows of the whole set, rising); a query that keeps none of its documents vanishes.
    pub fn with_docs(&self, docs: &[u32]) -> Self {
        assert!(docs.is_sorted_by(|a, b| a < b), "rows of documents must rise");
        let mut copy = Copied::new(self.n_features, docs.len());
        let mut rest = docs;
        for query_idx in 0..self.n_queries() {
            let end = self.docs(query_idx).end as u32;
            let own = rest.split_off(..rest.partition_point(|&doc| doc < end)).expect("a part of what is left");
            if !own.is_empty() {
                copy.push(self, query_idx, own.iter().map(|&doc| doc as usize));
            }
        }
        assert!(rest.is_empty(), "{} documents are not in the set", rest.len());
        copy.finish().expect("parts of a valid data set")
    }

    /// The queries of several data sets, one set after the other. Equal query ids stay separate queries.
    pub fn concat(parts: &[Self]) -> Result<Self, PartsError> {
        let n_features = parts.first().map_or(0, Self::n_features);
        let mut copy = Copied::new(n_features, parts.iter().map(Self::n_docs).sum());
        for part in parts {
            if part.n_features != n_features {
                return Err(PartsError::Width { found: part.n_features, expected: n_features });
            }
            (0..part.n_queries()).for_each(|query_idx| copy.push(part, query_idx, part.docs(query_idx)));
        }
        copy.finish()
    }

    /// The same documents with `n_features` features, those behind the present ones being 0.
    pub fn widen(&self, n_features: usize) -> Self {
        assert!(n_features >= self.n_features, "{n_features} features are fewer than {}", self.n_features);
        let (narrow, wide) = (row_stride(self.n_features), row_stride(n_features));
        if narrow == wide {
            return Self { n_features, ..self.clone() };
        }
        let mut features = AlignedRows::zeroed(self.n_docs() * wide);
        for (to, from) in features.as_mut_slice().chunks_exact_mut(wide).zip(self.rows().chunks_exact(narrow)) {
            to[..narrow].copy_from_slice(from);
        }
        Self { n_features, features: FeatureRows::Owned(Arc::new(features)), ..self.clone() }
    }

    /// Another matrix of the same size under the same labels.
    pub(crate) fn with_rows(&self, features: AlignedRows) -> Self {
        assert_eq!(features.as_slice().len(), self.rows().len(), "one row for each document");
        Self { features: FeatureRows::Owned(Arc::new(features)), ..self.clone() }
    }
}

impl PartialEq for Dataset {
    /// Equal contents, bit for bit, wherever they are stored.
    fn eq(&self, other: &Self) -> bool {
        self.n_features == other.n_features
            && self.labels == other.labels
            && self.query_start == other.query_start
            && self.query_ids == other.query_ids
            && bytemuck::cast_slice::<f32, u8>(self.rows()) == bytemuck::cast_slice::<f32, u8>(other.rows())
    }
}

/// Queries that are copied from other data sets of the same width.
struct Copied {
    n_features: usize,
    features: AlignedRows,
    labels: Vec<u8>,
    query_start: Vec<u32>,
    query_ids: Vec<Box<str>>,
}

impl Copied {
    fn new(n_features: usize, n_docs: usize) -> Self {
        let features = AlignedRows::zeroed(n_docs * row_stride(n_features));
        let labels = Vec::with_capacity(n_docs);
        Self { n_features, features, labels, query_start: vec![0], query_ids: Vec::new() }
    }

    fn push(&mut self, from: &Dataset, query_idx: usize, docs: impl Iterator<Item = usize>) {
        let stride = row_stride(self.n_features);
        for doc in docs {
            let to = &mut self.features.as_mut_slice()[self.labels.len() * stride..][..stride];
            to.copy_from_slice(&from.rows()[doc * stride..][..stride]);
            self.labels.push(from.labels[doc]);
        }
        self.query_start.push(self.labels.len() as u32);
        self.query_ids.push(from.query_ids[query_idx].clone());
    }

    fn finish(self) -> Result<Dataset, PartsError> {
        Dataset::from_parts(self.n_features, self.features, self.labels, self.query_start, self.query_ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::query::pad_rows;

    /// Two queries: `a` with documents (1,2) and (3,4), `b` with (5,6).
    fn two_queries() -> Dataset {
        let features = AlignedRows::from_slice(&pad_rows(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2));
        Dataset::from_parts(2, features, vec![0, 2, 1], vec![0, 2, 3], vec!["a".into(), "b".into()])
            .expect("valid parts")
    }

    #[test]
    fn queries_are_found_by_offset() {
        let data = two_queries();
        assert_eq!((data.n_queries(), data.n_docs(), data.n_features(), data.max_label()), (2, 3, 2, 2));
        assert_eq!(data.query(0).row(1)[..2], [3.0, 4.0]);
        assert_eq!(data.query(1).row(0)[..2], [5.0, 6.0]);
        assert_eq!((data.labels(0), data.labels(1), data.query_id(1)), (&[0, 2][..], &[1][..], "b"));
        assert_eq!(data.rows().as_ptr().align_offset(32), 0);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let rows = || AlignedRows::zeroed(16);
        let build = |labels: Vec<u8>, start: Vec<u32>| Dataset::from_parts(2, rows(), labels, start, vec!["a".into()]);
        assert!(build(vec![0, 0], vec![0, 2]).is_ok());
        assert!(matches!(build(vec![0], vec![0, 1]), Err(PartsError::FeatureCount { found: 16, expected: 8, .. })));
        assert!(matches!(build(vec![0, 0], vec![0, 1]), Err(PartsError::QueryOffsets { .. })));
        assert!(matches!(build(vec![0, 0], vec![0, 1, 2]), Err(PartsError::QueryOffsets { .. })));
        assert!(matches!(build(vec![0, 0], vec![]), Err(PartsError::QueryOffsets { .. })));
    }

    #[test]
    fn parts_are_joined_in_their_order() {
        let data = two_queries();
        let (a, b) = (data.with_docs(&[0, 1]), data.with_docs(&[2]));
        let joined = Dataset::concat(&[a.clone(), b.clone()]).expect("same width");
        assert_eq!(joined, data);
        assert_eq!(joined.content_hash(), data.content_hash());
        let swapped = Dataset::concat(&[b, a]).expect("same width");
        assert_eq!((swapped.query_id(0), swapped.labels(1)), ("b", &[0, 2][..]));
        assert_ne!(swapped.content_hash(), data.content_hash());
        assert_eq!(Dataset::concat(&[data.clone(), data.widen(9)]), Err(PartsError::Width { found: 9, expected: 2 }));
    }

    #[test]
    fn selected_documents_stay_with_their_queries() {
        let data = two_queries();
        let two = data.with_docs(&[1, 2]);
        assert_eq!((two.n_queries(), two.labels(0), two.query_id(1)), (2, &[2][..], "b"));
        assert_eq!(two.query(0).row(0)[..2], [3.0, 4.0]);
        let without_a = data.with_docs(&[2]);
        assert_eq!((without_a.n_queries(), without_a.query_id(0), without_a.labels(0)), (1, "b", &[1][..]));
        assert_eq!(data.with_docs(&[0, 1, 2]), data);
        assert_eq!((data.with_docs(&[]).n_queries(), data.with_docs(&[]).n_docs()), (0, 0));
    }

    #[test]
    fn widening_adds_zeros() {
        let wide = two_queries().widen(10);
        assert_eq!((wide.n_features(), wide.query(0).stride()), (10, 16));
        assert_eq!(wide.query(1).row(0)[..4], [5.0, 6.0, 0.0, 0.0]);
    }

    #[test]
    fn other_labels_share_the_matrix() {
        let data = two_queries();
        let relabelled = data.with_labels(vec![4, 0, 0]);
        assert_eq!((relabelled.max_label(), relabelled.has_relevant(1)), (4, false));
        assert_eq!(relabelled.rows().as_ptr(), data.rows().as_ptr());
    }
}
