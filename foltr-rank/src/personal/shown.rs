//! The shown documents as a small query of their own, for models that learn from a list which another model made.

use crate::learn::pdgd::Preferences;
use crate::query::{Impression, MAX_SHOWN, QueryView, row_stride};
use crate::ranker::Ranker;

/// Positions of a list, as document numbers of the small query.
const POSITIONS: [u32; MAX_SHOWN] = {
    let mut positions = [0; MAX_SHOWN];
    let mut i = 0;
    while i < MAX_SHOWN {
        positions[i] = i as u32;
        i += 1;
    }
    positions
};

/// Copies of the shown documents' rows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    rows: Vec<f32>,
    n_features: usize,
    n_shown: usize,
}

impl Shown {
    pub(super) fn new(n_features: usize) -> Self {
        Self { rows: vec![0.0; MAX_SHOWN * row_stride(n_features)], n_features, n_shown: 0 }
    }

    /// Takes the rows of a list.
    pub(super) fn copy(&mut self, impression: &Impression<'_>) {
        let stride = row_stride(self.n_features);
        self.n_shown = impression.ranking.len();
        for (row, &doc) in self.rows.chunks_exact_mut(stride).zip(impression.ranking.docs()) {
            row.copy_from_slice(impression.query.row(doc as usize));
        }
    }

    fn view(&self) -> QueryView<'_> {
        QueryView::new(&self.rows[..self.n_shown * row_stride(self.n_features)], self.n_features)
    }

    /// Scores of the shown documents, by position.
    pub(super) fn scores(&self, ranker: &mut Ranker) -> [f32; MAX_SHOWN] {
        let mut scores = [0.0; MAX_SHOWN];
        ranker.score(self.view(), &mut scores[..self.n_shown]);
        scores
    }

    /// A step of a model that gave the shown documents these scores, just now.
    pub(super) fn learn(&self, ranker: &mut Ranker, scores: &[f32], preferences: &Preferences, rate: f32) {
        let weights = preferences.weights(scores, rate);
        ranker.ascend(self.view(), &POSITIONS[..self.n_shown], &weights[..self.n_shown]);
    }
}
