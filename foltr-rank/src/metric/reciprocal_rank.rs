//! Reciprocal rank of the first relevant document (label above 0), by labels instead of clicks.

pub(super) struct ReciprocalRank;

impl super::LabelMetric for ReciprocalRank {
    const IR_MEASURES: Option<&'static str> = Some("RR");

    fn value(ranked: &[u8], k: usize, _best: f64) -> f64 {
        let first = ranked.iter().take(k).position(|&label| label > 0);
        first.map_or(0.0, |position| 1.0 / (position + 1) as f64)
    }
}
