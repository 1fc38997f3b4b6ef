//! Planted relevance: linear in hidden factors, plus products of two factors, plus saturating effects.

use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::Stream;

/// Standard deviations of the three parts of relevance: the linear part is what a linear ranker can learn.
const LINEAR: f32 = 0.7;
const PRODUCTS: f32 = 0.55;
const SATURATION: f32 = 0.4;

/// Mean of `clamp(2 z, 0, 1)` over standard normal `z`.
const MEAN_STEP: f32 = 0.4;

#[derive(Clone, Debug)]
pub(super) struct Relevance {
    /// Unit vectors of weights.
    linear: Vec<f32>,
    products: Vec<f32>,
    saturation: Vec<f32>,
}

impl Relevance {
    pub(super) fn draw(stream: &mut Stream, n_factors: usize) -> Self {
        let mut draw = || unit_vector(stream, n_factors);
        Self { linear: draw(), products: draw(), saturation: draw() }
    }

    /// Another intent: every part turned away by the angle whose cosine is `1 - 2 conflict`, in a random direction.
    pub(super) fn turned(&self, stream: &mut Stream, conflict: f32) -> Self {
        let mut turn = |weights: &[f32]| turned_vector(stream, weights, 1.0 - 2.0 * conflict);
        Self { linear: turn(&self.linear), products: turn(&self.products), saturation: turn(&self.saturation) }
    }

    /// Relevance before noise. Factors are standard normal; each is multiplied by its successor, counting round.
    pub(super) fn of(&self, factors: &[f32]) -> f32 {
        let n_factors = factors.len();
        let mut relevance = 0.0;
        for (i, &factor) in factors.iter().enumerate() {
            relevance += LINEAR * self.linear[i] * factor;
            relevance += PRODUCTS * self.products[i] * factor * factors[(i + 1) % n_factors];
            // From 0 to 1 between 0 and 0.5, so that most of it is a step; 2 brings it to about unit variance, and the
            // mean is taken off so that intents differ in which documents they like, not in how many.
            relevance += SATURATION * self.saturation[i] * 2.0 * ((2.0 * factor).clamp(0.0, 1.0) - MEAN_STEP);
        }
        relevance
    }
}

fn unit_vector(stream: &mut Stream, len: usize) -> Vec<f32> {
    let mut vector = vec![0.0; len];
    fill_standard_normal(stream, &mut vector);
    scaled_to_unit(vector)
}

fn scaled_to_unit(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter_mut().for_each(|x| *x /= norm);
    vector
}

/// A unit vector at the given cosine to a unit vector.
fn turned_vector(stream: &mut Stream, from: &[f32], cosine: f32) -> Vec<f32> {
    let mut across = unit_vector(stream, from.len());
    let along = dot(&across, from);
    across.iter_mut().zip(from).for_each(|(across, from)| *across -= along * from);
    let across = scaled_to_unit(across);
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    from.iter().zip(&across).map(|(from, across)| cosine * from + sine * across).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};

    #[test]
    fn turning_gives_the_angle_asked_for() {
        let mut stream = Streams::new(3).open(Purpose::Data, 0, 0);
        let base = unit_vector(&mut stream, 8);
        for cosine in [-1.0, -0.4, 0.0, 0.6, 1.0] {
            let turned = turned_vector(&mut stream, &base, cosine);
            assert!((dot(&turned, &base) - cosine).abs() < 1e-5, "{cosine}");
            assert!((dot(&turned, &turned) - 1.0).abs() < 1e-5, "{cosine}");
        }
    }

    #[test]
    fn relevance_is_the_sum_of_its_parts() {
        let relevance = Relevance { linear: vec![1.0, 0.0], products: vec![0.0, 1.0], saturation: vec![0.0, 1.0] };
        // 0.7 * 2 + 0.55 * 0.25 * 2 + 0.4 * 2 * (0.5 - 0.4)
        assert!((relevance.of(&[2.0, 0.25]) - 1.755).abs() < 1e-6);
    }
}
