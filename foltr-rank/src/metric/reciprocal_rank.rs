//! Reciprocal rank of the first relevant document (label above 0), by labels instead of clicks.

/// 1 / rank of the first relevant document among the first `k`, else 0.
pub fn reciprocal_rank(ranked_labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
    let first = ranked_labels.into_iter().take(k).position(|label| label > 0);
    first.map_or(0.0, |position| 1.0 / (position + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_relevant_document_counts() {
        assert_eq!(reciprocal_rank([0, 0, 1, 2], 10), 1.0 / 3.0);
        assert_eq!(reciprocal_rank([0, 0, 1], 2), 0.0);
    }
}
