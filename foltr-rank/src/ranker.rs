//! Rankers: a parameter vector, ready to score documents and to be moved uphill.

pub mod dot;
mod layer;
mod linear;
mod mlp;
mod ranker_shape;

pub use linear::Linear;
pub use mlp::Mlp;
pub use ranker_shape::RankerShape;

use crate::bytes::{BytesError, Reader, Writer};
use crate::params::{Params, ParamsError, Shape};
use crate::query::QueryView;

/// A ranker of any [`Shape`], with its parameters laid out for speed and its own scratch memory.
///
/// ```
/// use foltr_rank::{Candidates, Ranker, Shape};
///
/// let mut ranker = Ranker::with_params(Shape::Linear { n_features: 2 }, &[2.0, 1.0])?;
/// let query = Candidates::new(&[1.0, 0.0, 0.5, 3.0], 2)?;
/// let mut scores = [0.0; 2];
/// ranker.score(query.view(), &mut scores);
/// assert_eq!(scores, [2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ranker {
    /// score = w . x
    Linear(Linear),
    /// score = w2 . activation(W1^T x + b1)
    Mlp(Mlp),
}

impl Ranker {
    pub fn new(shape: Shape) -> Self {
        match shape {
            Shape::Linear { n_features } => Self::Linear(Linear::new(n_features)),
            Shape::Mlp { n_features, n_hidden, activation } => Self::Mlp(Mlp::new(n_features, n_hidden, activation)),
        }
    }

    /// A ranker with these parameters.
    pub fn with_params(shape: Shape, params: &[f32]) -> Result<Self, ParamsError> {
        shape.check(params)?;
        let mut ranker = Self::new(shape);
        ranker.load(params);
        Ok(ranker)
    }

    /// Takes over a flat parameter vector.
    ///
    /// # Panics
    /// If it has not the shape's length; [`Shape::check`] says so before.
    #[inline]
    pub fn load(&mut self, params: &[f32]) {
        match self {
            Self::Linear(linear) => linear.load(params),
            Self::Mlp(mlp) => mlp.load(params),
        }
    }

    #[inline]
    pub fn store(&self, params: &mut [f32]) {
        match self {
            Self::Linear(linear) => params.copy_from_slice(linear.params()),
            Self::Mlp(mlp) => mlp.store(params),
        }
    }

    fn n_params(&self) -> usize {
        match self {
            Self::Linear(linear) => linear.params().len(),
            Self::Mlp(mlp) => mlp.n_params(),
        }
    }

    /// Its parameters, of whatever value.
    pub(crate) fn write(&self, out: &mut Writer) {
        let mut params: Params = vec![0.0; self.n_params()];
        self.store(&mut params);
        out.f32s(&params);
    }

    pub(crate) fn read(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        let mut params: Params = vec![0.0; self.n_params()];
        input.fill_f32s(&mut params)?;
        self.load(&params);
        Ok(())
    }

    /// Writes the score of every document.
    ///
    /// # Panics
    /// If documents have other features than the ranker, or `scores` another length than there are documents;
    /// [`QueryView::check_for`] says the first before.
    #[inline]
    pub fn score(&mut self, query: QueryView<'_>, scores: &mut [f32]) {
        match self {
            Self::Linear(linear) => linear.score(query, scores),
            Self::Mlp(mlp) => mlp.score(query, scores),
        }
    }

    /// params += sum over `docs` of weight * d score(doc) / d params. The query must be the one scored last.
    #[inline]
    pub fn ascend(&mut self, query: QueryView<'_>, docs: &[u32], doc_weights: &[f32]) {
        match self {
            Self::Linear(linear) => linear.ascend(query, docs, doc_weights),
            Self::Mlp(mlp) => mlp.ascend(query, docs, doc_weights),
        }
    }

    /// gradient += the same sum, flat; the parameters stay. The query must be the one scored last.
    pub fn add_score_gradient(
        &mut self,
        query: QueryView<'_>,
        docs: &[u32],
        doc_weights: &[f32],
        gradient: &mut [f32],
    ) {
        match self {
            Self::Linear(linear) => linear.add_gradient(query, docs, doc_weights, gradient),
            Self::Mlp(mlp) => mlp.add_gradient(query, docs, doc_weights, gradient),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::random;
    use crate::params::Activation;
    use crate::query::pad_rows;

    fn shapes() -> [Shape; 4] {
        [
            Shape::Linear { n_features: 5 },
            Shape::Mlp { n_features: 5, n_hidden: 3, activation: Activation::Logistic },
            Shape::Mlp { n_features: 5, n_hidden: 10, activation: Activation::Relu },
            Shape::Mlp { n_features: 5, n_hidden: 64, activation: Activation::Logistic },
        ]
    }

    fn scores(ranker: &mut Ranker, query: QueryView<'_>) -> Vec<f32> {
        let mut scores = vec![0.0; query.n_docs()];
        ranker.score(query, &mut scores);
        scores
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let rows = pad_rows(&random(7 * 5, 0), 5);
        let query = QueryView::new(&rows, 5);
        let (docs, weights) = ([2_u32, 6, 0], [0.7_f32, -0.4, 0.1]);
        for shape in shapes() {
            let params = random(shape.n_params(), 1);
            let mut ranker = Ranker::new(shape);
            let mut objective = |params: &[f32]| {
                ranker.load(params);
                let scores = scores(&mut ranker, query);
                docs.iter().zip(weights).map(|(&doc, w)| f64::from(w) * f64::from(scores[doc as usize])).sum::<f64>()
            };
            let numeric: Vec<f64> = (0..params.len())
                .map(|i| {
                    let mut moved = params.clone();
                    moved[i] = params[i] + 1e-3;
                    let up = objective(&moved);
                    moved[i] = params[i] - 1e-3;
                    (up - objective(&moved)) / 2e-3
                })
                .collect();
            objective(&params);
            let mut gradient = vec![0.0; params.len()];
            ranker.add_score_gradient(query, &docs, &weights, &mut gradient);
            for (&ours, &expected) in gradient.iter().zip(&numeric) {
                assert!((f64::from(ours) - expected).abs() < 2e-3, "{shape:?}: {ours} against {expected}");
            }
        }
    }

    #[test]
    fn ascending_adds_the_gradient_to_the_stored_parameters() {
        let rows = pad_rows(&random(7 * 5, 0), 5);
        let query = QueryView::new(&rows, 5);
        let (docs, weights) = ([1_u32, 5], [0.03_f32, -0.02]);
        for shape in shapes() {
            let params = random(shape.n_params(), 1);
            let mut ranker = Ranker::new(shape);
            ranker.load(&params);
            let mut stored = vec![0.0; params.len()];
            ranker.store(&mut stored);
            assert_eq!(stored, params);
            scores(&mut ranker, query);
            let mut expected = params.clone();
            ranker.add_score_gradient(query, &docs, &weights, &mut expected);
            ranker.ascend(query, &docs, &weights);
            let mut moved = vec![0.0; params.len()];
            ranker.store(&mut moved);
            for (a, b) in moved.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-6, "{shape:?}");
            }
            // Padded units stay silent: the scores are those of the stored parameters.
            let after = scores(&mut ranker, query);
            let mut fresh = Ranker::new(shape);
            fresh.load(&moved);
            assert_eq!(after, scores(&mut fresh, query), "{shape:?}");
        }
    }
}
