//! Discounted cumulative gain, plain and normalised.
//!
//! `JK02` Järvelin, Kekäläinen: *Cumulated Gain-Based Evaluation of IR Techniques*, TOIS 20, 2002, with the exponential
//! gain of `BSR05` Burges et al., ICML 2005; spec section 3. The ideal is taken over all documents of the query.

use super::LabelMetric;

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
    dcg(best_first(labels), k)
}

fn best_first(labels: &[u8]) -> Vec<u8> {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted
}

/// DCG with the label itself as gain (`JK02`).
fn linear_dcg(ranked_labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
    ranked_labels.into_iter().take(k).enumerate().map(|(position, label)| f64::from(label) * discount(position)).sum()
}

/// nDCG@k of labels in ranked order; nothing when the ideal is 0.
pub fn ndcg(ranked_labels: impl IntoIterator<Item = u8>, ideal: f64, k: usize) -> Option<f64> {
    (ideal > 0.0).then(|| dcg(ranked_labels, k) / ideal)
}

pub(super) struct Ndcg;

impl LabelMetric for Ndcg {
    const IR_MEASURES: Option<&'static str> = Some("nDCG(dcg='exp-log2')");

    fn best(labels: &[u8], k: usize) -> f64 {
        ideal_dcg(labels, k)
    }

    fn value(ranked: &[u8], k: usize, best: f64) -> f64 {
        dcg(ranked.iter().copied(), k) / best
    }
}

pub(super) struct LinearNdcg;

impl LabelMetric for LinearNdcg {
    const IR_MEASURES: Option<&'static str> = Some("nDCG");

    fn best(labels: &[u8], k: usize) -> f64 {
        linear_dcg(best_first(labels), k)
    }

    fn value(ranked: &[u8], k: usize, best: f64) -> f64 {
        linear_dcg(ranked.iter().copied(), k) / best
    }
}

pub(super) struct Dcg;

impl LabelMetric for Dcg {
    fn value(ranked: &[u8], k: usize, _best: f64) -> f64 {
        dcg(ranked.iter().copied(), k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_formula() {
        for position in 0..40 {
            assert!((discount(position) - 1.0 / ((position + 2) as f64).log2()).abs() < 1e-15);
        }
    }
}
