//! Precision: the share of relevant documents (label above 0) among the first k.

/// Relevant documents among the first `k` ranked, divided by `k` also when fewer are ranked, as trec_eval does.
pub fn precision(ranked_labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
    ranked_labels.into_iter().take(k).filter(|&label| label > 0).count() as f64 / k as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_four() {
        assert_eq!(precision([2, 0, 1, 0, 1], 4), 0.5);
        assert_eq!(precision([1], 4), 0.25);
    }
}
