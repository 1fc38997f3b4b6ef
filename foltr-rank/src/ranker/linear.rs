//! The linear ranker: score = w . x, without bias.

use super::dot::dot_rows;
use crate::query::{QueryView, row_stride};

/// A linear ranker, ready to score: weights padded like a row.
#[derive(Clone, Debug)]
pub struct Linear {
    n_features: usize,
    weights: Vec<f32>,
}

impl Linear {
    pub(super) fn new(n_features: usize) -> Self {
        Self { n_features, weights: vec![0.0; row_stride(n_features)] }
    }

    #[inline]
    pub(super) fn load(&mut self, params: &[f32]) {
        self.weights[..self.n_features].copy_from_slice(params);
    }

    #[inline]
    pub(super) fn params(&self) -> &[f32] {
        &self.weights[..self.n_features]
    }

    #[inline]
    pub(super) fn score(&self, query: QueryView<'_>, scores: &mut [f32]) {
        dot_rows(query.rows(), &self.weights, scores);
    }

    /// w += sum over documents of weight * x.
    #[inline]
    pub(super) fn ascend(&mut self, query: QueryView<'_>, docs: &[u32], doc_weights: &[f32]) {
        add_weighted_rows(query, docs, doc_weights, &mut self.weights);
    }

    /// gradient += sum over documents of weight * x.
    pub(super) fn add_gradient(&self, query: QueryView<'_>, docs: &[u32], doc_weights: &[f32], gradient: &mut [f32]) {
        add_weighted_rows(query, docs, doc_weights, gradient);
    }
}

crate::simd::two_widths! {
    fn add_weighted_rows(query: QueryView<'_>, docs: &[u32], doc_weights: &[f32], target: &mut [f32]) {
        for (&doc, &weight) in docs.iter().zip(doc_weights) {
            if weight != 0.0 {
                for (t, &x) in target.iter_mut().zip(query.row(doc as usize)) {
                    *t += weight * x;
                }
            }
        }
    }
}
