//! Per-query min-max normalisation of features (spec section 1.3).
//!
//! Call it on a client's own documents to normalise after a split, or on the whole set to normalise before.

use foltr_rank::{normalise_rows, row_stride};
use rayon::prelude::*;

use crate::dataset::{AlignedRows, Dataset};

pub use foltr_federation::protocol::Normalisation;

/// The data with every feature scaled to `[0, 1]` within each query.
pub fn normalise_per_query(data: &Dataset) -> Dataset {
    let stride = row_stride(data.n_features());
    let mut features = AlignedRows::zeroed(data.rows().len());
    let mut queries = Vec::with_capacity(data.n_queries());
    let mut rest = features.as_mut_slice();
    for query_idx in 0..data.n_queries() {
        let n_floats = data.docs(query_idx).len() * stride;
        queries.push(rest.split_off_mut(..n_floats).expect("a row for each document"));
    }
    queries.into_par_iter().enumerate().with_min_len(16).for_each(|(query_idx, rows)| {
        normalise_rows(data.query(query_idx).rows(), rows, stride);
    });
    data.with_rows(features)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letor::{ReadOptions, parse_letor};
    use std::path::Path;

    #[test]
    fn features_are_scaled_within_each_query() {
        let text = "0 qid:1 1:2 2:5\n1 qid:1 1:4 2:5\n2 qid:1 1:3 2:5\n0 qid:2 1:-1 2:0\n1 qid:2 1:1 2:8\n\
                    1 qid:3 1:1e9 2:-3\n0 qid:4 1:-3.4e38\n0 qid:4 1:3.4e38\n0 qid:4 1:0\n";
        let raw = parse_letor(text.as_bytes(), Path::new("n.txt"), &ReadOptions::default()).expect("valid");
        let data = normalise_per_query(&raw);
        let column = |query: usize, feature: usize| -> Vec<f32> {
            (0..data.query(query).n_docs()).map(|doc| data.query(query).row(doc)[feature]).collect()
        };
        assert_eq!(column(0, 0), [0.0, 1.0, 0.5]);
        assert_eq!(column(0, 1), [0.0, 0.0, 0.0], "a constant feature is 0");
        assert_eq!(column(1, 0), [0.0, 1.0]);
        assert_eq!(column(1, 1), [0.0, 1.0]);
        assert_eq!(data.query(2).row(0), [0.0; 8], "a single document is 0");
        assert_eq!(column(3, 0), [0.0, 1.0, 0.5], "the widest range stays finite");
        assert_eq!(data.labels(0), [0, 1, 2]);
    }
}
