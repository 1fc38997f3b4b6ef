//! The k best of n scores, best first; of equal scores the later document comes first.
//!
//! The tie rule is that of spec section 3 (score descending, document index descending), so that a ranker with all
//! scores equal has one defined ranking.
//!
//! Fast path: the k-th largest of sixteen group maxima is a lower bound of the k-th largest score, so only the few
//! scores that reach it are candidates; their ranks are counted against each other without a branch. Equal scores
//! among the best, more candidates than the buffer holds, or more than sixteen wanted, take the plain path that sorts.

use crate::query::Ranking;

/// Score buffers are padded to a multiple of this with negative infinity.
const GROUPS: usize = 16;
/// Candidates that the fast path holds.
const MAX_CANDIDATES: usize = 64;
/// No document has this number: a slot that still holds it was not filled.
const EMPTY: u32 = u32::MAX;

/// Memory for scores, padded as the selection wants it. Reused from query to query.
#[derive(Clone, Debug, Default)]
pub struct ScoreBuffer {
    padded: Vec<f32>,
    n_docs: usize,
    order: Vec<u32>,
}

impl ScoreBuffer {
    /// Room for `n_docs` scores, to be written; what is behind them is negative infinity.
    #[inline]
    pub fn reset(&mut self, n_docs: usize) -> &mut [f32] {
        let n_padded = n_docs.div_ceil(GROUPS) * GROUPS;
        if self.padded.len() < n_padded {
            self.padded.resize(n_padded, 0.0);
        }
        self.padded[n_docs..n_padded].fill(f32::NEG_INFINITY);
        self.n_docs = n_docs;
        &mut self.padded[..n_docs]
    }

    /// Like [`Self::reset`], but the caller writes whole groups, the padding included.
    #[inline]
    pub(crate) fn reset_padded(&mut self, n_docs: usize) -> &mut [f32] {
        self.reset(n_docs);
        &mut self.padded[..n_docs.div_ceil(GROUPS) * GROUPS]
    }

    #[inline]
    pub fn scores(&self) -> &[f32] {
        &self.padded[..self.n_docs]
    }

    /// Whether every score is a number that a list can follow from.
    pub(crate) fn is_finite(&self) -> bool {
        self.scores().iter().all(|score| score.is_finite())
    }

    /// The scores and the negative infinities behind them, a whole number of groups.
    #[inline]
    pub(crate) fn padded(&self) -> &[f32] {
        &self.padded[..self.n_docs.div_ceil(GROUPS) * GROUPS]
    }

    /// Fills `ranking` with the best `n_shown` documents (or all, if there are fewer), best first.
    #[inline]
    pub fn select(&mut self, n_shown: usize, ranking: &mut Ranking) {
        let best = ranking.resize(n_shown.min(self.n_docs));
        if best.is_empty() {
            return;
        }
        if best.len() > GROUPS || !select_distinct(self.padded(), best) {
            self.select_sorted(best);
        }
    }

    /// The plain path: correct for any scores.
    #[cold]
    fn select_sorted(&mut self, best: &mut [u32]) {
        best.copy_from_slice(self.best(best.len()));
    }

    /// [`Self::best`], quickly where `n` is small.
    pub(crate) fn best_few(&mut self, n: usize) -> &[u32] {
        let n = n.min(self.n_docs);
        if (1..=GROUPS).contains(&n) {
            let mut order = std::mem::take(&mut self.order);
            order.resize(n, EMPTY);
            let is_distinct = select_distinct(self.padded(), &mut order);
            self.order = order;
            if is_distinct {
                return &self.order;
            }
        }
        self.best(n)
    }

    /// The best `n` documents (or all, if there are fewer), best first; also more than can be shown.
    pub(crate) fn best(&mut self, n: usize) -> &[u32] {
        let Self { padded, n_docs, order } = self;
        order.clear();
        order.extend(0..*n_docs as u32);
        // Adding zero makes -0 equal to 0, as a comparison has it.
        let score = |document: u32| padded[document as usize] + 0.0;
        let by_score = |&a: &u32, &b: &u32| score(b).total_cmp(&score(a)).then(b.cmp(&a));
        if n < order.len() {
            order.select_nth_unstable_by(n, by_score);
            order.truncate(n);
        }
        order.sort_unstable_by(by_score);
        order
    }
}

/// Whether the best, at most [`GROUPS`], could be told apart; if not, `best` holds rubbish.
#[inline]
fn select_distinct(scores: &[f32], best: &mut [u32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::is_wide() {
        // SAFETY: AVX2 is there; buffers are whole groups and at most GROUPS are asked for.
        return unsafe { wide::select_distinct(scores, best) };
    }
    portable_select_distinct(scores, best)
}

/// The definition of the fast path, used where there is no AVX2.
fn portable_select_distinct(scores: &[f32], best: &mut [u32]) -> bool {
    let threshold = lower_bound(scores, best.len());
    if threshold == f32::NEG_INFINITY {
        return false; // the padding would be among the candidates
    }
    let reaches = scores.iter().enumerate().filter(|&(_, &score)| score >= threshold);
    let (documents, candidates): (Vec<u32>, Vec<f32>) =
        reaches.map(|(document, &score)| (document as u32, score)).unzip();
    if candidates.len() > MAX_CANDIDATES {
        return false;
    }
    let ranks = candidates.iter().map(|score| candidates.iter().filter(|&other| other > score).count() as u32);
    place(&documents, &ranks.collect::<Vec<_>>(), best)
}

/// A value that at least `k` scores reach: the k-th largest of the sixteen group maxima.
fn lower_bound(scores: &[f32], k: usize) -> f32 {
    let mut maxima = [f32::NEG_INFINITY; GROUPS];
    for group in scores.chunks_exact(GROUPS) {
        for (maximum, &score) in maxima.iter_mut().zip(group) {
            *maximum = if score > *maximum { score } else { *maximum };
        }
    }
    // The smallest maximum with fewer than k larger ones is reached by at least k groups.
    let n_larger = |maximum: f32| maxima.iter().filter(|&&other| other > maximum).count();
    maxima.into_iter().filter(|&maximum| n_larger(maximum) < k).fold(f32::INFINITY, f32::min)
}

/// Writes each document to the slot of its rank. False when equal scores left a slot empty.
#[inline(always)]
fn place(documents: &[u32], ranks: &[u32], best: &mut [u32]) -> bool {
    // Documents of lower rank than the last shown all write to a slot that nobody reads.
    let mut slots = [EMPTY; GROUPS + 1];
    for (&document, &rank) in documents.iter().zip(ranks) {
        slots[(rank as usize).min(best.len())] = document;
    }
    // Equal scores share a slot and leave the next one empty. If the shared slot is the last shown, the later
    // document has overwritten the earlier one, as the tie rule wants.
    let mut is_full = true;
    for (document, &slot) in best.iter_mut().zip(&slots) {
        *document = slot;
        is_full &= slot != EMPTY;
    }
    is_full
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{GROUPS, MAX_CANDIDATES, place};

    /// For each set of lanes, those lanes first: the permutation that moves the candidates of a block together.
    const CANDIDATES_FIRST: [[u8; 8]; 256] = {
        let mut table = [[0; 8]; 256];
        let mut set = 0;
        while set < 256 {
            let (mut lane, mut place) = (0, 0);
            while lane < 8 {
                if set >> lane & 1 == 1 {
                    table[set][place] = lane;
                    place += 1;
                }
                lane += 1;
            }
            set += 1;
        }
        table
    };

    /// [`super::portable_select_distinct`] without a branch that depends on the scores.
    ///
    /// # Safety
    /// AVX2; `scores` is a whole number of groups, `best` at most `GROUPS` long.
    #[target_feature(enable = "avx2,popcnt")]
    pub unsafe fn select_distinct(scores: &[f32], best: &mut [u32]) -> bool {
        // SAFETY: the caller's contract.
        let threshold = unsafe { lower_bound(scores, best.len()) };
        if threshold == f32::NEG_INFINITY {
            return false;
        }
        let limit = _mm256_set1_ps(threshold);
        let mut candidates = [0.0_f32; MAX_CANDIDATES + 8];
        let mut documents = [0_u32; MAX_CANDIDATES + 8];
        let mut n = 0;
        for (block_idx, block) in scores.chunks_exact(8).enumerate() {
            // SAFETY: a block has eight floats; n is at most MAX_CANDIDATES, so eight more fit behind it.
            unsafe {
                let values = _mm256_loadu_ps(block.as_ptr());
                let set = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(values, limit)) as usize;
                let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(CANDIDATES_FIRST[set].as_ptr().cast()));
                let first = _mm256_set1_epi32(8 * block_idx as i32);
                _mm256_storeu_ps(candidates.as_mut_ptr().add(n), _mm256_permutevar8x32_ps(values, order));
                _mm256_storeu_si256(documents.as_mut_ptr().add(n).cast(), _mm256_add_epi32(order, first));
                n += set.count_ones() as usize;
            }
            if n > MAX_CANDIDATES {
                return false;
            }
        }
        let mut ranks = [0_u32; MAX_CANDIDATES + 8];
        for start in (0..n).step_by(8) {
            // SAFETY: n is at most MAX_CANDIDATES, so eight floats and ranks are there from `start` on.
            unsafe {
                let values = _mm256_loadu_ps(candidates.as_ptr().add(start));
                let mut n_larger = _mm256_setzero_si256();
                for other in &candidates[..n] {
                    let is_larger = _mm256_cmp_ps::<_CMP_GT_OQ>(_mm256_broadcast_ss(other), values);
                    n_larger = _mm256_sub_epi32(n_larger, _mm256_castps_si256(is_larger));
                }
                _mm256_storeu_si256(ranks.as_mut_ptr().add(start).cast(), n_larger);
            }
        }
        place(&documents[..n], &ranks[..n], best)
    }

    /// [`super::lower_bound`].
    ///
    /// # Safety
    /// AVX2; `scores` is a whole number of groups.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn lower_bound(scores: &[f32], k: usize) -> f32 {
        let mut low = _mm256_set1_ps(f32::NEG_INFINITY);
        let mut high = low;
        for group in scores.chunks_exact(GROUPS) {
            // SAFETY: a group has sixteen floats. A NaN is never the larger one, as in the definition.
            unsafe {
                low = _mm256_max_ps(_mm256_loadu_ps(group.as_ptr()), low);
                high = _mm256_max_ps(_mm256_loadu_ps(group.as_ptr().add(8)), high);
            }
        }
        let mut maxima = [0.0_f32; GROUPS];
        // SAFETY: the array has sixteen floats.
        unsafe {
            _mm256_storeu_ps(maxima.as_mut_ptr(), low);
            _mm256_storeu_ps(maxima.as_mut_ptr().add(8), high);
        }
        let (mut n_low, mut n_high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for other in &maxima {
            let other = _mm256_broadcast_ss(other);
            n_low = _mm256_sub_epi32(n_low, _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(other, low)));
            n_high = _mm256_sub_epi32(n_high, _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(other, high)));
        }
        let (k, infinity) = (_mm256_set1_epi32(k as i32), _mm256_set1_ps(f32::INFINITY));
        let low = _mm256_blendv_ps(infinity, low, _mm256_castsi256_ps(_mm256_cmpgt_epi32(k, n_low)));
        let high = _mm256_blendv_ps(infinity, high, _mm256_castsi256_ps(_mm256_cmpgt_epi32(k, n_high)));
        let eight = _mm256_min_ps(low, high);
        let four = _mm_min_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
        let two = _mm_min_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::MAX_SHOWN;
    use proptest::prelude::*;

    fn select(scores: &[f32], n_shown: usize) -> Vec<u32> {
        let mut buffer = ScoreBuffer::default();
        buffer.reset(scores.len()).copy_from_slice(scores);
        let mut ranking = Ranking::default();
        buffer.select(n_shown, &mut ranking);
        ranking.docs().to_vec()
    }

    /// With what was asked before still in the buffer.
    fn best_few(scores: &[f32], n: usize) -> Vec<u32> {
        let mut buffer = ScoreBuffer::default();
        buffer.reset(scores.len()).copy_from_slice(scores);
        buffer.best_few(n / 2 + 1);
        buffer.best_few(n).to_vec()
    }

    fn by_sorting(scores: &[f32], n_shown: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(b.cmp(&a)));
        order.truncate(n_shown);
        order
    }

    #[test]
    fn best_first_and_of_equal_scores_the_later_document() {
        assert_eq!(select(&[1.0, 2.0, 2.0, 0.0], 3), [2, 1, 0]);
        assert_eq!(select(&[0.0; 30], 4), [29, 28, 27, 26]);
        assert_eq!(select(&[3.0, 1.0, 1.0], 2), [0, 2]);
        // Short lists are shown whole; infinities are ordered too.
        assert_eq!(select(&[1.0, 3.0], 10), [1, 0]);
        assert!(select(&[], 10).is_empty());
        assert_eq!(select(&[f32::NEG_INFINITY, 1.0, f32::INFINITY], 3), [2, 1, 0]);
    }

    /// Both fast paths on the same scores: whether they succeed, and what they select.
    fn fast_paths(scores: &[f32], n_shown: usize) -> [(bool, Vec<u32>); 2] {
        let mut buffer = ScoreBuffer::default();
        buffer.reset(scores.len()).copy_from_slice(scores);
        [select_distinct, portable_select_distinct].map(|select| {
            let mut best = vec![0; n_shown.min(scores.len())];
            (select(buffer.padded(), &mut best), best)
        })
    }

    proptest! {
        #[test]
        fn both_fast_paths_are_the_same(
            scores in prop::collection::vec(prop_oneof![9 => -3.0_f32..3.0, 1 => Just(0.5)], 1..300),
            n_shown in 1_usize..=GROUPS,
        ) {
            let [ours, defined] = fast_paths(&scores, n_shown);
            prop_assert_eq!(ours, defined);
        }

        #[test]
        fn agrees_with_sorting(scores in prop::collection::vec(-3.0_f32..3.0, 1..400), n_shown in 1_usize..=MAX_SHOWN) {
            prop_assert_eq!(select(&scores, n_shown), by_sorting(&scores, n_shown));
            prop_assert_eq!(best_few(&scores, n_shown), by_sorting(&scores, n_shown));
        }

        #[test]
        fn agrees_with_sorting_when_many_are_equal(
            scores in prop::collection::vec(0_u8..6, 1..150), n_shown in 1_usize..=MAX_SHOWN,
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            prop_assert_eq!(select(&scores, n_shown), by_sorting(&scores, n_shown));
            prop_assert_eq!(best_few(&scores, n_shown), by_sorting(&scores, n_shown));
        }
    }
}
