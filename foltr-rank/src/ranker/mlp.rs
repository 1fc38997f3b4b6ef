//! A ranker with one hidden layer: score = w2 . activation(W1^T x + b1).
//!
//! Spec section 7 (64 logistic units, PDGD) and section 4 (10 ReLU units, FOLtR-ES); any size.
//! Hidden units are padded with zeros to whole tiles, which changes no score: a padded unit's w2 is zero.

use super::dot::dot_rows;
use super::layer::{TILE_DOCS, TILE_UNITS, add_hidden_gradient, hidden_layer};
use crate::elementary::logistic;
use crate::params::Activation;
use crate::query::{MAX_SHOWN, QueryView};
use crate::simd::two_widths;

/// One hidden layer, ready to score: W1 as rows of padded units, one row a feature.
#[derive(Clone, Debug)]
pub struct Mlp {
    n_features: usize,
    n_hidden: usize,
    activation: Activation,
    n_padded: usize,
    w1: Vec<f32>,
    b1: Vec<f32>,
    w2: Vec<f32>,
    /// What the hidden units said for the query scored last, document after document.
    hidden: Vec<f32>,
    /// Scratch of [`Self::ascend`]: the error signal of each shown document's hidden units.
    signals: Vec<f32>,
}

impl Mlp {
    pub(super) fn new(n_features: usize, n_hidden: usize, activation: Activation) -> Self {
        let n_padded = n_hidden.next_multiple_of(TILE_UNITS);
        Self {
            n_features,
            n_hidden,
            activation,
            n_padded,
            w1: vec![0.0; n_features * n_padded],
            b1: vec![0.0; n_padded],
            w2: vec![0.0; n_padded],
            hidden: Vec::new(),
            signals: vec![0.0; MAX_SHOWN * n_padded],
        }
    }

    pub(super) const fn n_params(&self) -> usize {
        (self.n_features + 2) * self.n_hidden
    }

    pub(super) fn load(&mut self, params: &[f32]) {
        let (w1, rest) = params.split_at(self.n_features * self.n_hidden);
        let (b1, w2) = rest.split_at(self.n_hidden);
        if self.n_hidden == self.n_padded {
            self.w1.copy_from_slice(w1);
        } else {
            for (padded, row) in self.w1.chunks_exact_mut(self.n_padded).zip(w1.chunks_exact(self.n_hidden)) {
                padded[..self.n_hidden].copy_from_slice(row);
            }
        }
        self.b1[..self.n_hidden].copy_from_slice(b1);
        self.w2[..self.n_hidden].copy_from_slice(w2);
    }

    pub(super) fn store(&self, params: &mut [f32]) {
        let (w1, rest) = params.split_at_mut(self.n_features * self.n_hidden);
        let (b1, w2) = rest.split_at_mut(self.n_hidden);
        for (row, padded) in w1.chunks_exact_mut(self.n_hidden).zip(self.w1.chunks_exact(self.n_padded)) {
            row.copy_from_slice(&padded[..self.n_hidden]);
        }
        b1.copy_from_slice(&self.b1[..self.n_hidden]);
        w2.copy_from_slice(&self.w2[..self.n_hidden]);
    }

    pub(super) fn score(&mut self, query: QueryView<'_>, scores: &mut [f32]) {
        // Whole tiles of documents; what lies behind the last document is scratch.
        let n_values = query.n_docs().next_multiple_of(TILE_DOCS) * self.n_padded;
        if self.hidden.len() < n_values {
            self.hidden.resize(n_values, 0.0);
        }
        hidden_layer(query.rows(), query.stride(), &self.w1, &self.b1, &mut self.hidden[..n_values]);
        let hidden = &mut self.hidden[..query.n_docs() * self.n_padded];
        activate(self.activation, hidden);
        dot_rows(hidden, &self.w2, scores);
    }

    /// params += sum over documents of weight * d score / d params, for the query scored last.
    pub(super) fn ascend(&mut self, query: QueryView<'_>, docs: &[u32], doc_weights: &[f32]) {
        let Self { n_hidden, n_padded, activation, w1, b1, w2, hidden, signals, .. } = self;
        back_propagate(*activation, *n_padded, hidden, w2, docs, doc_weights, signals);
        // Without the padded units: their w2 must stay zero, for their constant logistic(0) would enter the score.
        add_output_gradient(*n_padded, hidden, docs, doc_weights, &mut w2[..*n_hidden]);
        add_hidden_gradient(query, docs, signals, w1, b1);
    }

    /// The same into a separate flat gradient.
    pub(super) fn add_gradient(
        &mut self,
        query: QueryView<'_>,
        docs: &[u32],
        doc_weights: &[f32],
        gradient: &mut [f32],
    ) {
        let (n_hidden, n_padded) = (self.n_hidden, self.n_padded);
        back_propagate(self.activation, n_padded, &self.hidden, &self.w2, docs, doc_weights, &mut self.signals);
        let (w1, rest) = gradient.split_at_mut(self.n_features * n_hidden);
        let (b1, w2) = rest.split_at_mut(n_hidden);
        for ((&doc, &weight), signal) in docs.iter().zip(doc_weights).zip(self.signals.chunks_exact(n_padded)) {
            let hidden = &self.hidden[doc as usize * n_padded..];
            w2.iter_mut().zip(hidden).for_each(|(g, &h)| *g += weight * h);
            b1.iter_mut().zip(signal).for_each(|(g, &s)| *g += s);
            for (row, &x) in w1.chunks_exact_mut(n_hidden).zip(query.row(doc as usize)) {
                row.iter_mut().zip(signal).for_each(|(g, &s)| *g += x * s);
            }
        }
    }
}

two_widths! {
    fn activate(activation: Activation, hidden: &mut [f32]) {
        match activation {
            Activation::Logistic => hidden.iter_mut().for_each(|h| *h = logistic(*h)),
            Activation::Relu => hidden.iter_mut().for_each(|h| *h = if *h > 0.0 { *h } else { 0.0 }),
        }
    }
}

two_widths! {
    /// signal = weight * w2 * activation'(input), a row for each document.
    fn back_propagate(
        activation: Activation, n_padded: usize, hidden: &[f32], w2: &[f32], docs: &[u32], doc_weights: &[f32],
        signals: &mut [f32],
    ) {
        for ((&doc, &weight), signal) in docs.iter().zip(doc_weights).zip(signals.chunks_exact_mut(n_padded)) {
            let units = &hidden[doc as usize * n_padded..][..n_padded];
            for ((s, &h), &w) in signal.iter_mut().zip(units).zip(w2) {
                let slope = match activation {
                    Activation::Logistic => h * (1.0 - h),
                    Activation::Relu => if h > 0.0 { 1.0 } else { 0.0 },
                };
                *s = weight * w * slope;
            }
        }
    }
}

two_widths! {
    fn add_output_gradient(n_padded: usize, hidden: &[f32], docs: &[u32], doc_weights: &[f32], w2: &mut [f32]) {
        for (&doc, &weight) in docs.iter().zip(doc_weights) {
            let units = &hidden[doc as usize * n_padded..][..n_padded];
            for (w, &h) in w2.iter_mut().zip(units) {
                *w = weight.mul_add(h, *w);
            }
        }
    }
}
