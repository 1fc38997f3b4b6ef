//! The k best of n scores, best first; of equal scores the later document comes first.
//!
//! The tie rule is that of spec section 3 (score descending, document index descending), so that a ranker with all
//! scores equal has one defined ranking.
//!
//! Fast path: the k-th largest of sixteen group maxima is a lower bound of the k-th largest score, so only the few
//! scores that reach it are candidates; their ranks are counted against each other without a branch. Equal scores
//! among the best, or more candidates than the buffer holds, take the plain path that sorts.

use crate::query::{MAX_SHOWN, Ranking};
use crate::simd::two_widths;

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

    /// The scores.
    #[inline]
    pub fn scores(&self) -> &[f32] {
        &self.padded[..self.n_docs]
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
        if !select_distinct(self.padded(), best) {
            self.select_sorted(best.len(), best);
        }
    }

    /// The plain path: correct for any scores.
    #[cold]
    fn select_sorted(&mut self, n_shown: usize, best: &mut [u32]) {
        let Self { padded, n_docs, order } = self;
        order.clear();
        order.extend(0..*n_docs as u32);
        // Adding zero makes -0 equal to 0, as a comparison has it.
        let score = |document: u32| padded[document as usize] + 0.0;
        let by_score = |&a: &u32, &b: &u32| score(b).total_cmp(&score(a)).then(b.cmp(&a));
        if n_shown < order.len() {
            order.select_nth_unstable_by(n_shown, by_score);
            order.truncate(n_shown);
        }
        order.sort_unstable_by(by_score);
        best.copy_from_slice(order);
    }
}

two_widths! {
    /// Whether the best could be told apart; if not, `best` holds rubbish.
    fn select_distinct(scores: &[f32], best: &mut [u32]) -> bool {
        let threshold = lower_bound(scores, best.len());
        if threshold == f32::NEG_INFINITY {
            return false; // the padding would be among the candidates
        }
        let mut candidates = [f32::NEG_INFINITY; MAX_CANDIDATES];
        let mut documents = [0_u32; MAX_CANDIDATES];
        let mut n_candidates = 0;
        // Without a branch: every score is written to the next free place, which only a candidate then takes.
        for (document, &score) in scores.iter().enumerate() {
            let place = n_candidates % MAX_CANDIDATES;
            candidates[place] = score;
            documents[place] = document as u32;
            n_candidates += usize::from(score >= threshold);
        }
        if n_candidates >= MAX_CANDIDATES {
            return false;
        }
        candidates[n_candidates..].fill(f32::NEG_INFINITY);
        place_by_rank(&candidates[..n_candidates.next_multiple_of(8)], &documents[..n_candidates], best)
    }
}

/// A value that at least `k` scores reach: the k-th largest of the sixteen group maxima.
#[inline(always)]
fn lower_bound(scores: &[f32], k: usize) -> f32 {
    let mut maxima = [f32::NEG_INFINITY; GROUPS];
    for group in scores.chunks_exact(GROUPS) {
        for (maximum, &score) in maxima.iter_mut().zip(group) {
            *maximum = if score > *maximum { score } else { *maximum };
        }
    }
    let mut n_larger = [0_i32; GROUPS];
    for &other in &maxima {
        for (count, &maximum) in n_larger.iter_mut().zip(&maxima) {
            *count += i32::from(other > maximum);
        }
    }
    // The smallest maximum with fewer than k larger ones is reached by at least k groups.
    let mut bound = f32::INFINITY;
    for (&count, &maximum) in n_larger.iter().zip(&maxima) {
        let value = if count < k as i32 { maximum } else { f32::INFINITY };
        bound = if value < bound { value } else { bound };
    }
    bound
}

/// Writes each document to the slot of its rank. False when equal scores left a slot empty.
#[inline(always)]
fn place_by_rank(candidates: &[f32], documents: &[u32], best: &mut [u32]) -> bool {
    let mut n_larger = [0_i32; MAX_CANDIDATES];
    for (counts, block) in n_larger.chunks_exact_mut(8).zip(candidates.chunks_exact(8)) {
        let mut count = [0_i32; 8];
        for &other in &candidates[..documents.len()] {
            for lane in 0..8 {
                count[lane] += i32::from(other > block[lane]);
            }
        }
        counts.copy_from_slice(&count);
    }
    // Documents of lower rank than the last shown all write to a slot that nobody reads.
    let mut slots = [EMPTY; MAX_SHOWN + 1];
    for (&document, &rank) in documents.iter().zip(n_larger.iter()) {
        slots[(rank as usize).min(best.len())] = document;
    }
    // Equal scores share a slot and leave the next one empty. If the shared slot is the last shown, the later
    // document has overwritten the earlier one, as the tie rule wants.
    best.copy_from_slice(&slots[..best.len()]);
    best.iter().all(|&document| document != EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn select(scores: &[f32], n_shown: usize) -> Vec<u32> {
        let mut buffer = ScoreBuffer::default();
        buffer.reset(scores.len()).copy_from_slice(scores);
        let mut ranking = Ranking::default();
        buffer.select(n_shown, &mut ranking);
        ranking.docs().to_vec()
    }

    fn by_sorting(scores: &[f32], n_shown: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(b.cmp(&a)));
        order.truncate(n_shown);
        order
    }

    #[test]
    fn of_equal_scores_the_later_document_comes_first() {
        assert_eq!(select(&[1.0, 2.0, 2.0, 0.0], 3), [2, 1, 0]);
        assert_eq!(select(&[0.0; 30], 4), [29, 28, 27, 26]);
        assert_eq!(select(&[3.0, 1.0, 1.0], 2), [0, 2]);
    }

    #[test]
    fn short_lists_are_shown_whole() {
        assert_eq!(select(&[1.0, 3.0], 10), [1, 0]);
        assert!(select(&[], 10).is_empty());
    }

    #[test]
    fn infinities_are_ordered_too() {
        assert_eq!(select(&[f32::NEG_INFINITY, 1.0, f32::INFINITY], 3), [2, 1, 0]);
    }

    proptest! {
        #[test]
        fn agrees_with_sorting(scores in prop::collection::vec(-3.0_f32..3.0, 1..400), n_shown in 1_usize..=MAX_SHOWN) {
            prop_assert_eq!(select(&scores, n_shown), by_sorting(&scores, n_shown));
        }

        #[test]
        fn agrees_with_sorting_when_many_are_equal(
            scores in prop::collection::vec(0_u8..6, 1..150), n_shown in 1_usize..=MAX_SHOWN,
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            prop_assert_eq!(select(&scores, n_shown), by_sorting(&scores, n_shown));
        }
    }
}
