//! Discounted cumulative gain, plain and normalised.
//!
//! `JK02` Järvelin, Kekäläinen: *Cumulated Gain-Based Evaluation of IR Techniques*, TOIS 20, 2002, with the exponential
//! gain of `BSR05` Burges et al., ICML 2005; spec section 3. The ideal is taken over all documents of the query.

/// 2^label - 1.
#[inline]
pub fn gain(label: u8) -> f64 {
    // Labels are at most 31, so this is exact.
    ((1_u64 << label) - 1) as f64
}

/// 1 / log2(position + 2), positions counted from 0.
#[inline]
pub fn discount(position: usize) -> f64 {
    /// The first positions, which are nearly all that is asked for.
    const TABLE: [f64; 16] = [
        1.0,
        0.630_929_753_571_457_4,
        0.5,
        0.430_676_558_073_393_06,
        0.386_852_807_234_541_6,
        0.356_207_187_108_022_2,
        0.333_333_333_333_333_3,
        0.315_464_876_785_728_7,
        std::f64::consts::LOG10_2, // 1 / log2(10)
        0.289_064_826_317_887_9,
        0.278_942_945_651_129_8,
        0.270_238_154_427_319_74,
        0.262_649_535_037_193_5,
        0.255_958_024_809_815_5,
        0.25,
        0.244_650_542_118_226_04,
    ];
    TABLE.get(position).copied().unwrap_or_else(|| 1.0 / ((position + 2) as f64).log2())
}

/// DCG of labels in ranked order, over the first `k`.
#[inline]
pub fn dcg(ranked_labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
    ranked_labels.into_iter().take(k).enumerate().map(|(position, label)| gain(label) * discount(position)).sum()
}

/// The largest DCG@k that the query's documents allow.
pub fn ideal_dcg(labels: &[u8], k: usize) -> f64 {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    dcg(sorted, k)
}

/// nDCG@k with the label itself as gain (`JK02`), as trec_eval has it; nothing when no label is above 0.
pub fn linear_ndcg(ranked_labels: impl IntoIterator<Item = u8>, labels: &[u8], k: usize) -> Option<f64> {
    fn sum(labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
        labels.into_iter().take(k).enumerate().map(|(position, label)| f64::from(label) * discount(position)).sum()
    }
    let mut sorted = labels.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let ideal = sum(sorted, k);
    (ideal > 0.0).then(|| sum(ranked_labels, k) / ideal)
}

/// nDCG@k of labels in ranked order; nothing when the ideal is 0.
pub fn ndcg(ranked_labels: impl IntoIterator<Item = u8>, ideal: f64, k: usize) -> Option<f64> {
    (ideal > 0.0).then(|| dcg(ranked_labels, k) / ideal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_documents_by_hand() {
        // Labels 1, 0, 2 as ranked: 1/1 + 0 + 3/2 = 2.5; ideal 3 + 1/log2(3).
        let ideal = ideal_dcg(&[0, 2, 1], 10);
        assert!((ideal - (3.0 + 1.0 / 3_f64.log2())).abs() < 1e-12);
        assert!((ndcg([1, 0, 2], ideal, 10).unwrap() - 2.5 / ideal).abs() < 1e-12);
        assert_eq!(ndcg([0, 0], ideal_dcg(&[0, 0], 10), 10), None);
    }

    #[test]
    fn the_label_itself_as_gain() {
        // Labels 1, 0, 2 as ranked: 1 + 0 + 2/2 = 2; ideal 2 + 1/log2(3).
        let ideal = 2.0 + 1.0 / 3_f64.log2();
        assert!((linear_ndcg([1, 0, 2], &[0, 2, 1], 10).unwrap() - 2.0 / ideal).abs() < 1e-12);
        assert_eq!(linear_ndcg([0, 0, 2], &[0, 0, 2], 2), Some(0.0));
        assert_eq!(linear_ndcg([0, 0], &[0, 0], 10), None);
    }

    #[test]
    fn the_table_is_the_formula() {
        for position in 0..40 {
            assert!((discount(position) - 1.0 / ((position + 2) as f64).log2()).abs() < 1e-15);
        }
    }

    #[test]
    fn the_cutoff_limits_the_list_but_not_the_ideal() {
        let labels = [0, 0, 4];
        assert_eq!(ndcg(labels, ideal_dcg(&labels, 2), 2), Some(0.0));
    }
}
