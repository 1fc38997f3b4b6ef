//! Precision: the share of relevant documents (label above 0) among the first k.

pub(super) struct Precision;

impl super::LabelMetric for Precision {
    const IR_MEASURES: Option<&'static str> = Some("P");

    fn value(ranked: &[u8], k: usize, _best: f64) -> f64 {
        precision(ranked.iter().copied(), k)
    }
}

/// Relevant documents among the first `k` ranked, divided by `k` also when fewer are ranked, as trec_eval does.
pub fn precision(ranked_labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
    ranked_labels.into_iter().take(k).filter(|&label| label > 0).count() as f64 / k as f64
}
