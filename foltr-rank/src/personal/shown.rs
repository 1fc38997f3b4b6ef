//! The shown documents as a small query of their own, for models that learn from a list which another model made.

use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::Update;
use crate::learn::pdgd::{Pdgd, Preferences};
use crate::params::{Params, Shape};
use crate::query::{Impression, MAX_SHOWN, QueryView, row_stride};
use crate::ranker::Ranker;

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
        let positions: [u32; MAX_SHOWN] = std::array::from_fn(|position| position as u32);
        ranker.ascend(self.view(), &positions[..self.n_shown], &weights[..self.n_shown]);
    }
}

/// The shared model as one client would have it, learning from the clicks on lists that another model made.
#[derive(Clone, Debug)]
pub struct SharedModel {
    rate: f32,
    ranker: Ranker,
    global: Params,
    delta: Params,
    pub(super) shown: Shown,
    pub(super) preferences: Preferences,
    pub(super) n_interactions: u32,
}

impl SharedModel {
    pub(super) fn new(shape: Shape, rate: f32) -> Self {
        let (ranker, shown) = (Ranker::new(shape), Shown::new(shape.n_features()));
        let zero = vec![0.0; shape.n_params()];
        let preferences = Preferences::default();
        Self { rate, ranker, global: zero.clone(), delta: zero, shown, preferences, n_interactions: 0 }
    }

    pub(super) fn begin(&mut self, global: &[f32]) {
        self.ranker.load(global);
        self.global.copy_from_slice(global);
        self.n_interactions = 0;
    }

    /// Takes in what the clicks on a list say, with rho of the `lister` that made it; says whether they say anything.
    pub(super) fn read(&mut self, lister: &mut Pdgd, impression: &Impression<'_>) -> bool {
        self.n_interactions = self.n_interactions.saturating_add(1);
        lister.preferences(impression, &mut self.preferences);
        let any = !self.preferences.is_empty();
        if any {
            self.shown.copy(impression);
        }
        any
    }

    pub(super) fn scores(&mut self) -> [f32; MAX_SHOWN] {
        self.shown.scores(&mut self.ranker)
    }

    /// A step after [`Self::scores`].
    pub(super) fn learn(&mut self, scores: &[f32]) {
        self.shown.learn(&mut self.ranker, scores, &self.preferences, self.rate);
    }

    pub(super) fn save(&self, out: &mut Writer) {
        self.ranker.write(out);
        out.f32s(&self.global).u32(self.n_interactions);
    }

    pub(super) fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        self.ranker.read(input)?;
        input.fill_f32s(&mut self.global)?;
        self.n_interactions = input.u32()?;
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Update<'_> {
        self.ranker.store(&mut self.delta);
        self.delta.iter_mut().zip(&self.global).for_each(|(delta, global)| *delta -= global);
        Update::Step { delta: &self.delta, n_interactions: self.n_interactions }
    }
}
