//! Rankers that are trained offline on labels: what online learning from clicks is compared with.
//!
//! `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, Table 3;
//! spec section 17. Both are linear, without bias, deterministic, and computed in f64. A random ranking learns nothing.

mod least_squares;
mod random;
pub mod ranking_svm;

pub use least_squares::least_squares;
pub use random::random_ndcg;
pub use ranking_svm::ranking_svm;

#[cfg(test)]
mod test_data {
    use foltr_rank::query::pad_rows;
    use foltr_simulation::dataset::{AlignedRows, Dataset};

    /// A data set from unpadded features, document after document, and the labels of each query.
    pub(super) fn dataset(n_features: usize, features: &[f32], labels: &[&[u8]]) -> Dataset {
        let mut query_start = vec![0];
        for query in labels {
            query_start.push(query_start[query_start.len() - 1] + query.len() as u32);
        }
        let ids = (0..labels.len()).map(|query_idx| query_idx.to_string().into()).collect();
        let rows = AlignedRows::from_slice(&pad_rows(features, n_features));
        Dataset::from_parts(n_features, rows, labels.concat(), query_start, ids).expect("valid parts")
    }
}
