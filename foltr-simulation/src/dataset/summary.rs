//! A data set in a few numbers, for people who want to know whether they have the right one.

use foltr_rank::row_stride;
use serde::Serialize;

use super::Dataset;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub n_queries: usize,
    pub n_docs: usize,
    pub n_features: usize,
    /// Documents with each label, from 0 to the highest.
    pub label_counts: Vec<usize>,
    pub n_queries_without_relevant: usize,
    /// Queries whose documents all have the same label, relevant or not: nothing can be learnt from them.
    pub n_queries_with_one_label: usize,
    /// The smallest, the median (lower of two) and the largest number of documents of a query.
    pub docs_per_query: [usize; 3],
    /// Features, counted from 1, that have the same value in all documents.
    pub constant_features: Vec<usize>,
    pub feature_range: [f32; 2],
    /// Whether every value lies between 0 and 1, as after normalisation.
    pub is_unit_range: bool,
}

pub fn summary(data: &Dataset) -> Summary {
    let mut label_counts = vec![0; usize::from(data.max_label()) + 1];
    for &label in data.all_labels() {
        label_counts[usize::from(label)] += 1;
    }
    let queries = || 0..data.n_queries();
    let mut sizes: Vec<usize> = queries().map(|query| data.docs(query).len()).collect();
    sizes.sort_unstable();
    let median = sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    let (min, max) = column_ranges(data);
    let lowest = min.iter().copied().fold(f32::INFINITY, f32::min);
    let highest = max.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    Summary {
        n_queries: data.n_queries(),
        n_docs: data.n_docs(),
        n_features: data.n_features(),
        label_counts,
        n_queries_without_relevant: queries().filter(|&query| !data.has_relevant(query)).count(),
        n_queries_with_one_label: queries()
            .filter(|&query| data.labels(query).windows(2).all(|w| w[0] == w[1]))
            .count(),
        docs_per_query: [sizes.first().copied().unwrap_or(0), median, sizes.last().copied().unwrap_or(0)],
        constant_features: (0..data.n_features()).filter(|&j| min[j] == max[j]).map(|j| j + 1).collect(),
        feature_range: [lowest, highest],
        is_unit_range: lowest >= 0.0 && highest <= 1.0,
    }
}

fn column_ranges(data: &Dataset) -> (Vec<f32>, Vec<f32>) {
    let n_features = data.n_features();
    let (mut min, mut max) = (vec![f32::INFINITY; n_features], vec![f32::NEG_INFINITY; n_features]);
    for row in data.rows().chunks_exact(row_stride(n_features)) {
        for ((min, max), &value) in min.iter_mut().zip(&mut max).zip(row) {
            *min = min.min(value);
            *max = max.max(value);
        }
    }
    (min, max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letor::{ReadOptions, parse_letor};

    #[test]
    fn everything_is_counted() {
        let text = b"2 qid:a 1:3 2:-1\n0 qid:a 1:3 2:5\n0 qid:b 1:3\n0 qid:c 1:3\n0 qid:c 1:3 2:4\n0 qid:c 1:3 2:4\n";
        let data = parse_letor(text, "s.txt".as_ref(), &ReadOptions::default()).expect("valid");
        let expected = Summary {
            n_queries: 3,
            n_docs: 6,
            n_features: 2,
            label_counts: vec![5, 0, 1],
            n_queries_without_relevant: 2,
            n_queries_with_one_label: 2,
            docs_per_query: [1, 2, 3],
            constant_features: vec![1],
            feature_range: [-1.0, 5.0],
            is_unit_range: false,
        };
        assert_eq!(summary(&data), expected);
    }
}
