//! Which features give the weak label away? The one that supplies it, and all that order a query's documents alike.
//!
//! Spec section 16.2: a network that sees its label among the inputs has nothing to learn. The BM25 score of the whole
//! document is feature 110 in MSLR. Deviation: in the files of LETOR 4.0 it is feature 37, and feature 25 is that of
//! the anchor text. There, 21 to 40 stand by field (body, anchor, title, URL, whole document), four a field with BM25
//! first: 25, 29 and 33 are 0 where the counts of terms in anchors, title and URL (2, 3 and 4) are, in 99.5 % of rows
//! or more.
//!
//! Only differences within a query matter to a pairwise loss, so values are centred a query at a time. Pearson's
//! correlation finds linear copies, Spearman's also logarithms and other monotone ones. Several features together may
//! still give a label away.

/// Columns, in order, that leave the inputs if `label_feature` supplies the labels: itself, and every one whose
/// correlation with it within queries, by value or by rank, is above the threshold in size. A constant one is no copy.
///
/// Columns are numbered from 0: LETOR's feature 37 is column 36. Query i has the rows `query_start[i]` to
/// `query_start[i + 1]`.
///
/// # Panics
/// If rows are not a whole number of `n_features`, queries do not end with them, or there is no such feature.
pub fn near_copies(
    rows: &[f32],
    n_features: usize,
    query_start: &[usize],
    label_feature: usize,
    threshold: f64,
) -> Vec<usize> {
    let n_rows = query_start.last().copied().unwrap_or(0);
    assert_eq!(rows.len(), n_rows * n_features, "{n_rows} rows of {n_features} features");
    assert!(label_feature < n_features, "no feature {label_feature} among {n_features}");
    let label = values_and_ranks(rows, n_features, query_start, label_feature);
    let is_copy = |&feature: &usize| {
        feature == label_feature || {
            let other = values_and_ranks(rows, n_features, query_start, feature);
            label.iter().zip(&other).any(|(a, b)| correlation(a, b).abs() > threshold)
        }
    };
    (0..n_features).filter(is_copy).collect()
}

/// Of a feature, centred within queries.
fn values_and_ranks(rows: &[f32], n_features: usize, query_start: &[usize], feature: usize) -> [Vec<f64>; 2] {
    let (mut values, mut ranks) = (Vec::new(), Vec::new());
    for bounds in query_start.windows(2) {
        let of_query: Vec<f64> =
            (bounds[0]..bounds[1]).map(|row| f64::from(rows[row * n_features + feature])).collect();
        ranks.extend(centred(&shares_below(&of_query)));
        values.extend(centred(&of_query));
    }
    [values, ranks]
}

/// Ranks over their number, equal values sharing the middle one: long queries do not count by the cube of their length.
fn shares_below(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let share = |value: &f64| {
        let below = sorted.partition_point(|other| other.total_cmp(value).is_lt());
        let up_to = sorted.partition_point(|other| other.total_cmp(value).is_le());
        (below + up_to) as f64 / (2 * sorted.len()) as f64
    };
    values.iter().map(share).collect()
}

fn centred(values: &[f64]) -> impl Iterator<Item = f64> {
    // From the first value, so that equal values leave exactly 0.
    let first = values.first().copied().unwrap_or(0.0);
    let mean = values.iter().map(|value| value - first).sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(move |value| value - first - mean)
}

/// Of centred numbers; 0 if one of them is constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (product(a, a) * product(b, b)).sqrt();
    if scale > 0.0 { product(a, b) / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_found_and_others_are_not() {
        // Label; twice it plus an offset a query; its negative; its exponential; constant; unrelated; constant a query.
        let label = [1.0_f32, 2.0, 9.0, 3.0, 5.0, 4.0, 8.0, 7.0];
        let unrelated = [5.0_f32, 1.0, 4.0, 2.0, 2.0, 5.0, 3.0, 4.0];
        let row = |doc: usize| {
            let offset = if doc < 4 { 100.0 } else { -3.0 };
            let value = label[doc];
            [value, 2.0 * value + offset, -value, (3.0 * value).exp(), 0.1, unrelated[doc], offset]
        };
        let rows: Vec<f32> = (0..8).flat_map(row).collect();
        let query_start = [0, 4, 8];
        assert_eq!(near_copies(&rows, 7, &query_start, 0, 0.9), [0, 1, 2, 3]);
        // Unrelated means a correlation of some size: at 0 it is called a copy, constants never are.
        assert_eq!(near_copies(&rows, 7, &query_start, 0, 0.0), [0, 1, 2, 3, 5]);
        // A constant label has no copies.
        assert_eq!(near_copies(&rows, 7, &query_start, 4, 0.9), [4]);
    }

    #[test]
    fn correlations_are_those_by_hand() {
        let centre = |values: &[f64]| centred(values).collect::<Vec<_>>();
        let (a, b) = (centre(&[1.0, 2.0, 3.0]), centre(&[1.0, 3.0, 2.0]));
        assert!((correlation(&a, &b) - 0.5).abs() < 1e-15);
        assert_eq!(correlation(&a, &[0.0; 3]), 0.0, "one of them is constant");
        assert_eq!(shares_below(&[3.0, 1.0, 3.0, 7.0]), [0.5, 0.125, 0.5, 0.875]);
        assert!(centred(&[0.1; 7]).all(|value| value == 0.0));
    }

    #[test]
    fn queries_without_documents_are_fine() {
        assert_eq!(near_copies(&[1.0, 1.0, 2.0, 2.0], 2, &[0, 0, 2, 2], 1, 0.9), [0, 1]);
        assert_eq!(near_copies(&[], 2, &[], 1, 0.9), [1]);
    }

    #[test]
    #[should_panic(expected = "no feature 2 among 2")]
    fn an_unknown_feature_is_refused() {
        near_copies(&[1.0, 1.0], 2, &[0, 1], 2, 0.9);
    }
}
