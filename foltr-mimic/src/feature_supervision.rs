//! Who scores the rows of a feature file? Judges, or one of the features (spec section 16.2).
//!
//! The document of a row is the row's number, the query its place in the file: query i has the rows `query_start[i]` to
//! `query_start[i + 1]`.

use crate::Candidates;

/// Full supervision: the judges' labels.
pub fn full(query_start: &[usize], labels: &[u8]) -> Vec<Candidates> {
    by_row(query_start, |row| f32::from(labels[row]))
}

/// Weak supervision: the value of one feature, by its column from 0. Its [`crate::near_copies`] must leave the inputs.
pub fn weak(query_start: &[usize], rows: &[f32], n_features: usize, feature: usize) -> Vec<Candidates> {
    assert!(feature < n_features, "no feature {feature} among {n_features}");
    by_row(query_start, |row| rows[row * n_features + feature])
}

fn by_row(query_start: &[usize], score: impl Fn(usize) -> f32) -> Vec<Candidates> {
    let list = |(query, bounds): (u32, &[usize])| {
        let rows = bounds[0]..bounds[1];
        Candidates {
            query,
            documents: rows.clone().map(|row| row as u32).collect(),
            scores: rows.map(&score).collect(),
        }
    };
    (0..).zip(query_start.windows(2)).map(list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_scored_by_whom_it_should_be() {
        let query_start = [0, 2, 3];
        let list = |query, documents: &[u32], scores: &[f32]| Candidates {
            query,
            documents: documents.to_vec(),
            scores: scores.to_vec(),
        };
        let judged = full(&query_start, &[2, 0, 1]);
        assert_eq!(judged, [list(0, &[0, 1], &[2.0, 0.0]), list(1, &[2], &[1.0])]);
        let rows = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7];
        assert_eq!(weak(&query_start, &rows, 2, 1), [list(0, &[0, 1], &[0.9, 0.8]), list(1, &[2], &[0.7])]);
    }
}
