//! The smoothed objective of RankingSVM on a data set: value, slope and curvature.
//!
//! Queries are worked on in parallel in fixed chunks whose results are added in order, so the number of threads does
//! not show in any bit.

use foltr_simulation::dataset::Dataset;
use nalgebra::{DMatrix, DMatrixView};
use rayon::prelude::*;

use super::pairs::{PairSums, PairSweep};

const CHUNK_QUERIES: usize = 32;

/// 1/2 |w|^2 + C_pair * sum over pairs of the smoothed hinge.
pub(super) struct Objective<'a> {
    data: &'a Dataset,
    /// Queries with documents of different labels; the others have no pairs.
    queries: Vec<usize>,
    pub(super) pair_weight: f64,
}

pub(super) struct Evaluation {
    pub sums: PairSums,
    /// For each document of the queries with pairs: multipliers of the pairs it should win, less those it should lose.
    balance: Vec<Vec<f64>>,
}

/// Scores of the documents of each query with pairs.
pub(super) type Scores = Vec<Vec<f64>>;

impl<'a> Objective<'a> {
    pub(super) fn new(data: &'a Dataset, pair_weight: f64) -> Self {
        let has_pairs = |&query_idx: &usize| data.labels(query_idx).windows(2).any(|labels| labels[0] != labels[1]);
        Self { data, queries: (0..data.n_queries()).filter(has_pairs).collect(), pair_weight }
    }

    pub(super) fn n_features(&self) -> usize {
        self.data.n_features()
    }

    /// The results of all chunks of queries with what belongs to their documents, in order.
    fn by_chunk<T: Send>(&self, values: &Scores, of_chunk: impl Fn(&[usize], &[Vec<f64>]) -> T + Sync) -> Vec<T> {
        let chunks = self.queries.par_chunks(CHUNK_QUERIES).zip(values.par_chunks(CHUNK_QUERIES));
        chunks.map(|(queries, values)| of_chunk(queries, values)).collect()
    }

    /// w . x of every document that is in a pair.
    pub(super) fn scores(&self, weights: &[f64]) -> Scores {
        let score_query = |&query_idx: &usize| {
            let query = self.data.query(query_idx);
            (0..query.n_docs()).map(|doc| dot(weights, query.row(doc))).collect()
        };
        self.queries.par_iter().with_min_len(CHUNK_QUERIES).map(score_query).collect()
    }

    pub(super) fn evaluate(&self, scores: &Scores, smoothing: f64) -> Evaluation {
        let chunks = self.by_chunk(scores, |queries, scores| {
            let (mut sweep, mut sums) = (PairSweep::default(), PairSums::default());
            let balance: Vec<Vec<f64>> = queries
                .iter()
                .zip(scores)
                .map(|(&query_idx, scores)| {
                    let mut balance = vec![0.0; scores.len()];
                    let labels = self.data.labels(query_idx);
                    sums.add(sweep.run(labels, scores, smoothing, &mut balance, |_, _| {}));
                    balance
                })
                .collect();
            (sums, balance)
        });
        let mut evaluation = Evaluation { sums: PairSums::default(), balance: Vec::with_capacity(scores.len()) };
        for (sums, balance) in chunks {
            evaluation.sums.add(sums);
            evaluation.balance.extend(balance);
        }
        evaluation
    }

    /// C_pair * sum over pairs of a (x_i - x_j): where the pairs pull the weights.
    pub(super) fn pull(&self, evaluation: &Evaluation) -> Vec<f64> {
        let chunks = self.by_chunk(&evaluation.balance, |queries, balance| {
            let mut pull = vec![0.0; self.n_features()];
            for (&query_idx, balance) in queries.iter().zip(balance) {
                let query = self.data.query(query_idx);
                for (doc, &weight) in balance.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                    add_scaled(&mut pull, weight, query.row(doc));
                }
            }
            pull
        });
        let mut pull = vec![0.0; self.n_features()];
        for chunk in chunks {
            pull.iter_mut().zip(chunk).for_each(|(sum, part)| *sum += self.pair_weight * part);
        }
        pull
    }

    /// I + C_pair / h * sum over curved pairs of (x_i - x_j)(x_i - x_j)^T.
    pub(super) fn hessian(&self, scores: &Scores, smoothing: f64) -> DMatrix<f64> {
        let chunks = self.by_chunk(scores, |queries, scores| {
            let mut rows = CurvedRows { n_features: self.n_features(), documents: Vec::new(), differences: Vec::new() };
            let mut sweep = PairSweep::default();
            for (&query_idx, scores) in queries.iter().zip(scores) {
                rows.add_query(self.data, query_idx, scores, smoothing, &mut sweep);
            }
            rows.product()
        });
        let mut hessian = DMatrix::identity(self.n_features(), self.n_features());
        for chunk in chunks {
            hessian += self.pair_weight / smoothing * chunk;
        }
        hessian
    }
}

impl Evaluation {
    /// Sum over pairs of a (s_i - s_j), for any other scores s.
    pub(super) fn pull_along(&self, scores: &Scores) -> f64 {
        let of_query = |(balance, scores): (&Vec<f64>, &Vec<f64>)| -> f64 {
            balance.iter().zip(scores).map(|(weight, score)| weight * score).sum()
        };
        self.balance.iter().zip(scores).map(of_query).sum()
    }
}

/// Documents X of curved pairs and L X, L being the Laplacian of the graph whose edges those pairs are.
///
/// The sum over pairs of (x_i - x_j)(x_i - x_j)^T is X^T L X: one product for all pairs of a chunk.
struct CurvedRows {
    n_features: usize,
    documents: Vec<f64>,
    differences: Vec<f64>,
}

impl CurvedRows {
    fn add_query(&mut self, data: &Dataset, query_idx: usize, scores: &[f64], smoothing: f64, sweep: &mut PairSweep) {
        let query = data.query(query_idx);
        let mut row_of = vec![None; scores.len()];
        let mut pairs = Vec::new();
        let mut ignored = vec![0.0; scores.len()];
        sweep.run(data.labels(query_idx), scores, smoothing, &mut ignored, |better, worse| {
            pairs.push((better as usize, worse as usize));
        });
        for (better, worse) in pairs {
            for (doc, other) in [(better, worse), (worse, better)] {
                let row = *row_of[doc].get_or_insert_with(|| self.push_document(query.row(doc)));
                let difference = &mut self.differences[row * self.n_features..][..self.n_features];
                for ((d, &x), &y) in difference.iter_mut().zip(query.row(doc)).zip(query.row(other)) {
                    *d += f64::from(x) - f64::from(y);
                }
            }
        }
    }

    fn push_document(&mut self, row: &[f32]) -> usize {
        self.documents.extend(row[..self.n_features].iter().map(|&x| f64::from(x)));
        self.differences.resize(self.documents.len(), 0.0);
        self.documents.len() / self.n_features - 1
    }

    /// X^T (L X).
    fn product(&self) -> DMatrix<f64> {
        // Row after row is column after column of the transposed matrix.
        let n_rows = self.documents.len() / self.n_features;
        let documents = DMatrixView::from_slice(&self.documents, self.n_features, n_rows);
        let differences = DMatrixView::from_slice(&self.differences, self.n_features, n_rows);
        documents * differences.transpose()
    }
}

fn dot(weights: &[f64], row: &[f32]) -> f64 {
    // Four sums side by side: one alone would wait for its own last addition.
    let mut sums = [0.0; 4];
    for (weights, row) in weights.chunks(4).zip(row.chunks(4)) {
        for ((sum, weight), &x) in sums.iter_mut().zip(weights).zip(row) {
            *sum += weight * f64::from(x);
        }
    }
    sums.iter().sum()
}

fn add_scaled(target: &mut [f64], scale: f64, row: &[f32]) {
    target.iter_mut().zip(row).for_each(|(t, &x)| *t += scale * f64::from(x));
}
