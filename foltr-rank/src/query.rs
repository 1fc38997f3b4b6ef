//! What a device holds for one query: candidate documents, the list it showed, the clicks it saw.

use thiserror::Error;

use crate::learn::Lesson;
use crate::params::Shape;

/// Rows are padded to a multiple of this many features, so that a row is a whole number of vector registers.
pub const LANES: usize = 8;

/// The longest list a user is shown: as many as clicks have bits for, in a round number.
pub const MAX_SHOWN: usize = 100;

/// Lists up to this length, as the papers show them, have memory and code of their own in inner loops.
pub(crate) const SHORT_LIST: usize = 16;

/// Floats from one document's features to the next document's: `n_features` rounded up to a whole [`LANES`].
///
/// ```
/// assert_eq!(foltr_rank::row_stride(46), 48);
/// assert_eq!(foltr_rank::row_stride(136), 136);
/// ```
pub const fn row_stride(n_features: usize) -> usize {
    n_features.div_ceil(LANES) * LANES
}

/// The candidate documents of one query, one padded row of features each. No label is reachable from here.
#[derive(Clone, Copy, Debug)]
pub struct QueryView<'a> {
    rows: &'a [f32],
    n_features: usize,
    n_docs: usize,
    /// Rows of the query that is likely to come next.
    next: &'a [f32],
}

/// In how many parts the next query's rows are requested from memory.
pub const PREFETCH_PARTS: usize = 8;
/// Floats of one part: sixteen cache lines, about as many as a core can wait for at a time. Together the parts cover a
/// query of 41 x 46; a longer one is streamed by its own scoring once it has begun.
const PREFETCH_FLOATS: usize = 256;

impl<'a> QueryView<'a> {
    /// Wraps rows of [`row_stride`]`(n_features)` floats. The floats that pad a row must be zero.
    ///
    /// # Panics
    /// If `rows` is not a whole number of rows, or `n_features` is zero.
    pub fn new(rows: &'a [f32], n_features: usize) -> Self {
        let stride = row_stride(n_features);
        let n_docs = rows.len().checked_div(stride).unwrap_or(0);
        assert!(
            n_features > 0 && rows.len() == n_docs * stride,
            "{} floats are not whole rows of {stride} (= {n_features} features, padded)",
            rows.len()
        );
        Self { rows, n_features, n_docs, next: &[] }
    }

    /// Like [`Self::new`] followed by [`Self::check`], for rows of whatever origin.
    ///
    /// ```
    /// use foltr_rank::{QueryError, QueryView};
    ///
    /// // Two documents with three features each, in rows of eight floats.
    /// let mut rows = [0.0; 16];
    /// rows[..3].copy_from_slice(&[0.5, 1.0, 0.0]);
    /// assert_eq!(QueryView::try_new(&rows, 3)?.n_docs(), 2);
    /// rows[9] = f32::NAN;
    /// assert_eq!(QueryView::try_new(&rows, 3).unwrap_err(), QueryError::NotFinite { doc: 1, feature: 1 });
    /// # Ok::<(), QueryError>(())
    /// ```
    pub fn try_new(rows: &'a [f32], n_features: usize) -> Result<Self, QueryError> {
        let n_floats = rows.len();
        if n_features == 0 {
            return Err(QueryError::NoFeatures);
        }
        // A feature for which there is no float: the stride could not be computed.
        if n_floats < n_features || !n_floats.is_multiple_of(row_stride(n_features)) {
            return Err(if n_floats == 0 {
                QueryError::Empty
            } else {
                QueryError::NotWholeRows { n_floats, n_features }
            });
        }
        let query = Self::new(rows, n_features);
        query.check().map(|()| query)
    }

    /// Refuses what no learner can work with: no document, a feature that is not finite, padding that is not zero.
    pub fn check(&self) -> Result<(), QueryError> {
        if self.n_docs == 0 {
            return Err(QueryError::Empty);
        }
        if is_sound(self.rows, self.n_features) {
            return Ok(());
        }
        for doc in 0..self.n_docs {
            let (features, padding) = self.row(doc).split_at(self.n_features);
            if let Some(feature) = features.iter().position(|value| !value.is_finite()) {
                return Err(QueryError::NotFinite { doc, feature });
            }
            if padding.iter().any(|&value| value != 0.0) {
                return Err(QueryError::Padding { doc });
            }
        }
        Ok(())
    }

    /// [`Self::check`], and that a ranker of this shape scores such documents.
    pub fn check_for(&self, shape: Shape) -> Result<(), QueryError> {
        let (ours, theirs) = (shape.n_features(), self.n_features);
        if ours == theirs { self.check() } else { Err(QueryError::OtherFeatures { ours, theirs }) }
    }

    /// The same query, knowing which one is likely to come next.
    pub const fn before(self, next: QueryView<'a>) -> Self {
        Self { next: next.rows, ..self }
    }

    /// Requests one of [`PREFETCH_PARTS`] parts of the next query's rows from memory. Never changes a result.
    ///
    /// Called between the stages of an interaction: all at once, the requests would fill the queue to memory and hold up
    /// the stage behind them.
    #[inline]
    pub fn prefetch(&self, part: usize) {
        let start = (part * PREFETCH_FLOATS).min(self.next.len());
        let end = (start + PREFETCH_FLOATS).min(self.next.len());
        for line in self.next[start..end].chunks(32) {
            prefetch_start(line);
        }
    }

    /// Features of one document, without the padding.
    pub const fn n_features(&self) -> usize {
        self.n_features
    }

    pub const fn n_docs(&self) -> usize {
        self.n_docs
    }

    pub const fn stride(&self) -> usize {
        row_stride(self.n_features)
    }

    /// All rows, padded, one after the other.
    pub const fn rows(&self) -> &'a [f32] {
        self.rows
    }

    /// The padded row of one document.
    pub fn row(&self, doc_idx: usize) -> &'a [f32] {
        let stride = self.stride();
        &self.rows[doc_idx * stride..(doc_idx + 1) * stride]
    }
}

crate::simd::two_widths! {
    /// Whether all features are finite and all padding is zero, without a branch that depends on a value.
    fn is_sound(rows: &[f32], n_features: usize) -> bool {
        let (mut largest, mut padding) = (0, 0);
        for row in rows.chunks_exact(row_stride(n_features)) {
            let (features, rest) = row.split_at(n_features);
            // Without its sign, a number that is not finite has bits from those of infinity on.
            largest = features.iter().fold(largest, |largest: u32, value| largest.max(value.to_bits() << 1));
            padding = rest.iter().fold(padding, |bits, value| bits | value.to_bits() << 1);
        }
        largest < f32::INFINITY.to_bits() << 1 && padding == 0
    }
}

/// Why documents cannot be ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    #[error("documents without features cannot be ranked")]
    NoFeatures,
    #[error("no documents: there is nothing to rank")]
    Empty,
    #[error("{n_floats} floats are not whole rows of {n_features} features, padded to a multiple of {LANES}")]
    NotWholeRows { n_floats: usize, n_features: usize },
    #[error("{n_values} values are not whole documents of {n_features} features")]
    NotWholeDocuments { n_values: usize, n_features: usize },
    #[error("feature {feature} of document {doc} is not a finite number")]
    NotFinite { doc: usize, feature: usize },
    #[error("documents have {theirs} features, not {ours} as the ranker wants them")]
    OtherFeatures { ours: usize, theirs: usize },
    #[error("the floats that pad the row of document {doc} must be zero")]
    Padding { doc: usize },
}

/// The candidate documents of one query in memory of their own.
///
/// ```
/// use foltr_rank::Candidates;
///
/// // Document after document, three features each.
/// let candidates = Candidates::new(&[0.1, 0.2, 0.3, 1.0, 0.0, 0.5], 3)?;
/// assert_eq!(candidates.view().n_docs(), 2);
/// assert!(Candidates::new(&[0.1, 0.2], 3).is_err());
/// # Ok::<(), foltr_rank::QueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    rows: Vec<f32>,
    n_features: usize,
}

impl Candidates {
    /// From features without padding, document after document.
    pub fn new(features: &[f32], n_features: usize) -> Result<Self, QueryError> {
        let n_values = features.len();
        match n_features {
            0 => return Err(QueryError::NoFeatures),
            _ if n_values == 0 => return Err(QueryError::Empty),
            _ if !n_values.is_multiple_of(n_features) => {
                return Err(QueryError::NotWholeDocuments { n_values, n_features });
            }
            _ => {}
        }
        let rows = pad_rows(features, n_features);
        QueryView::try_new(&rows, n_features)?;
        Ok(Self { rows, n_features })
    }

    pub fn view(&self) -> QueryView<'_> {
        QueryView::new(&self.rows, self.n_features)
    }
}

/// Requests the cache line where a slice begins from memory. Never changes a result.
#[inline(always)]
pub fn prefetch_start<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on the cache, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(slice.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// Copies unpadded features (document after document) into padded rows as [`QueryView`] wants them. What is no whole
/// document at the end is left out.
///
/// # Panics
/// If `n_features` is 0; [`Candidates::new`] says so as an error.
pub fn pad_rows(features: &[f32], n_features: usize) -> Vec<f32> {
    let stride = row_stride(n_features);
    let mut rows = vec![0.0; features.len() / n_features * stride];
    for (row, doc) in rows.chunks_exact_mut(stride).zip(features.chunks_exact(n_features)) {
        row[..n_features].copy_from_slice(doc);
    }
    rows
}

/// The documents a user is shown, best first, all distinct. At most [`MAX_SHOWN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranking {
    docs: [u32; MAX_SHOWN],
    len: usize,
}

impl Default for Ranking {
    fn default() -> Self {
        Self { docs: [0; MAX_SHOWN], len: 0 }
    }
}

impl Ranking {
    /// A list of these documents, best first: at most [`MAX_SHOWN`], each of them once.
    ///
    /// ```
    /// use foltr_rank::Ranking;
    ///
    /// let ranking = Ranking::from_docs(&[4, 0, 2])?;
    /// assert_eq!(ranking.docs(), [4, 0, 2]);
    /// assert!(Ranking::from_docs(&[4, 4]).is_err());
    /// # Ok::<(), foltr_rank::RankingError>(())
    /// ```
    pub fn from_docs(docs: &[u32]) -> Result<Self, RankingError> {
        if docs.len() > MAX_SHOWN {
            return Err(RankingError::TooLong { n_shown: docs.len() });
        }
        if let Some(doc) = docs.iter().enumerate().find(|(i, doc)| docs[..*i].contains(doc)) {
            return Err(RankingError::Repeated { doc: *doc.1 });
        }
        let mut ranking = Self::default();
        ranking.resize(docs.len()).copy_from_slice(docs);
        Ok(ranking)
    }

    /// As many documents, in their own order.
    pub(crate) fn of_positions(n: usize) -> Self {
        let mut ranking = Self::default();
        ranking.resize(n).iter_mut().enumerate().for_each(|(position, doc)| *doc = position as u32);
        ranking
    }

    /// The shown documents, best first.
    #[inline]
    pub fn docs(&self) -> &[u32] {
        &self.docs[..self.len]
    }

    /// Room for `len` documents, to be filled in place by a selection kernel.
    #[inline]
    pub(crate) fn resize(&mut self, len: usize) -> &mut [u32] {
        assert!(len <= MAX_SHOWN, "at most {MAX_SHOWN} documents can be shown, not {len}");
        self.len = len;
        &mut self.docs[..len]
    }

    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Why documents are not a list that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RankingError {
    #[error("{n_shown} documents are too many to show: at most {MAX_SHOWN}")]
    TooLong { n_shown: usize },
    #[error("document {doc} is shown twice: each document has one position")]
    Repeated { doc: u32 },
}

/// Which of the shown positions were clicked: bit `i` is position `i`, counted from 0.
///
/// ```
/// use foltr_rank::Clicks;
///
/// let mut clicks = Clicks::default();
/// clicks.click(4);
/// clicks.click(1);
/// assert_eq!((clicks.first(), clicks.last(), clicks.at(2)), (Some(1), Some(4), false));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clicks(pub u128);

impl Clicks {
    /// # Panics
    /// If a position from [`MAX_SHOWN`] on was clicked.
    pub fn from_flags(flags: &[bool]) -> Self {
        let mut clicks = Self::default();
        flags.iter().enumerate().filter(|(_, clicked)| **clicked).for_each(|(position, _)| clicks.click(position));
        clicks
    }

    /// Whether this position was clicked. No list has a position from [`MAX_SHOWN`] on, so none was clicked.
    #[inline]
    pub const fn at(self, position: usize) -> bool {
        position < MAX_SHOWN && self.0 >> position & 1 == 1
    }

    /// # Panics
    /// If the position is [`MAX_SHOWN`] or more: a shift that wraps around would click the first document.
    #[inline]
    pub const fn click(&mut self, position: usize) {
        assert!(position < MAX_SHOWN, "no list is so long that this position can be clicked");
        self.0 |= 1 << position;
    }

    #[inline]
    pub const fn first(self) -> Option<usize> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros() as usize) }
    }

    #[inline]
    pub const fn last(self) -> Option<usize> {
        if self.0 == 0 { None } else { Some(127 - self.0.leading_zeros() as usize) }
    }
}

/// The positions of set bits, lowest first, below `N`. Short lists are walked in one register.
pub(crate) fn positions<const N: usize>(bits: u128) -> impl Iterator<Item = usize> {
    let mut short = bits as u32;
    let mut long = bits;
    std::iter::from_fn(move || {
        if N <= 32 {
            let position = short.trailing_zeros() as usize;
            let is_set = short != 0;
            short &= short.wrapping_sub(1);
            return is_set.then_some(position);
        }
        let position = long.trailing_zeros() as usize;
        let is_set = long != 0;
        long &= long.wrapping_sub(1);
        is_set.then_some(position)
    })
}

/// One interaction as the device saw it: a query, the list shown, the clicks on it.
#[derive(Clone, Copy, Debug)]
pub struct Impression<'a> {
    pub query: QueryView<'a>,
    pub ranking: &'a Ranking,
    pub clicks: Clicks,
    /// Of a list that was not ranked last.
    pub(crate) lesson: Option<&'a Lesson>,
}

impl<'a> Impression<'a> {
    /// Clicks on the list that a learner ranked last.
    ///
    /// # Panics
    /// Learners panic if a click is behind the end of the list, or a document of it is none of the query:
    /// [`Self::try_new`] says so before.
    #[inline]
    pub const fn new(query: QueryView<'a>, ranking: &'a Ranking, clicks: Clicks) -> Self {
        Self { query, ranking, clicks, lesson: None }
    }

    /// Like [`Self::new`], for lists and clicks of whatever origin.
    ///
    /// ```
    /// use foltr_rank::{Candidates, Clicks, Impression, ImpressionError, Ranking};
    ///
    /// let (query, ranking) = (Candidates::new(&[0.5, 1.0], 1)?, Ranking::from_docs(&[1, 0])?);
    /// assert!(Impression::try_new(query.view(), &ranking, Clicks(0b10)).is_ok());
    /// let behind = Impression::try_new(query.view(), &ranking, Clicks(0b100)).unwrap_err();
    /// assert_eq!(behind, ImpressionError::ClickBelow { position: 2, n_shown: 2 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_new(query: QueryView<'a>, ranking: &'a Ranking, clicks: Clicks) -> Result<Self, ImpressionError> {
        let (n_docs, n_shown) = (query.n_docs(), ranking.len());
        if let Some(&doc) = ranking.docs().iter().find(|&&doc| doc as usize >= n_docs) {
            return Err(ImpressionError::UnknownDocument { doc, n_docs });
        }
        match clicks.last().filter(|&position| position >= n_shown) {
            Some(position) => Err(ImpressionError::ClickBelow { position, n_shown }),
            None => Ok(Self::new(query, ranking, clicks)),
        }
    }
}

/// Why a list and its clicks do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImpressionError {
    #[error("document {doc} is shown, the query has {n_docs} documents (from 0)")]
    UnknownDocument { doc: u32, n_docs: usize },
    #[error("a click at position {position} of a list of {n_shown} (positions from 0)")]
    ClickBelow { position: usize, n_shown: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_set_bits() {
        let bits = 1 | 1 << 3 | 1 << 15;
        assert_eq!(positions::<SHORT_LIST>(bits).collect::<Vec<_>>(), [0, 3, 15]);
        assert_eq!(positions::<MAX_SHOWN>(bits | 1 << 99).collect::<Vec<_>>(), [0, 3, 15, 99]);
        let clicks = Clicks(bits | 1 << 99);
        assert_eq!((clicks.first(), clicks.last(), clicks.at(99), clicks.at(98)), (Some(0), Some(99), true, false));
        assert_eq!((Clicks::default().first(), Clicks::default().last()), (None, None));
    }

    /// Position 128 of a list that nobody can be shown: a shift that wraps around found, or clicked, the first document.
    #[test]
    fn clicks_behind_all_lists_are_not_on_the_first_document() {
        assert!(!Clicks(u128::MAX).at(128) && !Clicks(u128::MAX).at(MAX_SHOWN));
        for position in [MAX_SHOWN, 128, usize::MAX] {
            let clicked = std::panic::catch_unwind(|| Clicks::default().click(position));
            assert!(clicked.is_err(), "{position}");
        }
        assert!(std::panic::catch_unwind(|| Clicks::from_flags(&[true; 129])).is_err());
        assert_eq!(Clicks::from_flags(&[false, true]), Clicks(0b10));
    }

    #[test]
    fn padded_rows_keep_every_document() {
        let rows = pad_rows(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
        let query = QueryView::new(&rows, 3);
        assert_eq!((query.n_docs(), query.stride()), (2, 8));
        assert_eq!(query.row(1), [4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
