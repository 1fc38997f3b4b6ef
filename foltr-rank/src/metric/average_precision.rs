//! Average precision over the whole ranking; relevant means a label above 0.

/// Mean over the relevant documents of the precision at their rank; nothing when there is no relevant document.
pub fn average_precision(ranked_labels: impl IntoIterator<Item = u8>) -> Option<f64> {
    let (sum, n_relevant) = sum_of_precisions(ranked_labels);
    (n_relevant > 0).then(|| sum / f64::from(n_relevant))
}

/// The same where the ranking does not have all of the `n_relevant` relevant documents: those it misses count 0.
pub fn average_precision_among(ranked_labels: impl IntoIterator<Item = u8>, n_relevant: usize) -> Option<f64> {
    (n_relevant > 0).then(|| sum_of_precisions(ranked_labels).0 / n_relevant as f64)
}

/// The sum over the relevant documents of the precision at their rank, and how many they are.
fn sum_of_precisions(ranked_labels: impl IntoIterator<Item = u8>) -> (f64, u32) {
    let (mut n_relevant, mut sum) = (0_u32, 0.0);
    for (position, label) in ranked_labels.into_iter().enumerate() {
        if label > 0 {
            n_relevant += 1;
            sum += f64::from(n_relevant) / (position + 1) as f64;
        }
    }
    (sum, n_relevant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_relevant_documents() {
        assert_eq!(average_precision([1, 0, 2, 0]), Some((1.0 + 2.0 / 3.0) / 2.0));
        assert_eq!(average_precision([0, 0]), None);
    }

    #[test]
    fn two_of_four_relevant_documents() {
        assert_eq!(average_precision_among([1, 0, 2, 0], 4), Some((1.0 + 2.0 / 3.0) / 4.0));
        assert_eq!(average_precision_among([0, 0], 1), Some(0.0));
        assert_eq!(average_precision_among([0, 0], 0), None);
    }
}
